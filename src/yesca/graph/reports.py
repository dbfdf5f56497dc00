"""What is said of each new program: YESCA_LOGS=recompiles,fusion,output_code; and of storms.

A function needs a new program when it launches something else than before, on memory of another
layout, or when other results outlive it. A few are usual (an optimizer's first steps, the last
batch); a function that needs one at nearly every call is a *storm*: it gains nothing from being
compiled, and that is said once, without being asked.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..core.spec import Spec
from ..profiler.formatting import memory
from ..runtime.plan import Plan
from . import figures, logs
from .program import Entry, Program

STORM = 64  # calls of one function that needed a new program
_log = logging.getLogger("yesca.graph")


def needed(about: Any, plain: bool, why: Callable[[], str]) -> None:
    """A function needed a new program, and got one, plain or joined; why(): what was not known."""
    again = about.built > 0 and about.calls > 1
    about.built += 1
    if about.last != about.calls:
        about.last, about.building = about.calls, about.building + 1
    if again and logs.on("recompiles"):
        kind = " (not joined unless it runs again)" if plain else ""
        logs.write("recompiles", f"{about.name()}: program {about.built}{kind}, because {why()}")
    if about.building >= STORM and 2 * about.building > about.calls and not about.told:
        about.told = True
        _log.warning(
            "%s needed a new program in %d of its %d calls, so that most of what it launches is "
            "not joined, and runs as without compile; the last one because %s. "
            "YESCA_LOGS=recompiles shows each of them.",
            about.name(), about.building, about.calls, why())


def built(about: Any, program: Program, entries: list[Entry]) -> None:
    """A function got a program whose launches are joined."""
    if logs.on("fusion"):
        logs.write("fusion", f"{about.name()}: {table(program, entries)}")
    if logs.on("output_code"):
        logs.write("output_code", f"{about.name()}\n{code(program, entries)}")


def table(program: Program, entries: Sequence[Entry]) -> str:
    """The launches of a program, lined up: what each visits and moves, what was joined in it and
    what it does not store."""
    found = figures.figures(program, entries)
    moved = sum(one.cost.nbytes for one in found)
    rows: list[tuple[object, ...]] = [("", "points", "read", "written", "joined", "launch")]
    for number, one in enumerate(found, 1):
        apart = one.cost.nbytes > 0 or one.step.nest is not None
        bytes_moved = [memory(n) if apart else "-" for n in (one.cost.bytes_read,
                                                             one.cost.bytes_written)]
        rows.append((number, one.points, *bytes_moved, len(one.parts), one.step.name))
    lines = figures.lined_up(rows)
    for number, one in reversed(list(enumerate(found, 1))):
        if one.unstored:
            lines.insert(number + 1, f"     not stored: {_listed(one.unstored)}")
    unseen = figures.uncomputed(program, entries)
    if unseen:
        lines.append(f"     not computed: {_listed(unseen)}")
    before = figures.called(entries).nbytes
    head = (f"{figures.counted(len(entries), 'call')} in {figures.counted(len(found), 'launch')}, "
            f"{memory(moved)} moved ({memory(before)} call by call)")
    return "\n  ".join([head, *lines])


def _listed(values: Sequence[figures.Value]) -> str:
    """Values, those that look the same counted."""
    counts = Counter(map(str, values))
    return "; ".join(text if n == 1 else f"{n} of {text}" for text, n in counts.items())


def code(program: Program, entries: Sequence[Entry]) -> str:
    """The kernel and the loop of each launch of a program, one after the other."""
    return "\n".join(f"{one.step.name}\n  " + one.loop().replace("\n", "\n  ")
                     for one in figures.figures(program, entries))


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
