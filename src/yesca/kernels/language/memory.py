"""Loads, stores and atomic operations."""

from __future__ import annotations

from typing import Any

from .. import blocks, types
from ..blocks import Block, block, machine
from .windows import BlockPointer, padded


def _pointers(what: str, pointer: Any) -> Block:
    if not isinstance(pointer, Block) or not pointer.type.is_ptr():
        got = pointer.type if isinstance(pointer, Block) else type(pointer).__name__
        raise ValueError(f"Unsupported ptr type {got} in `tl.{what}`; add offsets to a parameter "
                         "that a tensor was passed for")
    return pointer


def _masked(what: str, pointer: Block, mask: Any, *values: Any) -> tuple[Any, ...]:
    """Pointers, mask (or None) and values of one shape."""
    parts = [None if v is None else block(v) for v in (mask, *values)]
    if parts[0] is not None and parts[0].type is not types.int1:
        parts[0] = blocks.binary("ne", parts[0], 0)
    for part, name in zip(parts, ("Mask", "Value", "Value"), strict=False):
        if part is not None and part.shape and not pointer.shape:
            raise ValueError(f"{name} argument cannot be block type if pointer argument is not a "
                             f"block (in `tl.{what}`); add tl.arange offsets to the pointer")
    shape = blocks.common_shape(pointer, *(p for p in parts if p is not None))
    return (blocks.broadcast_to(pointer, shape),
            *(None if p is None else blocks.broadcast_to(p, shape) for p in parts))


def load(pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (),
         padding_option: str = "", cache_modifier: str = "", eviction_policy: str = "",
         volatile: bool = False) -> Block:
    """Elements of a tensor at a block of pointers.

    Args:
        mask: where it is false nothing is read, and the element is `other` (0 by default).
        boundary_check: of a block pointer, the dimensions along which to leave out what lies
            outside; padding_option: "zero" or "nan", what stands for it.

    Raises ValueError for what is no pointer. Without a mask the pointers must all lie within
    their tensor; `kernel.interpret[grid](...)` checks it.
    """
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            raise ValueError("`mask` and `other` arguments cannot be specified for loading block "
                             "pointers; boundary_check=(0, 1) leaves out what lies outside")
        padding = padded("load", padding_option, pointer.dtype)
        pointer, mask = pointer.here(boundary_check)
        other = None if mask is None else padding
    elif boundary_check or padding_option:
        raise ValueError("`padding_option` or `boundary_check` argument is not supported for "
                         "loading a tensor of pointers or loading a scalar; give a mask")
    pointer = _pointers("load", pointer)
    kind = pointer.type.element_ty
    if mask is None and other is not None:
        raise ValueError("`other` cannot be provided without `mask`")
    given = None if other is None else blocks.cast(block(other), kind)
    places, mask, given = _masked("load", pointer, mask, given)
    return Block(machine().load(places, mask, given), kind, places.shape)


def store(pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (),
          cache_modifier: str = "", eviction_policy: str = "") -> None:
    """Write a block to a tensor, cast to its type; only where `mask` holds.

    Raises ValueError for what is no pointer.
    """
    if isinstance(pointer, BlockPointer):
        if mask is not None:
            raise ValueError("`mask` and `boundary_check` cannot both be specified for storing "
                             "block pointers; boundary_check=(0, 1) leaves out what lies outside")
        value = pointer.stored(value)
        pointer, mask = pointer.here(boundary_check)
    elif boundary_check:
        raise ValueError("`boundary_check` argument is not supported for storing a tensor of "
                         "pointers or storing a scalar; give a mask")
    pointer = _pointers("store", pointer)
    value = blocks.cast(block(value), pointer.type.element_ty)
    places, mask, value = _masked("store", pointer, mask, value)
    machine().store(places, value, mask)


def _atomic(kind: str, pointer: Any, value: Any, mask: Any, compare: Any = None) -> Block:
    pointer = _pointers(f"atomic_{kind}", pointer)
    element = pointer.type.element_ty
    if element.itemsize < 4:
        raise ValueError(f"atomic_{kind} does not support {element}; keep sums in fp32")
    if kind in ("and", "or", "xor") and element.is_floating():
        raise ValueError(f"atomic_{kind} does not support {element}, only integers")
    values = [blocks.cast(block(v), element) for v in (value, compare) if v is not None]
    places, mask, *values = _masked(f"atomic_{kind}", pointer, mask, *values)
    return Block(machine().atomic(kind, places, values, mask), element, places.shape)


def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
               ) -> Block:
    """Add to memory, element by element, and give what was there.

    A kernel with atomic operations runs its programs one after the other in the grid's order, so
    that sums have the same bits every time.
    """
    return _atomic("add", pointer, val, mask)


def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
               ) -> Block:
    """Keep the larger number in memory; gives what was there."""
    return _atomic("max", pointer, val, mask)


def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
               ) -> Block:
    """Keep the smaller number in memory; gives what was there."""
    return _atomic("min", pointer, val, mask)


def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
               ) -> Block:
    """Bitwise and with memory; gives what was there."""
    return _atomic("and", pointer, val, mask)


def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
              ) -> Block:
    """Bitwise or with memory; gives what was there."""
    return _atomic("or", pointer, val, mask)


def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
               ) -> Block:
    """Bitwise exclusive or with memory; gives what was there."""
    return _atomic("xor", pointer, val, mask)


def atomic_xchg(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
                ) -> Block:
    """Put a number into memory; gives what was there."""
    return _atomic("xchg", pointer, val, mask)


def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Block:
    """Put a number into memory where `cmp` stands; gives what was there."""
    return _atomic("cas", pointer, val, None, cmp)
