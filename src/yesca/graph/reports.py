"""What is said of each new program: YESCA_LOGS=recompiles,fusion,output_code; and of storms.

A function needs a new program when it launches something else than before, on memory of another
layout, or when other results outlive it. A few are usual (an optimizer's first steps, the last
batch); a function that needs one at nearly every call is a *storm*: building them costs more than
they save, and that is said once, without being asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..core.spec import Spec
from ..loops.printer import describe
from ..runtime.plan import Plan
from . import logs
from .program import Entry, Program

STORM = 64  # calls of one function that needed a new program
_log = logging.getLogger("yesca.graph")


def built(about: Any, program: Program, entries: list[Entry], why: Callable[[], str]) -> None:
    """A function got a new program; why(): what was not known of it."""
    again = about.built > 0 and about.calls > 1
    about.built += 1
    if about.last != about.calls:
        about.last, about.building = about.calls, about.building + 1
    if again and logs.on("recompiles"):
        logs.write("recompiles", f"{about.name()}: program {about.built}, because {why()}")
    if logs.on("fusion"):
        shown = ", ".join(step.name for step in program.steps)
        logs.write("fusion", f"{about.name()}: {len(entries)} calls, {len(program.steps)} "
                   f"launches: {shown}")
    if logs.on("output_code"):
        logs.write("output_code", f"{about.name()}\n" + code(program))
    if about.building >= STORM and 2 * about.building > about.calls and not about.told:
        about.told = True
        _log.warning(
            "%s needed a new program in %d of its %d calls, which costs more than it saves; the "
            "last one because %s. YESCA_LOGS=recompiles shows each of them.",
            about.name(), about.building, about.calls, why())


def code(program: Program) -> str:
    """The loops of a program, one launch after the other."""
    parts = []
    for step in program.steps:
        body = "  " + (f"{step.total} points of a kernel of its own" if step.nest is None
                       else describe(step.nest.stage).replace("\n", "\n  "))
        parts.append(f"{step.name}: {step.total} points\n{body}")
    return "\n".join(parts)


# ---- why ---------------------------------------------------------------------------------------

def difference(entry: Entry, other: Entry) -> str:
    """In what a recorded call differs from the one that was known at its place."""
    mine, theirs = entry.plan, other.plan
    name = mine.record.name
    if name != theirs.record.name:
        return f"it calls {name} where it called {theirs.record.name}"
    if mine is theirs:
        return f"the operands of {name} are other tensors, or share memory in another way"
    for slot in range(min(mine.operands, theirs.operands)):
        one, known = mine.operand_spec(slot), theirs.operand_spec(slot)
        if one is not known:
            return f"operand {slot} of {name} is {_described(one, known)}"
    if mine.operands != theirs.operands:
        return f"{name} has {mine.operands} tensors, and had {theirs.operands}"
    return f"{name} has other arguments: {_values(mine)} instead of {_values(theirs)}"


def _described(one: Spec, known: Spec) -> str:
    if one.dtype is not known.dtype:
        return f"{one.dtype.name}, and was {known.dtype.name}"
    if tuple(one.shape) != tuple(known.shape):
        return f"of shape {tuple(one.shape)}, and had {tuple(known.shape)}"
    if one.strides != known.strides:
        return f"of strides {tuple(one.strides)}, and had {tuple(known.strides)}"
    return "of another kind: a conjugate, a negative, or on another device"


def _values(plan: Plan) -> str:
    parameters = zip(plan.record.schema.parameters, plan.values, strict=True)
    return ", ".join(f"{p.name}={v!r}" for p, v in parameters if type(v).__name__ != "Ref")
