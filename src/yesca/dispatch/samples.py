"""Batches of samples by machine code (`runtime/native/faststack.py`), where it can make them."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ..core.spec import Spec, spec
from ..runtime import builtins, units
from . import fast


def _batch_spec(one: Spec, count: int) -> Spec:
    """That of `count` samples; for a negative number, of -1 - count rows of such a tensor."""
    sizes = (count, *one.shape) if count >= 0 else (-1 - count, *one.shape[1:])
    return spec(one.dtype, sizes)


@cache
def _native(name: str) -> Any:
    """A function of machine code, or one that always leaves it to plans."""
    if fast.FAST is None:
        return lambda *_: None
    from ..runtime.native import faststack

    ctypes.c_int64.from_address(units.address(faststack.finder)).value = id(_batch_spec)
    ctypes.memmove(units.address(faststack.pair_format), b"OL\0", 3)
    return builtins.builtin(getattr(faststack, name), name)


def stacked(tensors: Any) -> Any:
    """`stack(tensors)` of a list or tuple of tensors of one spec off the tape; else None."""
    return _native("stacked")(tensors)


def joined(tensors: Any) -> Any:
    """`cat(tensors)` of a list or tuple of tensors of one dtype off the tape; else None."""
    return _native("joined")(tensors)


def rows(tensor: Any, numbers: list[int]) -> Any:
    """`tensor[numbers]`, the rows at plain ints, of a contiguous tensor off the tape; else None."""
    return _native("rows")(tensor, numbers)
