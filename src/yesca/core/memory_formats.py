"""Memory formats: in which order a tensor's dimensions lie in memory, and what results follow.

`channels_last` is the order (N, H, W, C) in memory of a tensor that is (N, C, H, W) to its user;
`channels_last_3d` the same with a depth. No tensor carries a format: it is read off the strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .layouts import MemoryFormat, channels_last, channels_last_3d, contiguous_format
from .spec import Spec, contiguous_strides
from .views import expand_strides, sorted_strides

#: Dimensions from outermost to innermost in memory.
_ORDERS = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def strides_in(shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The strides of a dense tensor of this format."""
    order = _ORDERS.get(name)
    if order is None:
        return contiguous_strides(shape)
    if len(order) != len(shape):
        raise RuntimeError(f"required rank {len(order)} tensor to use {name} format")
    return _stepped(shape, order)


def _stepped(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    strides = [0] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def lies_as(one: Spec, other: Spec) -> bool:
    """Whether tensors of these specs, equal but for strides, have elements in the same places."""
    if one is other:
        return True
    return one.dtype is other.dtype and one.device is other.device and one.conj is other.conj \
        and one.neg is other.neg and all(n == 1 or a == b for n, a, b in
                zip(one.shape, one.strides, other.strides, strict=True))


def columns_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a batch of matrices whose columns are contiguous, as LAPACK leaves them."""
    strides = contiguous_strides(shape)
    return (*strides[:-2], 1, max(shape[-2], 1))


def is_in(base: Spec, name: str) -> bool:
    """Whether a tensor is dense in this format; strides of dimensions of size 1 do not count."""
    order = _ORDERS.get(name)
    if order is None:
        return base.contiguous
    if len(order) != base.ndim:
        return False
    step = 1
    for d in reversed(order):
        size = base.shape[d]
        if size != 1:
            if base.strides[d] != step:
                return False
            step *= size
    return True


def suggested(base: Spec) -> MemoryFormat:
    """The format that results of image operators follow.

    Strides alone decide, dense or not: they must grow from the channels outwards. Where sizes of 1
    leave that open (one channel, one pixel), the strides that a tensor in the format would have
    speak for it, and row-major ones against it.
    """
    for name, made in ((4, channels_last), (5, channels_last_3d)):
        if base.ndim == name and _grows(base, _ORDERS[made.name]):
            return made
    return contiguous_format


def _grows(base: Spec, order: tuple[int, ...]) -> bool:
    shape, strides = base.shape, base.strides
    if strides[1] == 0:
        return False
    least = 0
    for d in reversed(order):
        if shape[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def following(base: Spec, shape: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Strides of a result of this shape in the format that `base` suggests."""
    return strides_in(tuple(base.shape) if shape is None else shape, suggested(base).name)


def image(base: Spec, shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """`following` where `base` is a batch of images (rank 2) or volumes (3), else row-major."""
    return following(base, shape) if base.ndim == rank + 2 else contiguous_strides(shape)


def common(specs: Sequence[Spec]) -> MemoryFormat:
    """The format that all of them suggest, else the plain one."""
    first = suggested(specs[0])
    return first if all(suggested(s) is first for s in specs[1:]) else contiguous_format


def kept(base: Spec) -> tuple[int, ...]:
    """Strides of a copy: a dense tensor's own, else dense ones in the same order."""
    if base.dense:
        return base.strides
    return sorted_strides([base.strides], tuple(base.shape))


def row_major(base: Spec) -> tuple[int, ...]:
    """Strides of a result that is contiguous whatever the operand is."""
    return contiguous_strides(tuple(base.shape))


def strides_for(base: Spec, memory_format: Any) -> tuple[int, ...]:
    """The strides of a copy in a format; None and `preserve_format` keep the order."""
    name = getattr(memory_format, "name", "preserve_format")
    return kept(base) if name == "preserve_format" else strides_in(tuple(base.shape), name)


def pointwise(specs: list[Spec], shape: tuple[int, ...], numbers: bool = False
              ) -> tuple[int, ...]:
    """Strides of an elementwise result.

    Operands of one shape and one format, or of equal strides, give theirs. All others decide by
    the order of their dimensions. `numbers`: plain numbers are operands too, so that the shapes
    are not all the same.
    """
    if not numbers and all(tuple(s.shape) == shape for s in specs):
        if all(s.contiguous for s in specs):
            return contiguous_strides(shape)
        if len(shape) == 4 and all(is_in(s, "channels_last") for s in specs):
            return strides_in(shape, "channels_last")
        if all(s.dense and s.strides == specs[0].strides for s in specs):
            return specs[0].strides
    return sorted_strides([expand_strides(s.shape, s.strides, shape) for s in specs], shape)


__all__ = ["columns_first", "common", "following", "image", "is_in", "kept", "lies_as", "pointwise",
           "row_major", "strides_for", "strides_in", "suggested"]
