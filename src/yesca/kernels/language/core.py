"""The grid, making blocks, and giving them other shapes and types."""

from __future__ import annotations

import builtins
from typing import Any

from .. import blocks, types
from ..blocks import Block, block, checked_shape, machine
from ..types import float32, float64, int1, int32, pointer_type

tensor = Block
void = type(None)

class constexpr:  # noqa: N801 - the language's own name
    """Marks a parameter whose value is known when the kernel is compiled: `BLOCK: tl.constexpr`.

    Called, it gives the value itself.
    """

    def __new__(cls, value: Any) -> Any:
        return value


def program_id(axis: int) -> Block:
    """The number of this program on an axis (0, 1 or 2) of the grid."""
    return Block(machine().program(_grid_axis(axis)), int32)


def num_programs(axis: int) -> Block:
    """How many programs the grid has on an axis."""
    return Block(machine().programs(_grid_axis(axis)), int32)


def _grid_axis(axis: Any) -> int:
    if axis not in (0, 1, 2):
        raise ValueError(f"program_id axis must be 0, 1, or 2 but got {axis}")
    return int(axis)


def arange(start: int, end: int) -> Block:
    """The integers from start up to end: a block of `end - start`, a power of two."""
    if not (isinstance(start, int) and isinstance(end, int)):
        raise ValueError("arange's arguments must be of type tl.constexpr; the block's size is "
                         "to be known when the kernel is compiled")
    if end <= start:
        raise ValueError("arange's end argument must be greater than the start argument")
    size = end - start
    if size & (size - 1):
        raise ValueError("arange's range must be a power of 2: "
                         f"{start}..{end} are {size}; take triton.next_power_of_2({size}) and a "
                         f"mask (offsets < {size})")
    checked_shape(size, "arange")
    made = Block(machine().arange(size), int32, (size,))
    return made + start if start else made


def full(shape: Any, value: Any, dtype: Any) -> Block:
    """A block of one value."""
    made = blocks.cast(block(value), types.of(dtype))
    if made.shape:
        raise ValueError("full expects a number, got a block of shape "
                         f"{list(made.shape)}")
    return blocks.broadcast_to(made, checked_shape(shape, "full"))


def zeros(shape: Any, dtype: Any) -> Block:
    """A block of zeros."""
    return full(shape, 0, dtype)


def zeros_like(input: Block) -> Block:
    """Zeros of the shape and type of a block."""
    return full(input.shape, 0, input.type) if input.shape else blocks.cast(block(0), input.type)


def where(condition: Any, x: Any, y: Any) -> Block:
    """Elements of x where the condition holds, else of y. Both are computed."""
    if not isinstance(condition, Block):
        condition = block(bool(condition))
    x, y = (v if isinstance(v, Block) or isinstance(w, Block) else block(v)
            for v, w in ((x, y), (y, x)))
    return blocks.where(condition, x, y)


def maximum(x: Any, y: Any, propagate_nan: Any = False) -> Block:
    """The larger of two numbers; of a NaN and a number the number, unless told otherwise."""
    return _extreme("maximum", "gt", x, y, propagate_nan)


def minimum(x: Any, y: Any, propagate_nan: Any = False) -> Block:
    """The smaller of two numbers; of a NaN and a number the number, unless told otherwise."""
    return _extreme("minimum", "lt", x, y, propagate_nan)


class PropagateNan:
    """What a NaN does in maximum and minimum."""

    NONE, ALL = False, True


def _extreme(op: str, better: str, x: Any, y: Any, propagate_nan: Any) -> Block:
    a, b = blocks.met(op, x if isinstance(x, Block) else block(x) if not isinstance(y, Block)
                      else x, y)
    if propagate_nan or not a.type.is_floating():
        return blocks.binary(op, a, b)
    return blocks.where(blocks.binary(better, a, b) | blocks.binary("ne", b, b), a, b)


def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = False) -> Block:
    """Numbers held between two bounds."""
    return minimum(maximum(x, min, propagate_nan), max, propagate_nan)


def cdiv(x: Any, div: Any) -> Any:
    """x / div, rounded up."""
    return (x + div - 1) // div


def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: bool = False) -> Block:
    """Numbers of another type; `bitcast`: the same bits read as another type."""
    kind = dtype if isinstance(dtype, pointer_type) else types.of(dtype)
    return blocks.cast(block(input), kind, bitcast)


def expand_dims(input: Block, axis: Any) -> Block:
    """New dimensions of size 1."""
    rank = len(input.shape) + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    axes = [axis] if isinstance(axis, int) else sorted(blocks.axis_of(a, rank) for a in axis)
    for one in axes:
        input = blocks.expand_dims(input, one)
    return input


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return checked_shape(tuple(given), "shape")


def broadcast_to(input: Any, *shape: Any) -> Block:
    """Dimensions of size 1 repeated to a shape."""
    return blocks.broadcast_to(block(input), _shape(shape))


def broadcast(input: Any, other: Any) -> tuple[Block, Block]:
    """Two blocks of one shape."""
    a, b = block(input), block(other)
    shape = blocks.common_shape(a, b)
    return blocks.broadcast_to(a, shape), blocks.broadcast_to(b, shape)


def permute(input: Block, *dims: Any) -> Block:
    """Dimensions in another order."""
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return blocks.permute(input, tuple(order))


def trans(input: Block, *dims: Any) -> Block:
    """The last two dimensions exchanged, or dimensions in another order."""
    if dims:
        return permute(input, *dims)
    if len(input.shape) < 2:
        raise ValueError("tl.trans invoked with a 0- or 1-dimensional tensor")
    order = list(builtins.range(len(input.shape)))
    return blocks.permute(input, (*order[:-2], order[-1], order[-2]))


