"""Reductions and running values along an axis."""

from __future__ import annotations

from typing import Any

from .. import blocks, types
from ..blocks import Block, machine
from .math import exp


def _block(x: Any) -> Block:
    """What has an axis. Raises ValueError for a number."""
    if not isinstance(x, Block) or not x.shape:
        what = f"a number ({x.type})" if isinstance(x, Block) else f"{type(x).__name__} {x!r}"
        raise ValueError(f"a reduction wants a block, got {what}; a number is its own sum")
    return x


def _along(x: Block, axis: Any) -> list[int]:
    """The axes to reduce, the last one first."""
    if axis is None:
        return list(range(len(x.shape)))[::-1]
    return [blocks.axis_of(axis, len(x.shape))]


def _fold(kind: str, x: Block, axis: Any, keep_dims: bool) -> Block:
    wide, own = x, x.type
    if own in (types.float16, types.bfloat16):
        wide = blocks.cast(x, types.float32)
    axes = _along(x, axis)
    for one in axes:
        shape = (*wide.shape[:one], *wide.shape[one + 1:])
        wide = Block(machine().fold(kind, wide, one), wide.type, shape)
    made = blocks.cast(wide, own)
    if keep_dims:
        for one in axes[::-1]:
            made = blocks.expand_dims(made, one)
    return made


def sum(input: Block, axis: int | None = None, keep_dims: bool = False, dtype: Any = None) -> Block:
    """The sum along an axis, of all elements by default; small integers sum in int32."""
    input = _block(input)
    if dtype is not None:
        input = blocks.cast(input, dtype)
    elif input.type.is_int() and input.type.itemsize < 4:
        input = blocks.cast(input, types.int32 if input.type.core.is_signed
                            or input.type is types.int1 else types.uint32)
    return _fold("sum", input, axis, keep_dims)


def _extreme(kind: str, x: Block, axis: Any, indices: bool, keep_dims: bool) -> Any:
    x = _block(x)
    if x.type.is_int() and x.type.itemsize < 4:
        made = _fold(kind, blocks.cast(x, types.int32), axis, keep_dims)
    else:
        made = _fold(kind, x, axis, keep_dims)
    return (made, _place(kind, x, axis, keep_dims)) if indices else made


def max(input: Block, axis: int | None = None, return_indices: bool = False,
        return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> Any:
    """The largest element along an axis. NaNs are passed over: of nothing but NaNs it is -inf."""
    return _extreme("max", input, axis, return_indices, keep_dims)


def min(input: Block, axis: int | None = None, return_indices: bool = False,
        return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> Any:
    """The smallest element along an axis. NaNs are passed over: of nothing but NaNs it is inf."""
    return _extreme("min", input, axis, return_indices, keep_dims)


def _place(kind: str, x: Block, axis: Any, keep_dims: bool) -> Block:
    """Where the extreme element is: the first of equal ones."""
    x = _block(x)
    if axis is None:
        x, axis = blocks.reshape(x, (x.numel,)), 0
    axis = blocks.axis_of(axis, len(x.shape))
    count = x.shape[axis]
    best = _fold(kind, x, axis, keep_dims=True)
    index = _along_axis(x, axis)
    found = blocks.where(blocks.binary("eq", x, best), index, count)
    first = _fold("min", found, axis, keep_dims)
    return blocks.where(blocks.binary("lt", first, count), first, 0)  # nothing but NaNs


def argmax(input: Block, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> Block:
    """The place of the largest element along an axis, the first one of equals."""
    return _place("max", input, axis, keep_dims)


def argmin(input: Block, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> Block:
    """The place of the smallest element along an axis, the first one of equals."""
    return _place("min", input, axis, keep_dims)


def xor_sum(input: Block, axis: int | None = None, keep_dims: bool = False) -> Block:
    """The exclusive or of integers along an axis."""
    made = reduce(input, axis, lambda a, b: a ^ b)
    return blocks.expand_dims(made, axis or 0) if keep_dims else made


def softmax(x: Block, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False
            ) -> Block:
    """exp(x - max) / sum along an axis (the last one)."""
    x = _block(x)
    axis = len(x.shape) - 1 if dim is None else dim
    top = exp(x - max(x, axis, keep_dims=True))
    return top / sum(top, axis, keep_dims=True)


def reduce(input: Any, axis: int | None, combine_fn: Any, keep_dims: bool = False) -> Any:
    """All elements along an axis, combined in order by a function of two (of tuples: of 2 n)."""
    values = tuple(map(_block, input if isinstance(input, tuple) else (input,)))
    if axis is None:
        values, axis = tuple(blocks.reshape(v, (v.numel,)) for v in values), 0
    place = blocks.axis_of(axis, len(values[0].shape))
    made = machine().scan(values, place, combine_fn, reverse=False, last=True)
    if keep_dims:
        made = tuple(blocks.expand_dims(v, place) for v in made)
    return made if isinstance(input, tuple) else made[0]


def associative_scan(input: Any, axis: int, combine_fn: Any, reverse: bool = False) -> Any:
    """Running values along an axis, combined by a function of two (of tuples: of 2 n)."""
    values = tuple(map(_block, input if isinstance(input, tuple) else (input,)))
    place = blocks.axis_of(axis, len(values[0].shape))
    made = machine().scan(values, place, combine_fn, reverse=reverse, last=False)
    return made if isinstance(input, tuple) else made[0]


def cumsum(input: Block, axis: int = 0, reverse: bool = False, dtype: Any = None) -> Block:
    """Running sums along an axis."""
    input = _block(input)
    if input.type.is_int() and input.type.itemsize < 4:
        input = blocks.cast(input, types.int32)
    values = input if dtype is None else blocks.cast(input, dtype)
    made: Block = associative_scan(values, axis, lambda a, b: a + b, reverse)
    return made


def cumprod(input: Block, axis: int = 0, reverse: bool = False) -> Block:
    """Running products along an axis."""
    made: Block = associative_scan(input, axis, lambda a, b: a * b, reverse)
    return made


def sort(x: Block, dim: int | None = None, descending: bool = False) -> Block:
    """The elements along a dimension (the last one) in order, by a bitonic network.

    Where there are NaNs, all elements are still there, in some order.

    Batcher, "Sorting networks and their applications" (1968).
    """
    x = _block(x)
    axis = blocks.axis_of(len(x.shape) - 1 if dim is None else dim, len(x.shape))
    index = _along_axis(x, axis)
    width = 2
    while width <= x.shape[axis]:
        # Runs of `width` rise and fall in turns; the last one, of all elements, rises.
        falls = blocks.binary("ne", index & width, 0) if width < x.shape[axis] else None
        step = width // 2
        while step:
            own, other = (Block(v, x.type, x.shape) for v in machine().paired(x, step, axis))
            first = blocks.binary("eq", index & step, 0)
            low, high = blocks.where(first, own, other), blocks.where(first, other, own)
            wrong = blocks.binary("lt" if descending else "gt", low, high)
            if falls is not None:
                wrong = blocks.where(falls, blocks.binary(
                    "gt" if descending else "lt", low, high), wrong)
            x = blocks.where(wrong, other, own)
            step //= 2
        width *= 2
    return x


def _along_axis(x: Block, axis: int) -> Block:
    """The index on an axis, of dimensions that go with the block's."""
    index = Block(machine().arange(x.shape[axis]), types.int32, (x.shape[axis],))
    for _ in range(len(x.shape) - 1 - axis):
        index = blocks.expand_dims(index, len(index.shape))
    return index
