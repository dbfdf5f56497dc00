"""Cauchy distributions."""

from __future__ import annotations

import math

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..types import Number
from ._families import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Cauchy distributions of median `loc` and half width `scale`: quotients of normal numbers,
    without mean or variance.

    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7500])
    """

    _standard_entropy = math.log(4 * math.pi)
    _parameters = ("loc", "scale")

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    mean = property(lambda self: self._full(math.nan))
    variance = property(lambda self: self._full(math.inf))

    def _noise(self, shape: Size) -> Tensor:
        return ops.empty(shape, dtype=self.loc.dtype, device=self.loc.device).cauchy_()

    def _log_density(self, z: Tensor) -> Tensor:
        return -math.log(math.pi) - (z**2).log1p()

    def _distribution_function(self, z: Tensor) -> Tensor:
        return z.atan() / math.pi + 0.5

    def _quantile(self, chance: Tensor) -> Tensor:
        return ops.tan(math.pi * (chance - 0.5))


__getattr__ = absent.names_of(__name__)
