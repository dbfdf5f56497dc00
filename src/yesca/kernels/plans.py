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
from ..graph import groups
from ..loops.cost import Cost
from ..runtime.plan import NUMBER, PLAN_LIMIT, Flat, Launch, Plan
from ..runtime.references import Ref
from .compiling import Compiled


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


def recorded(made: Compiled, words: list[Any], tensors: list[Any], grid: tuple[int, int, int],
             total: int) -> bool:
    """Let this thread's recorder have a launch; whether it has taken it."""
    if all(map(_allocated, tensors)):
        numbers = tuple([word for word, pointer in zip(words, made.pointers, strict=True)
                         if not pointer])
        points = made.map.points(grid, numbers) if made.map is not None else 0
        if points < groups.LEAST or not all(_reaches(t, points) for t in tensors):
            points = 0
        plan = plan_of(made, grid, total, points, tuple([t._spec for t in tensors]))
        if registry.capture(plan, tensors, numbers) is not None:  # type: ignore[misc]
            return True
    STATE.recorder.broken("inside", made.name, False)
    return False


def _allocated(tensor: Any) -> bool:
    """Whether a tensor's storage still holds all of its elements."""
    seen = tensor._spec
    start: int = tensor._offset * seen.dtype.itemsize
    return not seen.numel or bool(start + seen.nbytes <= tensor._storage._nbytes)


def _reaches(tensor: Any, count: int) -> bool:
    """Whether so many elements lie in a row in its storage, from the tensor's first one on."""
    return bool((tensor._offset + count) * tensor._spec.dtype.itemsize <= tensor._storage._nbytes)


def plan_of(made: Compiled, grid: tuple[int, int, int], total: int, points: int,
            specs: tuple[Any, ...]) -> Plan:
    """The plan of a launch: kept, or made; points: of the map that it is, else 0."""
    plans, key = made.plans, (grid, points, specs)
    plan: Plan | None = plans.get(key)
    if plan is None:
        if len(plans) >= PLAN_LIMIT:
            plans.clear()
        plan = plans[key] = _planned(made, grid, total, points, specs)
    return plan


def _planned(made: Compiled, grid: tuple[int, int, int], total: int, points: int,
             specs: tuple[Any, ...]) -> Plan:
    left = iter(enumerate(specs))
    values = [Ref(*next(left)) if pointer else NUMBER for pointer in made.pointers]
    signature = Signature(tuple(Parameter(n) for n in (*(n for n, _ in made.arguments), "grid")))
    launch = _launch(made, grid, total)
    does: Any = Cost(*(sum(specs[k].nbytes for k in touched)
                       for touched in (made.read, made.written)))
    if points and made.map is not None:
        kinds = [(position, kind) for _, position, kind in launch.numbers]
        does = Flat(made.map.stage, points, made.map.buffers,
                    tuple(kinds[k] for k in made.map.arguments))
    return Plan(Operator(made.name, signature), (*values, grid), len(specs), launches=(launch,),
                writes=made.written, stages=(does,))


def _launch(made: Compiled, grid: tuple[int, int, int], total: int) -> Launch:
    first = len(grid)
    words = array("q", struct.pack(made.format, *grid, *(0 for _ in made.arguments)))
    pointers, numbers = [], []
    for word, (letter, pointer) in enumerate(
            zip(made.format[1 + first:], made.pointers, strict=True), first):
        if pointer:
            pointers.append((word, len(pointers), 0))
        else:
            numbers.append((word, len(numbers), "f" if letter == "d" else "i"))
    grain, long = made.pieces(total)
    return Launch(made.address, words, tuple(pointers), tuple(numbers), total, grain, made.name,
                  long=long)
