"""Averages and spreads of the elements that a mask keeps."""

from __future__ import annotations

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import DType, bool_, get_default_dtype, uint8
from ..operators.kinds import compute_dtype
from ._masks import Dims, along, cast, count, filled, greatest, inexact, over, settled


def mean(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False,
         dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The mean of the kept elements along `dim` (an int, several, or all); NaN where none is.

    Raises ValueError unless the result's dtype (`dtype`, else the input's) is floating point or
    complex.

    >>> x = torch.tensor([[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]])
    >>> mask = torch.tensor([[True, False, True], [False, False, False]])
    >>> torch.masked.mean(x, 1, mask=mask)
    tensor([-2., nan])
    """
    result, which = (input.dtype, "Input") if dtype is None else (dtype, "Optional")
    if not inexact(result):
        raise ValueError(f"mean(): Could not infer output dtype. {which} dtype must be either a "
                         f"floating point or complex dtype. Got: {result}")
    dims, kept = over(dim, input.ndim), settled(mask, input)
    x = filled(cast(input, dtype), kept, 0)
    total = ops.sum(x, dims, bool(keepdim), dtype=compute_dtype(result))
    return (total / count(input, kept, dims, bool(keepdim))).to(result)


def median(input: Tensor, dim: Dims = -1, *, keepdim: bool = False,
           dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The median of the kept elements along `dim`, the lower one of two; NaN where none is kept.

    NaN does not count. Integers and booleans have no NaN: with a mask that keeps nothing of some
    slice they are refused with ValueError.

    >>> x = torch.tensor([[1.0, 9.0, 3.0, 5.0]])
    >>> torch.masked.median(x, 1, mask=torch.tensor([True, False, True, True]))
    tensor([3.])
    """
    axis, kept, x = along(dim, input.ndim), settled(mask, input), cast(input, dtype)
    if x.dtype.is_floating_point:
        return ops.nanmedian(filled(x, kept, float("nan")), axis, keepdim)[0]
    if kept is None:
        return ops.median(x, axis, keepdim)[0]
    return _median_of_integers(x, kept, axis, keepdim)


def _median_of_integers(x: Tensor, kept: Tensor, axis: int, keepdim: bool) -> Tensor:
    """Sorted with the kept elements first, the median is in the middle of as many as are kept."""
    numbers = ops.sum(kept, axis, True)
    if not (numbers > 0).all():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point")
    whole = x.to(uint8) if x.dtype is bool_ else x
    in_order = ops.sort(filled(whole, kept, greatest("median", whole.dtype)), axis)[0]
    found = ops.gather(in_order, axis, (numbers - 1) // 2).to(x.dtype)
    return found if keepdim else ops.squeeze(found, axis)


def var(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
        correction: float | None = None, keepdim: bool | None = False,
        dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The variance of the kept elements along `dim` (an int, several, or all).

    The sum of squared deviations is divided by the number of kept elements less `correction`
    (default 1; `unbiased=False` means 0), but not less than 0: NaN where nothing is kept.
    Integers give the default dtype, complex numbers a complex result.

    Raises AssertionError if both `unbiased` and `correction` are given.

    >>> x = torch.tensor([[1.0, 3.0, 100.0]])
    >>> torch.masked.var(x, 1, mask=torch.tensor([True, True, False]))
    tensor([2.])
    """
    result, made = _variance(input, dim, unbiased, correction, keepdim, dtype, mask)
    return made.to(result)


def std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
        correction: float | None = None, keepdim: bool | None = False,
        dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The standard deviation: the square root of `torch.masked.var`, with the same arguments.

    >>> x = torch.tensor([[1.0, 3.0, 100.0]])
    >>> torch.masked.std(x, 1, unbiased=False, mask=torch.tensor([True, True, False]))
    tensor([1.])
    """
    result, made = _variance(input, dim, unbiased, correction, keepdim, dtype, mask)
    return ops.sqrt(made).to(result)


def _variance(input: Tensor, dim: Dims, unbiased: bool | None, correction: float | None,
              keepdim: bool | None, dtype: DType | None,
              mask: Tensor | None) -> tuple[DType, Tensor]:
    """The dtype of the result, and the variance before it is rounded to it."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    dims, kept, x = over(dim, input.ndim), settled(mask, input), cast(input, dtype)
    result = x.dtype if inexact(x.dtype) else get_default_dtype()
    x = x.to(compute_dtype(result))
    numbers = count(x, kept, dims, True)
    center = ops.sum(filled(x, kept, 0), dims, True) / numbers
    apart = filled(x - center, kept, 0)
    total = ops.sum(apart * apart.conj(), dims, bool(keepdim))
    if kept is None:
        return result, total / max(numbers - correction, 0)
    numbers = count(x, kept, dims, bool(keepdim)).to(x.dtype.to_real())
    return result, total / ops.clamp(numbers - correction, 0)
