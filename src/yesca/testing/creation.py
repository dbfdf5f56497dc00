"""`make_tensor`: a tensor of random values between bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.frames import warn
from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import (
    BOOL, SMALL_FLOATS, DType, complex64, float4_e2m1fn_x2, float8_e8m0fnu, float32, float64,
)
from ..core.numeric_limits import finfo, iinfo


def make_tensor(*shape: Any, dtype: DType, device: Any, low: float | None = None,
                high: float | None = None, requires_grad: bool = False,
                noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None
                ) -> Tensor:
    """A tensor of values drawn evenly from `[low, high)`.

    Args:
        shape: sizes, or one sequence of them.
        low, high: bounds; by default -9 and 9 (floating and complex), -9 and 10 (signed
            integers), 0 and 10 (unsigned ones), 0 and 2 (bool). What the dtype cannot hold is
            cut off.
        noncontiguous: give every second element of a larger tensor.
        exclude_zero: put the smallest positive number (1 for integers) in the place of zeros.
        memory_format: the order of dimensions in memory.

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.testing.make_tensor(5, dtype=torch.int64, device="cpu")
    tensor([ 6, -5, -9, -9,  2])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually "
                         f"exclusive, but got noncontiguous={noncontiguous} and "
                         f"memory_format={memory_format}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError("`requires_grad=True` is not supported for boolean and integral dtypes, "
                         f"but got dtype={dtype}")
    spread = noncontiguous and math.prod(sizes) > 1
    drawn = (*sizes[:-1], 2 * sizes[-1]) if spread else sizes
    if dtype is float4_e2m1fn_x2 or dtype is float8_e8m0fnu:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by "
                        "torch.testing.make_tensor().")
    if dtype.is_floating_point or dtype.is_complex:
        made = _floating(drawn, dtype, device, low, high)
    else:
        made = _whole(drawn, dtype, device, low, high)
    if spread:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        floating = dtype.is_floating_point or dtype.is_complex
        made[made == 0] = finfo(dtype).tiny if floating else 1
    return made.requires_grad_(requires_grad)


def _floating(shape: tuple[int, ...], dtype: DType, device: Any, low: Any, high: Any) -> Any:
    real = dtype
    if dtype.is_complex:
        real = float32 if dtype is complex64 else float64
    limits = finfo(real)
    low, high = _bounds(dtype, low, high, (-9, 9), (limits.min, limits.max), limits.max)
    if low == high:
        warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex "
             "types is deprecated since 2.1 and will be removed in 2.3. Use "
             "`torch.full(...)` instead.", FutureWarning)
    small = dtype in SMALL_FLOATS  # nothing is drawn in these
    made = ops.empty(shape, dtype=float32 if small else dtype, device=device)
    drawn = ops.view_as_real(made) if dtype.is_complex else made
    if low == high:
        drawn.fill_(low)
    elif high - low > limits.max:  # wider than a draw can be
        drawn.uniform_(low / 2, high / 2).mul_(2)
    else:
        drawn.uniform_(low, high)
    return made.to(dtype) if small else made


def _whole(shape: tuple[int, ...], dtype: DType, device: Any, low: Any, high: Any) -> Any:
    if dtype.category == BOOL:
        usual, least, most = (0, 2), 0, 2
    else:
        limits = iinfo(dtype)
        least, most = limits.min, limits.max + (limits.bits < 63)
        usual = (-9, 10) if least < 0 else (0, 10)
    low, high = _bounds(dtype, low, high, usual, (least, most), most - 1)
    if low == high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    return ops.randint(math.ceil(low), math.ceil(high), shape, dtype=dtype, device=device)


def _bounds(dtype: DType, low: Any, high: Any, usual: tuple[float, float],
            supported: tuple[float, float], greatest: float) -> tuple[float, float]:
    """The bounds, or the usual ones, cut to what the dtype holds; `greatest`: the last number."""
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    least, most = supported
    infinite = math.inf in (low, -high)
    if not infinite and (low > greatest or high < least):
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), "
                         f"but {dtype} only supports [{least}, {most})")
    return min(max(low, least), most), max(min(high, most), least)


__all__ = ["make_tensor"]
