"""In-place calls: what may be written, operands that overlap the target, version counters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.frames import warn
from ..core import registry
from ..core.spec import spec
from ..core.tensor_base import BarredView
from ..core.views import meeting, refuse_stretched, stretched
from ..runtime.plan import Plan
from .state import STATE


def check(plan: Plan | None, target: Any, grad: bool, needs: bool) -> None:
    """Refuse writes that autograd or the memory layout forbids."""
    record = plan.record if plan is not None else None
    # What gives truth values has no derivative: the tape does not see that it is written.
    truths = record is not None and record.kind == "elementwise" and record.dtype == "bool"
    check_tape(target, grad and not truths, needs)
    check_places(target._spec, record)


def check_captured(target: Any, what: Any, values: tuple[Any, ...] = ()) -> None:
    """Refuse to write a tensor that a function under a derivative of `func` has not made.

    what: the record that writes, with its arguments, or PyTorch's name of the operator.
    """
    if STATE.derivative is not None:
        STATE.derivative.check_write(target, what, values)


def check_places(seen: Any, record: Any = None) -> None:
    """Refuse to write where elements lie in one place, unless the record may."""
    if seen.dense or not stretched(seen.shape, seen.strides):
        return
    if record is None or not record.stretched:
        refuse_stretched(seen.shape, seen.strides)
    if record.stretched != "allowed":
        warn(f"Use of {record.stretched} on expanded tensors is deprecated. Please clone() the "
             "tensor before performing this operation. This also applies to advanced indexing "
             "e.g. tensor[mask] = scalar")


def check_operands(record: Any, target: Any, others: Iterable[Any]) -> None:
    """Refuse operands that meet the written memory otherwise than the record may."""
    check_meeting(record.meets, target, others)


def check_meeting(meets: str, target: Any, others: Iterable[Any]) -> None:
    """Refuse operands that meet the written memory otherwise than `meets` says."""
    if meets == "any":
        return
    storage = target._storage
    for other in others:
        if other._storage is not storage:
            continue
        found = "full" if other is target else meeting(
            target._spec, target._offset * target._spec.dtype.itemsize,
            other._spec, other._offset * other._spec.dtype.itemsize)
        if found == "partial" or (found == "full" and meets == "none"):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to a single memory location. Please clone() the tensor before "
                "performing the operation.")


def check_tape(target: Any, grad: bool, needs: bool) -> None:
    """Refuse writes that autograd forbids; `needs`: another operand wants a gradient."""
    if target._counter is None and not STATE.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed."
            "You can make a clone to get a normal tensor before doing inplace update."
            "See https://github.com/pytorch/rfcs/pull/17 for more details.")
    if grad and (needs or target._requires_grad):
        extra = target._extra
        if extra is not None and extra.base is not None:
            _check_view(target, extra)
        elif target._requires_grad and target._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation.")


def _check_view(target: Any, extra: Any) -> None:
    check_origin(target, "is being")
    if target._requires_grad and extra.base._node is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an "
                           "in-place operation.")


def check_origin(view: Any, what: str) -> None:
    """Refuse to follow a write to a view whose origin bars it. `what` it is that was written."""
    extra = view._extra
    if not isinstance(extra, BarredView):
        return
    node = view._node
    place = ""
    if node is not None:
        name = node.name()
        place = f"Output {view._output_nr} of {name.rpartition('Backward')[0] or name} is a view"
    if extra.mode or node is None:
        start = f"{place} of a view which was created in" if place else "A view was created in"
        mode = "inference mode" if extra.mode == "inference" else "no_grad mode"
        end = "in normal mode" if extra.mode == "inference" else "with grad mode enabled"
        text = f"{start} {mode} and {what} modified inplace {end}."
    else:
        text = f"{place} and {what} modified inplace."
    raise RuntimeError(f"{text} {extra.advice}")


def settle(tensor: Any) -> None:
    """A view requires a gradient if its base does.

    Views made off the tape do too, and those of a base that a write has put on the tape since:
    the latter get a node when their gradient's way is asked for.
    """
    base = tensor._extra.base
    if base is not None and base._requires_grad and not tensor._requires_grad:
        dtype = tensor._spec.dtype
        tensor._requires_grad = dtype.is_floating_point or dtype.is_complex


def keep_original(plan: Plan, tensors: list[Any]) -> Any:
    """A copy of the target as it was, where a derivative reads it; else None."""
    wanted = 0
    for k, tensor in enumerate(tensors):
        wanted |= (1 << k) if tensor._requires_grad else 0
    if (False, 0) in plan.saves(wanted):
        return copy_of(tensors[0])
    return None


def separate(plan: Plan, tensors: list[Any]) -> list[Any]:
    """Operands that overlap the target elsewhere than element on element are copied first.

    They are what `check_operands` lets through. A product reads an element of an operand after it
    has written others: there, any overlap counts.
    """
    pointwise = plan.record.kind != "contraction"
    target = tensors[0]
    storage, own, offset = target._storage, target._spec, target._offset
    made = tensors
    for k, other in enumerate(tensors):
        if k == 0 or other._storage is not storage:
            continue
        same = pointwise and other._offset == offset and other._spec.strides == own.strides \
            and other._spec.shape == own.shape and other._spec.dtype is own.dtype
        if same or not _touch(target, other):
            continue
        if made is tensors:
            made = list(tensors)
        made[k] = _apart(other)
    return made


def _apart(tensor: Any) -> Any:
    """The same view of a copy of the memory: the plan holds for the very same strides."""
    seen = tensor._spec
    count = seen.nbytes // seen.dtype.itemsize
    whole = registry.wrap(tensor._storage, spec(seen.dtype, (count,), None, seen.device),
                          tensor._offset)
    return registry.wrap(copy_of(whole)._storage, seen, 0)


def _touch(a: Any, b: Any) -> bool:
    def extent(t: Any) -> tuple[int, int]:
        start = t._offset * t._spec.dtype.itemsize
        return start, start + t._spec.nbytes

    (low, high), (first, last) = extent(a), extent(b)
    return low < last and first < high


def copy_of(tensor: Any) -> Any:
    """A copy off the tape."""
    from ..operators import families
    from .call import run
    from .state import set_grad

    before, seen = STATE.grad, STATE.seen
    STATE.seen = None  # no part of what the call is about
    set_grad(False)
    try:
        return run(families.get("clone"), (tensor, None))
    finally:
        set_grad(before)
        STATE.seen = seen


def bump(target: Any) -> None:
    """Count one write."""
    version = target._counter
    if version is not None:
        version.value += 1


__all__ = ["bump", "check", "check_meeting", "check_operands", "check_origin", "check_places",
           "copy_of", "keep_original", "registry", "separate"]
