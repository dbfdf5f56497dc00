"""Indexing by numbers: the basic part of an index as one view."""

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.spec import Spec, spec
from .kinds import rows, view
from .views import _part_backward


def _basic(base: Spec, index: Any) -> algebra.Strided:
    """Integers, slices, None and Ellipsis, from left to right."""
    items = index if isinstance(index, tuple) else (index,)
    used = sum(i is not None and i is not Ellipsis for i in items)
    if used > base.ndim:
        raise IndexError(f"too many indices for tensor of dimension {base.ndim}")
    now, offset, d = base, 0, 0
    for item in items:
        if item is Ellipsis:
            d += base.ndim - used
            continue
        if item is None:
            shape, strides, more = algebra.unsqueeze(now, d)
            d += 1
        elif isinstance(item, int):
            if base.ndim == 0:
                raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python "
                                 "or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a "
                                 "number")
            size = now.shape[d]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {d} with size "
                                 f"{size}")
            shape, strides, more = algebra.select(now, d, item)
        else:
            if item.step is not None and item.step <= 0:
                raise ValueError("step must be greater than zero")
            shape, strides, more = algebra.slice_(now, d, item.start, item.stop, item.step or 1)
            d += 1
        offset += more
        now = spec(base.dtype, shape, strides, base.device)
    return tuple(now.shape), now.strides, offset


getitem = view(
    "getitem(Tensor self, any index) -> Tensor", _basic, method=False, node_name="SliceBackward0",
    backward={"self": lambda ops, grad, self_spec, index: ops.getitem_backward(
        grad, tuple(self_spec.shape), index)}, doc="self[index] for integers, slices and None.")



rows("getitem_backward(Tensor grad, int[] shape, any index) -> Tensor",
     lambda p, grad, shape, index: _part_backward(p, grad, shape, _basic, index), kind="copy",
     method=False, backward={"grad": lambda ops, grad, index: ops.getitem(grad, index)})
