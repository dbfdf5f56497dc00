"""Lewandowski, Kurowicka and Joe's distributions of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..types import Number
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors (dim, dim) of correlation matrices, which have densities in proportion to
    their determinant to the power concentration - 1: 1 makes all equally likely.

    Raises ValueError for dim < 2. Drawn by the method of the onion: row by row, a direction and
    the square of a length.

    >>> factor = torch.distributions.LKJCholesky(3, 0.5).sample()
    >>> (factor @ factor.mT).diagonal().round(decimals=4)
    tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky
    _parameters = ("concentration",)
    _inner = ("_beta",)
    _kept = ("dim",)

    def __init__(self, dim: int, concentration: Tensor | Number = 1.0,
                 validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError("Expected dim to be an integer greater than or equal to 2. Found "
                             f"dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        before = ops.arange(-1, dim - 1, dtype=self.concentration.dtype,
                            device=self.concentration.device).clamp(min=0)
        last = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(before + 0.5, last - 0.5 * before)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = ops.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
            lengths = normal.norm(dim=-1, keepdim=True)
            # The first row has no direction: 0 over 0.
            rows = squares.sqrt() * ops.where(lengths > 0, normal / lengths, 0.0)
            rest = (1 - (rows**2).sum(-1)).clamp(min=limits_of(rows.dtype).tiny)
            return rows + ops.diag_embed(rest.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        n = self.dim
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        below = ops.arange(n - 2, -1, -1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + below
        alpha = self.concentration + 0.5 * (n - 1)
        normalizer = (ops.mvlgamma(alpha - 0.5, n - 1) - (n - 1) * ops.lgamma(alpha)
                      + 0.5 * (n - 1) * math.log(math.pi))
        return (powers * diagonal.log()).sum(-1) - normalizer


__getattr__ = absent.names_of(__name__)
