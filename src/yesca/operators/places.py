"""Data-dependent places: index values as checked offsets, and writes in a fixed order.

Reads at an index are flat or rows stages whose loads have an offset. Writes are rows stages: a row
owns everything that may meet in one place, and its inner axis runs over the indices in order, so
the result is the same for any number of threads, and sums are the same bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtypes import (
    BOOL, COMPLEX, NARROW_FLOATS, SCALAR_NAMES, DType, bool_, complex64, float32, float64,
    int64, uint8,
)
from ..loops.ir import Expr, cast, const
from ..loops.scalar import where

Fail = Callable[[int], None]


def out_of_bounds(dim: int, size: int, caller: str = "") -> Fail:
    """Raises PyTorch's error for an index that its dimension does not have."""
    def fail(value: int) -> None:
        raise IndexError(f"{caller}index {value} is out of bounds for dimension {dim} with size "
                         f"{size}")
    return fail


def no_row(value: int) -> None:
    """Raise for an index of a row that there is not."""
    raise IndexError("index out of range in self")


def out_of_bounds_runtime(dim: int, size: int) -> Fail:
    """The same as a RuntimeError, which gather, scatter and their kin raise."""
    def fail(value: int) -> None:
        raise RuntimeError(f"index {value} is out of bounds for dimension {dim} with size {size}")
    return fail


def wrapped(p: Any, index: Expr, size: int, fail: Fail | None, negative: bool = True) -> Expr:
    """An index made non-negative, and 0 where it is out of range (so that loads stay inside)."""
    i = cast(index, int64)
    count = p.fixed(size, int64)
    if fail is not None:
        fits = (i >= (-count if negative else const(0, int64))) & (i < count)
        p.check(fits, i, fail)
        i = where(fits, i, const(0, int64))
    return where(i < 0, i + count, i) if negative else i


def offset_of(p: Any, indices: Sequence[Expr], sizes: Sequence[int], steps: Sequence[int],
              fails: Sequence[Fail | None], negative: bool = True) -> Expr:
    """The sum of index * step over the indexed dimensions, in elements."""
    total = None
    for index, size, step, fail in zip(indices, sizes, steps, fails, strict=True):
        part = wrapped(p, index, size, fail, negative) * p.fixed(step, int64)
        total = part if total is None else total + part
    assert total is not None
    return total


def wide_dtype(dtype: DType) -> DType:
    """The dtype in which values of `dtype` are combined in memory."""
    if dtype in NARROW_FLOATS:
        return float32
    return uint8 if dtype.category == BOOL else dtype


def begun(p: Any, self: Any, strides: Any = None) -> Any:
    """The result of an operator that changes part of self: self's copy, or self in place.

    `strides` of a spec: those of the copy; row-major ones if None.
    """
    from ..core.spec import spec

    if p.inplace_target is not None:
        return p.result(self.spec)
    strides = None if strides is None else strides(self.spec)
    out = p.result(spec(self.spec.dtype, self.spec.shape, strides, p.device))
    p.flat(lambda v: v, [self], [out])
    return out


def collected(p: Any, out: Any, work: Callable[[Any], None], combine: str) -> None:
    """Run `work` on the result, or, where its dtype is too narrow to combine in, on a wide copy."""
    dtype = out.spec.dtype
    wide = wide_dtype(dtype)
    if not combine or wide is dtype:
        work(out)
        return
    copy = p.temporary(tuple(out.spec.shape), wide)
    p.flat(lambda v: cast(v, wide), [out], [copy])
    work(copy)
    p.flat(lambda v: v.ne(0) if dtype is bool_ else cast(v, dtype), [copy], [out])


def put(p: Any, out: Any, keep: Sequence[int], steps: Sequence[int], value: Any, place: Any,
        combine: str = "", offset: Callable[..., Expr] | None = None,
        guard: Callable[..., Expr] | None = None) -> None:
    """Store (or combine) values at places, in order, one row per point of the kept dimensions.

    out: the memory, from its first element; keep, steps: sizes and strides of the kept dimensions
    value: a reference of shape (*keep, n), or a function that gives a number as an expression
    place: a reference of shape (n,) or (*keep, n); `offset` makes elements of its value
    """
    parts = 1
    if not callable(value) and value.spec.conj:
        plain = p.temporary(tuple(value.spec.shape), value.spec.dtype)
        p.flat(lambda v: v, [value], [plain])
        value = plain
    if combine and out.spec.dtype.category == COMPLEX and (combine != "sum" or out.spec.conj):
        raise p.record.lacks(SCALAR_NAMES[out.spec.dtype])
    if combine and out.spec.dtype.category == COMPLEX:  # both parts by themselves
        if callable(value):
            number, value = value, p.temporary((*keep, place.spec.shape[-1]), out.spec.dtype)
            p.flat(number, [], [value])
        parts, out, value = 2, as_pairs(out), as_pairs(value)
        keep, steps = [*keep, 2], [*(2 * s for s in steps), 1]
        last = value.spec.ndim - 1
        value = permuted(value, [*range(last - 1), last, last - 1])
        lead, far = place.spec.shape[:-1], place.spec.strides[:-1]
        more = (1,) if lead else ()
        place = place.seen(((*lead, *more, place.spec.shape[-1]),
                            (*far, *(0 for _ in more), place.spec.strides[-1]), 0))
    dtype = out.spec.dtype
    size = place.spec.shape[-1]
    target = out.seen(((*keep, size), (*steps, 0), 0))

    def body(at: Expr, *rest: Expr) -> Any:
        to = offset(at) if offset is not None else at
        return p.store(cast(rest[0] if rest else value(), dtype), to * parts if parts > 1 else to,
                       guard(at) if guard is not None else None, combine)

    p.rows(body, [place] if callable(value) else [place, value], [target], list(keep), size)


def as_pairs(ref: Any) -> Any:
    """A complex reference as one of floats, with a last dimension of real and imaginary part."""
    dtype = float32 if ref.spec.dtype is complex64 else float64
    return ref.reread(dtype, ((*ref.spec.shape, 2), (*(2 * s for s in ref.spec.strides), 1), 0))


def permuted(ref: Any, order: Sequence[int]) -> Any:
    """A reference with its dimensions in another order."""
    return ref.seen((tuple(ref.spec.shape[d] for d in order),
                     tuple(ref.spec.strides[d] for d in order), 0))


def spread(ref: Any, shape: Sequence[int]) -> Any:
    """A reference broadcast to a shape."""
    from ..core.views import expand_strides

    return ref.seen((tuple(shape), expand_strides(ref.spec.shape, ref.spec.strides, shape), 0))


def type_name(tensor: Any) -> str:
    """A tensor's dtype as PyTorch's messages name it: Float, Long, ..."""
    return SCALAR_NAMES[tensor.dtype]


def count_of(shape: Sequence[int]) -> int:
    """How many elements a shape has."""
    return math.prod(shape)
