"""Laplace distributions."""

from __future__ import annotations

import math

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..types import Number
from ._families import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Laplace distributions: densities that fall off as exp(-|x - loc| / scale).

    >>> torch.distributions.Laplace(0.0, 1.0).cdf(torch.tensor([-1.0, 0.0]))
    tensor([0.1839, 0.5000])
    """

    _standard_entropy = 1 + math.log(2)
    _parameters = ("loc", "scale")

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    stddev = property(lambda self: math.sqrt(2) * self.scale)
    variance = property(lambda self: 2 * self.scale.pow(2))

    def _noise(self, shape: Size) -> Tensor:
        u = ops.empty(shape, dtype=self.loc.dtype, device=self.loc.device)
        u.uniform_(limits_of(u.dtype).eps - 1, 1)
        return -u.sign() * ops.log1p(-u.abs())

    def _log_density(self, z: Tensor) -> Tensor:
        return -z.abs() - math.log(2)

    def _distribution_function(self, z: Tensor) -> Tensor:
        return 0.5 - 0.5 * z.sign() * ops.expm1(-z.abs())

    def _quantile(self, chance: Tensor) -> Tensor:
        away = chance - 0.5
        return -away.sign() * ops.log1p(-2 * away.abs())


__getattr__ = absent.names_of(__name__)
