"""Windows onto tensors: block pointers, which are moved, and descriptors, which are asked."""

from __future__ import annotations

from typing import Any

from .. import blocks, types
from ..blocks import Block, block, checked_shape
from .core import arange

_PADDINGS = {"": 0, "zero": 0, "nan": float("nan")}


class Window:
    """A tensor of some shape and strides, of which blocks of one shape are taken."""

    def __init__(self, what: str, base: Any, shape: Any, strides: Any, block_shape: Any) -> None:
        if not isinstance(base, Block) or not base.type.is_ptr() or base.shape:
            raise ValueError(f"[{what}] Expected `base` to be a pointer type (but not a block "
                             "pointer type or others): the parameter that a tensor was passed for")
        self.base = base
        self.block_shape = checked_shape(list(block_shape), what)
        self.shape, self.strides = ([_whole(what, v, types.int64) for v in given]
                                    for given in (shape, strides))
        if not len(self.shape) == len(self.strides) == len(self.block_shape):
            raise ValueError(
                "Expected shape/strides/offsets/block_shape to have the same length, got "
                f"{len(self.shape)}, {len(self.strides)} and {len(self.block_shape)} (in "
                f"`tl.{what}`)")

    @property
    def dtype(self) -> Any:
        return self.base.type.element_ty

    def places(self, offsets: list[Block], checked: Any) -> tuple[Block, Block | None]:
        """Pointers to a block that begins at offsets, and a mask for the dimensions checked."""
        rank = len(self.block_shape)
        pointer, mask = self.base, None
        for axis, count in enumerate(self.block_shape):
            index = blocks.cast(offsets[axis], types.int64) + arange(0, count)
            for _ in range(rank - 1 - axis):
                index = blocks.expand_dims(index, len(index.shape))
            pointer = pointer + index * self.strides[axis]
            if axis in checked:
                held = (index >= 0) & (index < self.shape[axis])
                mask = held if mask is None else mask & held
        return blocks.broadcast_to(pointer, self.block_shape), \
            None if mask is None else blocks.broadcast_to(mask, self.block_shape)

    def stored(self, value: Any) -> Block:
        """A block to be written, of the window's shape."""
        return blocks.broadcast_to(block(value), self.block_shape)


class BlockPointer(Window):
    """What `make_block_ptr` gives: a window at an offset in each dimension."""

    def __init__(self, base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any) -> None:
        super().__init__("make_block_ptr", base, shape, strides, block_shape)
        self.offsets = self.counted("make_block_ptr", offsets)

    def counted(self, what: str, offsets: Any) -> list[Block]:
        """A whole number for each dimension."""
        made = [_whole(what, v, types.int32) for v in offsets]
        if len(made) != len(self.block_shape):
            raise ValueError(f"[{what}] {len(made)} offsets for {len(self.block_shape)} dimensions")
        return made

    def at(self, offsets: list[Block]) -> BlockPointer:
        """The same window at other offsets."""
        made = object.__new__(BlockPointer)
        made.__dict__.update(self.__dict__, offsets=offsets)
        return made

    def follows(self, other: Any) -> bool:
        """Whether only the offsets differ from those of another block pointer."""
        return isinstance(other, BlockPointer) and other.shape is self.shape

    def here(self, boundary_check: Any) -> tuple[Block, Block | None]:
        """Pointers and mask of the block."""
        checked = {blocks.axis_of(axis, len(self.block_shape)) for axis in boundary_check or ()}
        return self.places(self.offsets, checked)


class TensorDescriptor(Window):
    """What `make_tensor_descriptor` gives: blocks at any offsets; what lies outside of the tensor
    reads as padding and is not written."""

    def __init__(self, base: Any, shape: Any, strides: Any, block_shape: Any, padding: str) -> None:
        super().__init__("make_tensor_descriptor", base, shape, strides, block_shape)
        if not 1 <= len(self.shape) <= 5:
            raise ValueError(f"Expected 1 <= ndim <= 5 but got {len(self.shape)} dimensions")
        last = [*strides][-1]
        if isinstance(last, Block) or last != 1:
            raise ValueError(f"Tensor descriptor last dim must be 1 but got {last}")
        self.padding = padding

    def load(self, offsets: Any) -> Block:
        """The block that begins at these offsets."""
        from .memory import load

        places, mask = self._at(offsets)
        return load(places, mask, padded("make_tensor_descriptor", self.padding, self.dtype))

    def store(self, offsets: Any, value: Any) -> None:
        """Write a block that begins at these offsets."""
        from .memory import store

        places, mask = self._at(offsets)
        store(places, self.stored(value), mask)

    def _at(self, offsets: Any) -> tuple[Block, Block | None]:
        given = [_whole("make_tensor_descriptor", v, types.int32) for v in offsets]
        if len(given) != len(self.shape):
            raise ValueError(f"expected {len(self.shape)} offsets, but got {len(given)}")
        return self.places(given, range(len(given)))


def _whole(what: str, value: Any, kind: Any) -> Block:
    made = block(value)
    if made.shape or not made.type.is_int():
        raise ValueError(f"[{what}] wants whole numbers, got {made.type} of shape "
                         f"{list(made.shape)}")
    return blocks.cast(made, kind)


def padded(what: str, option: str, kind: Any) -> Any:
    """The number that stands for elements outside of a tensor."""
    if option not in _PADDINGS:
        raise ValueError(f"Padding option {option} not supported; one of {', '.join(_PADDINGS)}")
    if option == "nan" and kind.is_int():
        raise ValueError(f"Padding option `nan` is not supported for integer block pointers: {kind}"
                         f" (in `tl.{what}`)")
    return _PADDINGS[option]


def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any,
                   order: Any) -> BlockPointer:
    """A pointer to a block of a tensor, for `load`, `store` and `advance`.

    Args:
        base: the pointer to the tensor.
        shape, strides: of the tensor, in elements.
        offsets: where the block begins in each dimension.
        block_shape: powers of two, known when the kernel is compiled.
        order: a hint for other machines.

    `load(pointer, boundary_check=(0, 1))` leaves out what lies outside in these dimensions.
    """
    return BlockPointer(base, shape, strides, offsets, block_shape)


def advance(base: BlockPointer, offsets: Any) -> BlockPointer:
    """A block pointer, moved by so many elements in each dimension."""
    if not isinstance(base, BlockPointer):
        raise ValueError("advance wants what tl.make_block_ptr gave, got "
                         f"{base.type if isinstance(base, Block) else type(base).__name__}")
    by = base.counted("advance", offsets)
    return base.at([a + b for a, b in zip(base.offsets, by, strict=True)])


def make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any,
                           padding_option: str = "zero") -> TensorDescriptor:
    """A tensor of which blocks are taken: `descriptor.load(offsets)`, `.store(offsets, value)`.

    The last stride is 1. Elements outside of the tensor read as 0 (or "nan"), and are not written.
    """
    return TensorDescriptor(base, shape, strides, block_shape, padding_option)


def load_tensor_descriptor(desc: TensorDescriptor, offsets: Any) -> Block:
    """`desc.load(offsets)`."""
    return desc.load(offsets)


def store_tensor_descriptor(desc: TensorDescriptor, offsets: Any, value: Any) -> None:
    """`desc.store(offsets, value)`."""
    desc.store(offsets, value)
