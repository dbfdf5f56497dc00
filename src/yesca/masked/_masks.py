"""What the functions of this package share: masks, neutral elements, dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import DType, bool_
from ..core.numeric_limits import iinfo
from ..core.views import wrap_dims

Dims = int | Sequence[int] | None


def cast(input: Tensor, dtype: DType | None) -> Tensor:
    """The input in the dtype that the caller asked for, if any."""
    return input if dtype is None else input.to(dtype)


def over(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, not negative: all of them for None and for ()."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    # A tensor without dimensions is reduced as if it had one.
    return wrap_dims(dims or range(max(ndim, 1)), ndim)


def along(dim: Dims, ndim: int) -> int:
    """The one dimension of functions that go along an axis; of several, the first."""
    return over(dim, ndim)[0]


def settled(mask: Tensor | None, input: Tensor) -> Tensor | None:
    """The mask as booleans of the input's shape (a view, where it is stretched).

    Raises IndexError for a mask of more dimensions than the input, RuntimeError for sizes that
    do not stretch to the input's.
    """
    if mask is None:
        return None
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality "
                         "higher than of the input)")
    return mask.expand(input.shape).to(bool_)


def filled(input: Tensor, mask: Tensor | None, neutral: Any) -> Tensor:
    """The input, with `neutral` where the mask is False; no gradient flows to those elements."""
    if mask is None:
        return input
    return ops.where(mask, input, neutral).to(input.dtype)  # True and 0 would make integers


def count(input: Tensor, mask: Tensor | None, dims: tuple[int, ...], keepdim: bool) -> Any:
    """How many elements each result is made of: a number without a mask, else a tensor."""
    if mask is None:
        return math.prod(input.shape[d] for d in dims) if input.ndim else 1
    return ops.sum(mask, dims, keepdim)


def inexact(dtype: DType) -> bool:
    """Whether the dtype has infinities and NaN."""
    return dtype.is_floating_point or dtype.is_complex


def least(name: str, dtype: DType) -> float:
    """What no element is below: the neutral element of a maximum (of the function `name`)."""
    return -math.inf if inexact(dtype) else _limits(name, dtype).min


def greatest(name: str, dtype: DType) -> float:
    """What no element is above: the neutral element of a minimum (of the function `name`)."""
    return math.inf if inexact(dtype) else _limits(name, dtype).max


def _limits(name: str, dtype: DType) -> iinfo:
    if dtype is bool_:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return iinfo(dtype)
