"""Which calls come down to one plan, so that the builtin path may run it the next time.

A call is watched once: `call.run` notes every plan that it runs, with what went in and came out,
and readers of values note that they read. If there is one plan, on the call's own tensors, and its
result is the call's, then the plan is all there is to a call with the same key. That holds for
records and for any Python function of tensors, sizes and flags; where it does not, the key is
entered with the note that Python must see to it.
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
class Shortcut:
    """What the builtin needs besides the plan."""

    plan: Plan
    kind: int
    scalars: tuple[Any, ...]  # numbers that the key fixes; without any, they come with each call
    several: type | None  # the class of several results, where it is no plain tuple
    pick: int  # the only one of several results that the call gives, or -1


def find(seen: list[Run | None], made: Any, tensors: list[Any], specs: list[Any], mask: int,
         fixed: bool, kinds: Any) -> Shortcut | None:
    """The one plan of a watched call that gave `made`, or None.

    specs: what the tensors were before the call; mask: which of them want a gradient; fixed:
    whether the key holds the numbers' values.
    """
    if len(seen) != 1 or seen[0] is None:
        return None
    run = seen[0]
    plan = run.plan
    unread = len(tensors) - len(run.tensors)  # tensors of which only the spec counts
    taped = mask and plan.differentiable
    if unread < 0 or (unread and taped) or any(
            a is not b for a, b in zip(run.tensors, tensors, strict=False)):
        return None
    if any(plan.operand_spec(k) is not was for k, was in enumerate(specs[:len(run.tensors)])):
        return None  # resized before the plan ran
    several, pick = _class_of(run.made, made), -1
    if several is NotImplemented and isinstance(run.made, tuple):
        several = None
        pick = next((k for k, one in enumerate(run.made) if one is made), -1)
        if pick < 0 or plan.view is not None:
            return None
    if several is NotImplemented or not _on_tape(plan, run.made, mask):
        return None
    return Shortcut(plan, _kind(plan, kinds), run.scalars if fixed else (), several, pick)


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
