"""What pools and resampling share: sizes of windows, padded copies, parts of a dimension.

A *span* is what one output index reads along one dimension: equally long ones a fixed step apart
(pools), or the ones that divide a dimension into a given number of parts (adaptive pools).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ..base.errors import argument_error, type_name
from ..core.dtypes import FLOATING, DType, int64
from ..core.memory_formats import image
from ..core.spec import contiguous_strides
from ..loops.ir import Expr, cast, const, coord, fold, load
from ..loops.scalar import idiv, irem, maximum, minimum, where
from .argument_types import is_whole


def numbers(name: str, argument: str, value: Any, rank: int) -> tuple[int, ...]:
    """An argument that is one number or one for each dimension."""
    if is_whole(value):
        return (int(value),) * rank
    if not isinstance(value, (tuple, list)):
        raise argument_error(name, argument, 0, "tuple of ints", value)
    for at, one in enumerate(value):
        if not is_whole(one):
            raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, but found "
                            f"element of type {type_name(one)} at pos {at}")
    made = tuple(int(n) for n in value)
    if len(made) == 1:
        return made * rank
    if len(made) != rank:
        word = {1: "one int", 2: "two ints", 3: "three ints"}[rank]
        raise RuntimeError(f"{name}: {argument} must either be a single int, or a tuple of {word}")
    return made


def place(like: Any, rank: int = 2) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of the gradient of a pool's input: in the input's memory format, where
    PyTorch's pool of this rank knows others than the plain one."""
    shape = tuple(like.shape)
    return shape, image(like, shape, rank)


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int,
                ceil_mode: bool) -> int:
    """How many windows fit; in ceil_mode one more if it starts inside the input or its padding."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    made = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (made - 1) * stride >= size + padding:
        made -= 1
    return made


def lowest(dtype: DType) -> object:
    """What every value of the dtype is at least."""
    if dtype.category == FLOATING:
        return float("-inf")
    return -(1 << (dtype.itemsize * 8 - 1)) if dtype.is_signed else 0


def filled(p: Any, shape: Sequence[int], dtype: DType, value: Any) -> Any:
    """A temporary with one value everywhere."""
    made = p.temporary(shape, dtype)
    p.flat(lambda: const(value, dtype), [], [made])
    return made


def padded(p: Any, x: Any, before: Sequence[int], extents: Sequence[int], value: Any) -> Any:
    """x in the middle of a larger temporary; x itself where nothing is added."""
    shape = tuple(x.spec.shape)
    rank = len(extents)
    if all(b == 0 for b in before) and shape[-rank:] == tuple(extents):
        return x
    made = filled(p, (*shape[:-rank], *extents), x.spec.dtype, value)
    sizes = [min(n, e - b) for n, b, e in zip(shape[-rank:], before, extents, strict=True)]
    p.flat(lambda v: v, [x.seen(((*shape[:-rank], *sizes), x.spec.strides, 0))],
           [inside(made, before, sizes)])
    return made


def inside(ref: Any, before: Sequence[int], sizes: Sequence[int]) -> Any:
    """The part of the last dimensions that begins at `before`."""
    rank, steps = len(sizes), ref.spec.strides
    start = sum(b * s for b, s in zip(before, steps[-rank:], strict=True))
    return ref.seen(((*ref.spec.shape[:-rank], *sizes), steps, start))


def stepped(ref: Any, sizes: Sequence[int], stride: Sequence[int], first: Sequence[int]) -> Any:
    """Every `stride`-th element of the last dimensions, from `first` on."""
    rank, steps = len(sizes), ref.spec.strides
    start = sum(b * s for b, s in zip(first, steps[-rank:], strict=True))
    return ref.seen(((*ref.spec.shape[:-rank], *sizes),
                     (*steps[:-rank], *(s * t for s, t in zip(steps[-rank:], stride,
                                                              strict=True))), start))


def positions(kernel: Sequence[int]) -> list[tuple[int, ...]]:
    """All places of a window, in memory order."""
    return list(itertools.product(*(range(k) for k in kernel)))


def at(index: int, x: Any, p: Any, place: Sequence[int]) -> Expr:
    """The element `place` beyond the point's own in a buffer."""
    rank = len(place)
    step = sum(a * s for a, s in zip(place, x.spec.strides[-rank:], strict=True))
    return load(index, x.spec.dtype, p.fixed(step, int64))


def table(p: Any, count: int, body: Any, dtype: DType = int64) -> Any:
    """A temporary vector of body(index)."""
    made = p.temporary((count,), dtype)
    p.flat(lambda: cast(body(coord("point")), dtype), [], [made])
    return made


def along(vector: Any, ndim: int, dim: int) -> Any:
    """A vector that broadcasts along one dimension."""
    shape, steps = [1] * ndim, [0] * ndim
    shape[dim], steps[dim] = vector.spec.shape[0], vector.spec.strides[0]
    return vector.seen((tuple(shape), tuple(steps), 0))


# ---- parts of a dimension --------------------------------------------------------------------

def part_first(p: Any, index: Expr, size: int, parts: int) -> Expr:
    """Where part `index` of a dimension of `size` begins."""
    return idiv(index * p.fixed(size, int64), p.fixed(parts, int64))


