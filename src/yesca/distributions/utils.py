"""What distributions share: parameters that broadcast, chances and their logits, triangles.

>>> probs = torch.tensor([0.5, 0.75])
>>> torch.distributions.utils.probs_to_logits(probs, is_binary=True)
tensor([0.0000, 1.0986])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import enable_grad
from ..base import absent
from ..core.dtypes import DType, get_default_dtype
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..nn import functional as F
from ..overrides import is_tensor_like
from ..types import Number, _Number

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]

#: The constant of Euler and Mascheroni: minus the derivative of the gamma function at 1.
euler_constant = 0.57721566490153286060


def broadcast_all(*values: Tensor | Number) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape.

    Numbers take the dtype and the device of the first tensor (without one: the default dtype).
    Raises ValueError for anything else.

    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    first = next((v for v in values if isinstance(v, Tensor)), None)
    own = {"dtype": get_default_dtype()} if first is None else {
        "dtype": first.dtype, "device": first.device}
    return ops.broadcast_tensors(*[
        v if isinstance(v, Tensor) else _as_parameter(v, own) for v in values])


def _as_parameter(value: Any, options: dict[str, Any]) -> Any:
    if isinstance(value, _Number):
        return ops.tensor(value, **options)
    if not is_tensor_like(value):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects "
                         "implementing __torch_function__.")
    return value


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Chances from logits: of one event each if binary, else of the categories in the last
    dimension, from logarithms of weights."""
    return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Chances kept away from 0 and 1 by the spacing of floating-point numbers at 1."""
    eps = limits_of(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits from chances: log(p / (1 - p)) if binary, else log(p). Finite also for 0 and 1."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:
    """A property that is computed at the first use, and from then on an attribute.

    >>> class Square:
    ...     def __init__(self, side): self.side = side
    ...     @torch.distributions.utils.lazy_property
    ...     def area(self): return self.side**2
    >>> square = Square(3)
    >>> square.area, vars(square)
    (9, {'side': 3, 'area': 9})
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():  # the first use may be under no_grad, a later one not
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _triangle(n: int, diag: int, like: Tensor) -> Tensor:
    """Which elements of an n x n matrix are on or below a diagonal."""
    return ops.ones(n, n, dtype=ops.tensor(True).dtype, device=like.device).tril(diag)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row: (..., n, n) gives (..., count).

    Raises ValueError where there is no such diagonal.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A matrix with these elements on and below a diagonal, row by row, else zeros.

    The inverse of `tril_matrix_to_vec`. Raises ValueError where no square matrix has as many.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1, 3, 4]))
    tensor([[1, 0],
            [3, 4]])
    """
    count, n = vec.shape[-1], 0
    while _elements_below(n, diag) < count:
        n += 1
    if _elements_below(n, diag) != count:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as "
                         "the lower triangular part of a square D x D matrix.")
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., _triangle(n, diag, vec)] = vec
    return matrix


def _elements_below(n: int, diag: int) -> int:
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))


def _standard_normal(shape: Iterable[int], dtype: DType, device: Any) -> Tensor:
    return ops.randn(tuple(shape), dtype=dtype, device=device)


def _uniform(shape: Iterable[int], like: Tensor) -> Tensor:
    """Numbers of [0, 1) with the dtype of a parameter."""
    return ops.rand(tuple(shape), dtype=like.dtype, device=like.device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value.sum(tuple(range(-dim, 0))) if dim else value


def _shape_of(value: Any) -> Size:
    """The shape of a tensor; that of a number is empty."""
    return value.shape if isinstance(value, Tensor) else Size()


def _cross_entropy(logits: Tensor, chance: Tensor) -> Tensor:
    """-E[log p] of a binary variable whose chance is `chance`, p given by logits."""
    return F.binary_cross_entropy_with_logits(logits, chance, reduction="none")


__getattr__ = absent.names_of(__name__)