def reshape(input: Block, *shape: Any, can_reorder: bool = False) -> Block:
    """The same elements, in row-major order, under another shape."""
    return blocks.reshape(input, _shape(shape))


view = reshape


def ravel(x: Block, can_reorder: bool = False) -> Block:
    """All elements in one dimension."""
    return blocks.reshape(x, (x.numel,))


def flip(x: Block, dim: int | None = None) -> Block:
    """A dimension (the last one) in reverse order."""
    axis = blocks.axis_of(-1 if dim is None else dim, len(x.shape))
    return Block(machine().flip(x.value, x.shape, axis), x.type, x.shape, x.base)


def join(a: Any, b: Any) -> Block:
    """Two blocks side by side, in a new last dimension of size 2."""
    x, y = broadcast(a, b)
    first = arange(0, 2) == 0
    for _ in x.shape:
        first = expand_dims(first, 0)
    return where(first, expand_dims(x, len(x.shape)), expand_dims(y, len(y.shape)))


def dot(input: Block, other: Block, acc: Any = None, input_precision: Any = None,
        allow_tf32: Any = None, max_num_imprecise_acc: Any = None, out_dtype: Any = float32
        ) -> Block:
    """The matrix product (M, K) @ (K, N), added to `acc` if given; sums are in float32, of
    integers in int32, of float64 in float64.
    """
    if len(input.shape) != 2 or len(other.shape) != 2:
        raise ValueError(f"dot takes blocks of two dimensions, got {list(input.shape)} and "
                         f"{list(other.shape)}")
    if input.shape[1] != other.shape[0]:
        raise ValueError(f"First input shape ({list(input.shape)}) and second input shape "
                         f"{list(other.shape)} are not compatible for matmul (second index of "
                         f"first shape ({input.shape[1]}) must be equal to first index of second "
                         f"shape ({other.shape[0]})")
    if input.type is not other.type:
        raise TypeError("Both operands must be same dtype. "
                        f"Got {input.type} and {other.type}; cast one of them")
    kind = float64 if input.type is float64 else float32 if input.type.is_floating() else int32
    shape = (input.shape[0], other.shape[1])
    start = None if acc is None else blocks.broadcast_to(blocks.cast(block(acc), kind), shape)
    a, b = blocks.cast(input, kind), blocks.cast(other, kind)
    made = machine().dot(a, b, start, shape)
    result = Block(made, kind, shape)
    return result if acc is not None or kind is not float32 else blocks.cast(
        result, types.of(out_dtype))


def gather(src: Block, index: Block, axis: int) -> Block:
    """Elements of a block by their number on an axis."""
    place = blocks.axis_of(axis, len(src.shape))
    if len(index.shape) != len(src.shape) or not index.type.is_int():
        raise ValueError("source and index tensors must have the same rank, the index whole "
                         "numbers")
    return Block(machine().gather(src, index, place), src.type, index.shape)


def logical_and(a: Any, b: Any) -> Block:
    """Whether both hold."""
    return _truth(a) & _truth(b)


def logical_or(a: Any, b: Any) -> Block:
    """Whether one of them holds."""
    return _truth(a) | _truth(b)


def _truth(x: Any) -> Block:
    x = block(x)
    return x if x.type is int1 else blocks.binary("ne", x, 0)


def static_print(*values: Any, sep: str = " ", end: str = "\n", **ignored: Any) -> None:
    """Print while the kernel is compiled."""
    print(*values, sep=sep, end=end)


def static_assert(condition: Any, message: Any = "") -> None:
    """Refuse to compile the kernel unless the condition holds."""
    if not condition:
        raise AssertionError(f"static_assert failed: {message}" if message else
                             "static_assert failed")


def device_print(prefix: Any, *values: Any, hex: bool = False) -> None:
    """Print a text and values while the kernel runs; of blocks, each element with its place."""
    machine().say(prefix, [block(v) for v in values])


def device_assert(condition: Any, message: str = "", mask: Any = None) -> None:
    """Report elements for which the condition does not hold: the launch raises AssertionError."""
    failed = ~_truth(condition)
    machine().require(failed if mask is None else failed & _truth(mask), message)


def _same(x: Any, *values: Any) -> Any:
    """A hint for other machines: gives the block as it is."""
    return x


multiple_of = max_contiguous = max_constancy = _same


def assume(cond: Any) -> None:
    """A hint for other machines."""


def debug_barrier() -> None:
    """A program is one thread here: there is nothing to wait for."""


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """Row-major numbers of a grid in groups of `size_g` rows, column by column."""
    number = i * size_j + j
    in_group = size_g * size_j
    group = number // in_group
    first = group * size_g
    height = minimum(size_i - first, size_g)
    inside = number % in_group
    return first + inside % height, inside // height


class range:  # noqa: N801 - the language's own name
    """The loop `for i in tl.range(start, end, step)`; what hints other machines is ignored."""

    def __new__(cls, arg1: Any, arg2: Any = None, step: Any = 1, **ignored: Any) -> Any:
        start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
        return machine().counted(start, stop, step)


class static_range:  # noqa: N801 - the language's own name
    """A loop that is written out when the kernel is compiled; its bounds are known then."""

    def __new__(cls, *bounds: Any) -> Any:
        if not all(isinstance(b, int) for b in bounds):
            raise TypeError("static_range wants numbers known when the kernel is compiled: "
                            f"{bounds}")
        return builtins.range(*bounds)
