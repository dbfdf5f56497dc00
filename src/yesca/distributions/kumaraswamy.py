"""Kumaraswamy distributions."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..types import Number
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers of [0, 1] with the distribution function
    1 - (1 - x**concentration1)**concentration0, which is nearly that of `Beta`.

    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints: Any = {
        "concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample = True
    _parameters = ("concentration1", "concentration0")

    def __init__(self, concentration1: Tensor | Number, concentration0: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        a, b = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = a, b
        base = Uniform(ops.zeros_like(b), ops.ones_like(b), validate_args=validate_args)
        super().__init__(base, [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0),
                                PowerTransform(a.reciprocal())], validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The mean of the n-th power."""
        b, at = self.concentration0, 1 + n / self.concentration1
        return b * (ops.lgamma(at) + ops.lgamma(b) - ops.lgamma(at + b)).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = (-b).log1p() / b - (-a * b).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = ops.digamma(b + 1) + euler_constant
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - a.log() - b.log()


__getattr__ = absent.names_of(__name__)
