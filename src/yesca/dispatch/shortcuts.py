"""Which calls come down to one plan, so that the builtin path may run it the next time.

A call is watched once: `call.run` notes every plan that it runs, with what went in and came out,
autocast its casts, and readers of values that they read. If there is one plan, on the call's own
tensors (or casts of them), and its result is the call's, then the plan is all there is to a call
with the same key. That holds for records and for any Python function of tensors, sizes and flags;
where it does not, the key is entered with the note that Python must see to it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from ..core.tensor_base import TensorBase
from ..runtime.plan import Plan
from .state import STATE


def note_read() -> None:
    """A value is read, or what tensors of one spec differ in: what follows may depend on it."""
    if STATE.seen is not None:
        STATE.seen.append(None)


@dataclass(frozen=True)
class Run:
    """A plan that ran: its operands, the numbers given at run time, and what it made."""

    plan: Plan
    tensors: list[Any]
    scalars: tuple[Any, ...]
    made: Any


@dataclass(frozen=True)
class Cast:
    """What autocast does to one argument."""

    plan: Plan
    keeps: bool  # whether the cast of a weight is kept until the region ends


@dataclass(frozen=True)
class CastRun:
    """A cast that ran, or was kept before."""

    cast: Cast
    tensor: Any
    made: Any


@dataclass(frozen=True)
class Shortcut:
    """What the builtin needs besides the plan."""

    plan: Plan
    kind: int
    scalars: tuple[Any, ...]  # numbers that the key fixes; without any, they come with each call
    several: type | None  # the class of several results, where it is no plain tuple
    pick: int  # the only one of several results that the call gives, or -1
    casts: tuple[Cast | None, ...] = ()  # of the tensors, before the plan runs


def find(seen: list[Run | CastRun | None], made: Any, tensors: list[Any], specs: list[Any],
         mask: int, fixed: bool, kinds: Any) -> Shortcut | None:
    """The one plan of a watched call that gave `made`, or None.

    specs: what the tensors were before the call; mask: which of them want a gradient; fixed:
    whether the key holds the numbers' values.
    """
    run = seen[-1] if seen else None
    if not isinstance(run, Run) or not all(isinstance(one, CastRun) for one in seen[:-1]):
        return None
    plan = run.plan
    casts = _casts(seen[:-1], run)  # type: ignore[arg-type]
    unread = len(tensors) - len(run.tensors)  # tensors of which only the spec counts
    taped = mask and plan.differentiable
    if casts is None or unread < 0 or (unread and taped):
        return None
    for k, (operand, cast) in enumerate(zip(run.tensors, casts, strict=True)):
        tensor, reader = (operand, plan) if cast is None else (cast.tensor, cast.cast.plan)
        if tensor is not tensors[k] or reader.operand_spec(
                k if cast is None else 0) is not specs[k]:
            return None  # another one, or it was resized before the plan ran
    several, pick = _class_of(run.made, made), -1
    if several is NotImplemented and isinstance(run.made, tuple):
        several = None
        pick = next((k for k, one in enumerate(run.made) if one is made), -1)
        if pick < 0 or plan.view is not None:
            return None
    if several is NotImplemented or not _on_tape(plan, run.made, mask):
        return None
    kind = _kind(plan, kinds)
    if any(casts) and kind != kinds.COMPUTE:
        return None
    return Shortcut(plan, kind, run.scalars if fixed else (), several, pick,
                    tuple([None if one is None else one.cast for one in casts]))


def _casts(seen: list[CastRun], run: Run) -> list[CastRun | None] | None:
    """For each operand of a plan the cast that made it; None if there were others, or in another
    order."""
    waiting = [*seen]
    found: list[CastRun | None] = []
    for operand in run.tensors:
        casts = bool(waiting) and waiting[0].made is operand
        found.append(waiting.pop(0) if casts else None)
    return None if waiting else found


def _kind(plan: Plan, kinds: Any) -> int:
    if plan.out:
        return int(kinds.OUT)
    if plan.inplace:
        return int(kinds.INPLACE)
    if plan.view is None:
        return int(kinds.COMPUTE)
    one = len(plan.views) == 1 and plan.record.schema.results == 1
    return int(kinds.VIEW if one else kinds.VIEWS)


def _class_of(inner: Any, made: Any) -> Any:
    """None for the plan's own result, a class that was made of its results, or NotImplemented."""
    if made is inner:
        return None
    if isinstance(made, tuple) and isinstance(inner, tuple) and len(made) == len(inner) and all(
            a is b for a, b in zip(made, inner, strict=True)):
        return None if type(made) is tuple else type(made)
    return NotImplemented


def _on_tape(plan: Plan, made: Any, mask: int) -> bool:
    """Whether the results are on the tape as the plan itself puts them there."""
    if made is None or plan.inplace:
        return True
    for k, one in enumerate(made if isinstance(made, tuple) else (made,)):
        if not isinstance(one, TensorBase):
            return False
        carries = bool(mask) and plan.differentiable and plan.carries(k)
        node = one._node  # type: ignore[attr-defined]
        if (node._plan is not plan if carries and node is not None else
                carries or one._requires_grad):  # type: ignore[attr-defined]
            return False
    return True


def tensors_in(values: Any) -> list[Any]:
    """The tensors among arguments, also inside lists, tuples and slices."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(value)
        elif isinstance(value, slice):
            found += tensors_in((value.start, value.stop, value.step))
    return found


def texts_in(values: Any) -> list[str]:
    """The strings among arguments, also inside lists and tuples: of equal ones always the same."""
    found: list[str] = []
    for value in values:
        if type(value) is str:
            found.append(sys.intern(value))
        elif isinstance(value, (list, tuple)):
            found += texts_in(value)
    return found
