"""Weibull distributions."""

from __future__ import annotations

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..types import Number
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """scale * e**(1 / concentration) for exponential numbers e: lifetimes.

    >>> torch.distributions.Weibull(1.0, 2.0).mean
    tensor(0.8862)
    """

    arg_constraints: Any = {"scale": constraints.positive, "concentration": constraints.positive}
    support: Any = constraints.positive
    _parameters = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale: Tensor | Number, concentration: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ops.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, [PowerTransform(self.concentration_reciprocal),
                                AffineTransform(0, self.scale)], validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The mean of the n-th power, for a scale of 1."""
        return ops.lgamma(1 + n * self.concentration_reciprocal).exp()

    mean = property(lambda self: self.scale * self._moment(1))
    variance = property(
        lambda self: self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2)))

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** self.concentration_reciprocal

    def entropy(self) -> Tensor:
        per = self.concentration_reciprocal
        return euler_constant * (1 - per) + (self.scale * per).log() + 1


__getattr__ = absent.names_of(__name__)