def part_end(p: Any, index: Expr, size: int, parts: int) -> Expr:
    """Where it ends; parts overlap where the size cannot be divided."""
    return idiv((index + 1) * p.fixed(size, int64) + p.fixed(parts - 1, int64),
                p.fixed(parts, int64))


def longest(size: int, parts: int) -> int:
    """The length of the longest part."""
    return max((-(-(i + 1) * size // parts) - i * size // parts for i in range(parts)), default=1)


class Parts:
    """The parts of dimension `dim`: rows over which they can be folded."""

    def __init__(self, p: Any, x: Any, dim: int, parts: int) -> None:
        self.p, self.x, self.dim, self.parts = p, x, dim, parts
        self.size = x.spec.shape[dim]
        self.reach = min(longest(self.size, parts), self.size)
        size, reach = self.size, self.reach
        self.starts = table(p, parts, lambda i: minimum(
            part_first(p, i, size, parts), p.fixed(size - reach, int64)))
        self.lows = table(p, parts, lambda i: part_first(p, i, size, parts))
        self.ends = table(p, parts, lambda i: part_end(p, i, size, parts))
        self.shape = tuple(parts if d == dim else n for d, n in enumerate(x.spec.shape))

    def fold(self, body: Any, outputs: Sequence[Any], picked: Sequence[Any] = ()) -> None:
        """outputs = body(value, inside, start, pick) for every part.

        `start`: where the folded row begins in the dimension. `pick(k, place)` reads the k-th of
        the buffers `picked`, of the input's shape, at one place of the dimension.
        """
        dim, step = self.dim, self.x.spec.strides[self.dim]
        tables = [along(t, len(self.shape), dim).as_rows()
                  for t in (self.starts, self.lows, self.ends)]
        others = [self._flattened(x, ()).as_rows() for x in picked]

        def stage(_: Expr, start: Expr, low: Expr, end: Expr, *rest: Expr) -> Any:
            place = start + coord("inner")
            value = load(0, self.x.spec.dtype, start * self.p.fixed(step, int64))

            def pick(k: int, at_place: Expr) -> Expr:
                own = self.p.fixed(picked[k].spec.strides[dim], int64)
                return load(4 + k, picked[k].spec.dtype, at_place * own)

            return body(value, (place >= low) & (place < end), start, pick)

        self.p.rows(stage, [self._flattened(self.x, (step,)), *tables, *others],
                    [o.as_rows() for o in outputs], self.shape, self.reach)

    def _flattened(self, x: Any, inner: tuple[int, ...]) -> Any:
        """x without steps along the dimension, which becomes the inner axis."""
        steps = list(x.spec.strides)
        steps[self.dim] = 0
        return x.seen(((*self.shape, *(self.reach for _ in inner)), (*steps, *inner), 0))


def part_sums(p: Any, x: Any, dim: int, parts: int, wide: DType) -> Any:
    """A temporary with the sums over the parts of a dimension."""
    work = Parts(p, x, dim, parts)
    made = p.temporary(work.shape, wide)
    work.fold(lambda v, kept, *_: fold("sum", where(kept, cast(v, wide), const(0, wide))), [made])
    return made


def part_lengths(p: Any, size: int, parts: int, wide: DType) -> Any:
    """The lengths of the parts."""
    return table(p, parts, lambda i: part_end(p, i, size, parts) - part_first(p, i, size, parts),
                 wide)


def window_starts(p: Any, windows: int, stride: int) -> Any:
    """Where each window along one padded dimension begins."""
    return table(p, windows, lambda i: i * p.fixed(stride, int64))


def window_counts(p: Any, size: int, windows: int, kernel: int, stride: int, padding: int,
                  include_pad: bool, wide: DType) -> Any:
    """How many elements each window along one dimension counts."""
    def body(i: Expr) -> Expr:
        first = i * p.fixed(stride, int64) - p.fixed(padding, int64)
        end = minimum(first + p.fixed(kernel, int64), p.fixed(size + padding, int64))
        if include_pad:
            return end - first
        return minimum(end, p.fixed(size, int64)) - maximum(first, const(0, int64))

    return table(p, windows, body, wide)


def flat_place(p: Any, size: Sequence[int], result: Sequence[int], stride: Sequence[int],
               padding: Sequence[int], dilation: Sequence[int] | None = None) -> Any:
    """A temporary over the windows: the flat place in the input of each window's first element.

    With `dilation`, of the first element that is not padding.
    """
    made = p.temporary(result, int64)
    steps, outer = contiguous_strides(tuple(size)), contiguous_strides(tuple(result))

    def body() -> Expr:
        total, left = const(0, int64), coord("point")
        for d, (n, step) in enumerate(zip(outer, steps, strict=True)):
            place = idiv(left, p.fixed(n, int64)) * p.fixed(stride[d], int64) \
                - p.fixed(padding[d], int64)
            if dilation is not None:
                apart = p.fixed(dilation[d], int64)
                missing = maximum(-place, const(0, int64))
                place = place + idiv(missing + apart - 1, apart) * apart
            total = total + place * p.fixed(step, int64)
            left = irem(left, p.fixed(n, int64))
        return total

    p.flat(body, [], [made])
    return made
