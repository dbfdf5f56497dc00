"""Launches as plans: a compiled function records them like operators (see `yesca.graph`).

A plan holds for tensors of the same specs and the same grid; addresses and numbers come with each
run. The kernel may read and write any part of what it is handed, so that it stays where it is
between others that touch the same memory.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import Any

from ..core import registry
from ..dispatch.state import STATE
from ..loops.cost import Cost
from ..runtime.plan import NUMBER, PLAN_LIMIT, Launch, Plan
from ..runtime.references import Ref
from .compiling import Compiled

PIECES = 64  # at most, of the programs of a grid


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str


@dataclass(frozen=True)
class Signature:
    """All parameters of a kernel, and its grid."""

    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Operator:
    """A kernel where plans have the record of their operator."""

    name: str
    schema: Signature
    kind: str = "kernel"


def grain_of(made: Compiled, total: int) -> int:
    """How many programs of a grid are one piece of work."""
    return total if made.ordered else max(made.grain, -(-total // PIECES))


def long(made: Compiled, total: int) -> bool:
    """Whether a launch may take long enough for other threads to have the GIL meanwhile."""
    return made.loops or total > made.grain


def recorded(made: Compiled, values: dict[str, Any], grid: tuple[int, int, int], total: int
             ) -> bool:
    """Let this thread's recorder have a launch; whether it has taken it."""
    tensors = [values[name] for name, pointer in made.arguments if pointer]
    numbers = tuple([values[name] for name, pointer in made.arguments if not pointer])
    plan = plan_of(made, values, grid, total, tuple([t._spec for t in tensors]))
    if registry.capture(plan, tensors, numbers) is not None:  # type: ignore[misc]
        return True
    STATE.recorder.broken("inside", made.name, False)
    return False


def plan_of(made: Compiled, values: dict[str, Any], grid: tuple[int, int, int], total: int,
            specs: tuple[Any, ...]) -> Plan:
    """The plan of a launch: kept, or made."""
    plans, key = made.plans, (grid, specs)
    plan: Plan | None = plans.get(key)
    if plan is None:
        if len(plans) >= PLAN_LIMIT:
            plans.clear()
        plan = plans[key] = _planned(made, values, grid, total, specs)
    return plan


def _planned(made: Compiled, values: dict[str, Any], grid: tuple[int, int, int], total: int,
             specs: tuple[Any, ...]) -> Plan:
    pointers = [name for name, pointer in made.arguments if pointer]
    given: list[Any] = []
    for name, value in values.items():
        known = dict(made.arguments).get(name)
        given.append(value if known is None else
                     Ref(pointers.index(name), specs[pointers.index(name)]) if known else NUMBER)
    signature = Signature(tuple(Parameter(name) for name in (*values, "grid")))
    size = {name: spec.nbytes for name, spec in zip(pointers, specs, strict=True)}
    return Plan(
        Operator(made.name, signature), (*given, grid), len(pointers),
        launches=(_launch(made, grid, total),),
        writes=tuple(pointers.index(name) for name in made.written),
        stages=(Cost(sum(size[n] for n in made.read), sum(size[n] for n in made.written)),))


def _launch(made: Compiled, grid: tuple[int, int, int], total: int) -> Launch:
    first = len(grid)
    words = array("q", struct.pack(made.format, *grid, *(0 for _ in made.arguments)))
    pointers, numbers = [], []
    for word, (letter, (_, pointer)) in enumerate(
            zip(made.format[1 + first:], made.arguments, strict=True), first):
        if pointer:
            pointers.append((word, len(pointers), 0))
        else:
            numbers.append((word, len(numbers), "f" if letter == "d" else "i"))
    return Launch(made.address, words, tuple(pointers), tuple(numbers), total,
                  grain_of(made, total), made.name, long=long(made, total))
