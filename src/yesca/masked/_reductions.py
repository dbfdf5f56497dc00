"""Folds of the elements that a mask keeps."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import DType, get_default_dtype, uint8
from ._masks import Dims, cast, filled, greatest, inexact, least, over, settled


def sum(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
        dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Add up the kept elements along `dim` (an int, several, or all); 0 where none is kept.

    Integers and booleans give int64 unless `dtype` says otherwise.

    >>> x = torch.tensor([[-3, -2, -1], [0, 1, 2]])
    >>> mask = torch.tensor([[True, False, True], [False, False, False]])
    >>> torch.masked.sum(x, 1, mask=mask)
    tensor([-4,  0])
    """
    dims, kept = over(dim, input.ndim), settled(mask, input)
    return ops.sum(filled(cast(input, dtype), kept, 0), dims, bool(keepdim), dtype=dtype)


def prod(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
         dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Multiply the kept elements along `dim` (an int, several, or all); 1 where none is kept.

    Integers and booleans give int64 unless `dtype` says otherwise.

    >>> x = torch.tensor([[-3, -2, -1], [0, 1, 2]])
    >>> torch.masked.prod(x, 1, mask=torch.tensor([True, False, True]))
    tensor([3, 0])
    """
    dims, kept = over(dim, input.ndim), settled(mask, input)
    made = filled(cast(input, dtype), kept, 1)
    for d in sorted(dims, reverse=True):  # the last first: the numbers of the others stay
        made = ops.prod(made, d, bool(keepdim), dtype=dtype)
    return made


def amax(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
         dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The largest kept element along `dim` (an int, several, or all).

    Where none is kept: -inf, or the least number of an integer dtype. Raises NotImplementedError
    for booleans with a mask and for complex numbers.

    >>> x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> torch.masked.amax(x, 1, mask=x < 4)
    tensor([1., 3.])
    """
    dims, kept, x = over(dim, input.ndim), settled(mask, input), cast(input, dtype)
    neutral = 0 if kept is None else least("amax", x.dtype)
    return ops.amax(filled(x, kept, neutral), dims, bool(keepdim))


def amin(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
         dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The smallest kept element along `dim` (an int, several, or all).

    Where none is kept: inf, or the greatest number of an integer dtype. Raises
    NotImplementedError for booleans with a mask and for complex numbers.

    >>> x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> torch.masked.amin(x, 1, mask=x > 1)
    tensor([5., 2.])
    """
    dims, kept, x = over(dim, input.ndim), settled(mask, input), cast(input, dtype)
    neutral = 0 if kept is None else greatest("amin", x.dtype)
    return ops.amin(filled(x, kept, neutral), dims, bool(keepdim))


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
           dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Where the largest kept element along `dim` is, the first of equals; 0 where none is kept.

    Without `dim`, the position among all elements in a row. The result is given in `dtype`, by
    default the input's own. Raises NotImplementedError for booleans with a mask.

    >>> x = torch.tensor([[-3, -2, -1], [0, 1, 2]])
    >>> torch.masked.argmax(x, 1, mask=torch.tensor([True, True, False]))
    tensor([1, 1])
    """
    return _position("argmax", ops.argmax, least, ops.amax, input, dim, keepdim, dtype, mask)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
           dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Where the smallest kept element along `dim` is, the first of equals; 0 where none is kept.

    Without `dim`, the position among all elements in a row. The result is given in `dtype`, by
    default the input's own. Raises NotImplementedError for booleans with a mask.

    >>> x = torch.tensor([[-3, -2, -1], [0, 1, 2]])
    >>> torch.masked.argmin(x, 1, mask=torch.tensor([False, True, True]))
    tensor([1, 1])
    """
    return _position("argmin", ops.argmin, greatest, ops.amin, input, dim, keepdim, dtype, mask)


def _position(name: str, plain: Any, bound: Any, extreme: Any, input: Tensor, dim: int | None,
              keepdim: bool | None, dtype: DType | None, mask: Tensor | None) -> Tensor:
    """argmax or argmin: `plain` without a mask; with one, where `extreme` is, the masked-out
    elements being at their `bound`."""
    kept = settled(mask, input)
    if kept is None or not input.numel():
        found = plain(input, dim, bool(keepdim))
    else:
        best = extreme(filled(input, kept, bound(name, input.dtype)), over(dim, input.ndim), True)
        found = _first(input, kept, best, dim, keepdim)
    return found.to(input.dtype if dtype is None else dtype)


def _first(input: Tensor, kept: Tensor, best: Tensor, dim: int | None,
           keepdim: bool | None) -> Tensor:
    """The first kept element that is the best one, or NaN.

    Elements that are not kept may equal the neutral one, and so may elements that are: only
    looking for the best value among the kept keeps the two apart.
    """
    hits = ops.logical_and(kept, ops.logical_or(ops.eq(input, best), ops.isnan(input)))
    return ops.argmax(hits.to(uint8), dim, bool(keepdim))


def norm(input: Tensor, ord: float | None = 2.0, dim: Dims = None, *,
         keepdim: bool | None = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:
    """The vector norm of order `ord` of the kept elements along `dim` (an int, several, or all).

    Where none is kept: 0, or inf if `ord` is negative. Complex numbers give real norms; integers
    are refused with RuntimeError, as `torch.linalg.vector_norm` refuses them.

    >>> x = torch.tensor([[3.0, 4.0, 12.0]])
    >>> torch.masked.norm(x, 2, 1, mask=torch.tensor([True, True, False]))
    tensor([5.])
    """
    dims, kept = over(dim, input.ndim), settled(mask, input)
    # Inverse powers of infinity are nothing to add, and nothing is above it.
    negative = isinstance(ord, (int, float)) and ord < 0
    x = filled(input, kept, math.inf if negative else 0)
    return ops.linalg_vector_norm(x, ord, dims, bool(keepdim), dtype=dtype)


def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False,
              dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) of the kept elements along `dim` (an int, several, or all).

    Where none is kept: -inf. The result is given in `dtype`, by default the input's own, also
    for integers (they are computed in the default dtype).

    >>> x = torch.tensor([[0.0, 0.0, 700.0]])
    >>> torch.masked.logsumexp(x, 1, mask=torch.tensor([True, True, False]))
    tensor([0.6931])
    """
    dims, kept, x = over(dim, input.ndim), settled(mask, input), cast(input, dtype)
    terms = x if inexact(x.dtype) else x.to(get_default_dtype())
    return ops.logsumexp(filled(terms, kept, -math.inf), dims, keepdim).to(x.dtype)
