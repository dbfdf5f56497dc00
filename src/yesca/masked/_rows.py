"""Functions of the kept elements that keep the input's shape.

What they give where the mask is False is not defined; it is what follows from the neutral element.
"""

from __future__ import annotations

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import DType
from ._masks import Dims, along, cast, filled, greatest, least, settled
from ._reductions import norm


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None,
            mask: Tensor | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) of the kept elements along `dim`; NaN where none is kept.

    Raises NotImplementedError for integers, booleans and complex numbers.

    >>> x = torch.tensor([[0.0, 5.0, 0.0]])
    >>> torch.masked.softmax(x, 1, mask=torch.tensor([True, False, True]))
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    axis, x = _bounded("amax", input, dim, dtype, mask)
    return ops.softmax(x, axis)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None,
                mask: Tensor | None = None) -> Tensor:
    """The logarithm of `torch.masked.softmax`, with the same arguments.

    >>> x = torch.tensor([[0.0, 5.0, 0.0]])
    >>> torch.masked.log_softmax(x, 1, mask=torch.tensor([True, False, True]))
    tensor([[-0.6931,    -inf, -0.6931]])
    """
    axis, x = _bounded("amax", input, dim, dtype, mask)
    return ops.log_softmax(x, axis)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None,
            mask: Tensor | None = None) -> Tensor:
    """The softmax of the negative: the smallest kept element gets most.

    >>> x = torch.tensor([[1.0, -5.0, 1.0]])
    >>> torch.masked.softmin(x, 1, mask=torch.tensor([True, False, True]))
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    axis, x = _bounded("amin", input, dim, dtype, mask)
    return ops.softmax(ops.neg(x), axis)


def _bounded(name: str, input: Tensor, dim: Dims, dtype: DType | None,
             mask: Tensor | None) -> tuple[int, Tensor]:
    """The axis, and the input with neutral elements of a maximum (or minimum: `name`)."""
    axis, kept, x = along(dim, input.ndim), settled(mask, input), cast(input, dtype)
    if kept is None:
        return axis, x
    return axis, filled(x, kept, (least if name == "amax" else greatest)(name, x.dtype))


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12,
              dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The kept elements over their norm of order `ord` along `dim`, which is at least `eps`.

    Raises RuntimeError for integers and booleans.

    >>> x = torch.tensor([[3.0, 9.0, 4.0]])
    >>> torch.masked.normalize(x, 2, 1, mask=torch.tensor([True, False, True]))
    tensor([[0.6000, 0.0000, 0.8000]])
    """
    kept = settled(mask, input)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=kept)
    return filled(cast(input, dtype), kept, 0) / ops.clamp(length, eps)


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:
    """The sums of the kept elements up to each place along `dim`, in `dtype` or the input's.

    >>> x = torch.tensor([1, 2, 3, 4])
    >>> torch.masked.cumsum(x, 0, mask=torch.tensor([True, False, True, True]))
    tensor([1, 1, 4, 8])
    """
    axis, kept, x = along(dim, input.ndim), settled(mask, input), cast(input, dtype)
    return ops.cumsum(filled(x, kept, 0), axis, dtype=x.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None,
            mask: Tensor | None = None) -> Tensor:
    """The products of the kept elements up to each place along `dim`, in `dtype` or the input's.

    >>> x = torch.tensor([1, 2, 3, 4])
    >>> torch.masked.cumprod(x, 0, mask=torch.tensor([True, False, True, True]))
    tensor([ 1,  1,  3, 12])
    """
    axis, kept, x = along(dim, input.ndim), settled(mask, input), cast(input, dtype)
    return ops.cumprod(filled(x, kept, 1), axis, dtype=x.dtype)


def logaddexp(input: Tensor, other: Tensor, *, dtype: DType | None = None,
              input_mask: Tensor | None = None, other_mask: Tensor | None = None) -> Tensor:
    """log(exp(x) + exp(y)) of the kept elements of both; -inf where neither is kept.

    Each mask belongs to one operand. The result is given in `dtype`, by default that of `input`.
    Raises NotImplementedError for integers and booleans.

    >>> x, y = torch.tensor([0.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 2.0])
    >>> torch.masked.logaddexp(x, y, other_mask=torch.tensor([True, False, False]))
    tensor([0.6931, 0.0000, 0.0000])
    """
    made = ops.logaddexp(*(
        x if mask is None else filled(x, settled(mask, x), least("logaddexp", x.dtype))
        for x, mask in ((input, input_mask), (other, other_mask))))
    return made.to(input.dtype if dtype is None else dtype)
