"""Generalised Pareto distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..types import Number
from . import constraints
from .distribution import Distribution
from .utils import _uniform

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over a threshold `loc`: tails heavier (`concentration` > 0) or lighter (< 0, and
    bounded) than the exponential one, which they have at 0.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parameters = ("loc", "scale", "concentration")

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number,
                 concentration: Tensor | Number, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, ops.where(self.concentration < 0, end, math.inf))

    def _by_tail(self, formula: Callable[[Tensor], Tensor], exponential: Tensor) -> Tensor:
        """A formula that divides by the concentration, or its limit at 0."""
        zero = self.concentration.abs() <= 1e-8
        return ops.where(zero, exponential, formula(ops.where(zero, 1.0, self.concentration)))

    def _standardised(self, value: Tensor) -> Tensor:
        return (self._checked(value) - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._standardised(value)

        def heavy(c: Tensor) -> Tensor:
            power = 1 / c + ops.ones_like(z)
            return ops.where(power == 0, power, power * ops.log1p(c * z))  # 0 times infinity is 0

        return -self.scale.log() - self._by_tail(heavy, z)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """log(1 - cdf(value)), exact also where the chance is tiny."""
        z = self._standardised(value)
        return self._by_tail(lambda c: -ops.log1p(c * z) / c, -z)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return ops.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        waited = -ops.log1p(-value)
        return self.loc + self.scale * self._by_tail(lambda c: ops.expm1(c * waited) / c, waited)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(_uniform(self._extended_shape(sample_shape), self.loc))

    def _while_below(self, limit: float, formula: Callable[[Tensor], Tensor]) -> Tensor:
        """A moment of those that have it; NaN for heavier tails."""
        exists = self.concentration < limit
        return ops.where(exists, formula(ops.where(exists, self.concentration, 0.0)), math.nan)

    @property
    def mean(self) -> Tensor:
        return self._while_below(1, lambda c: self.loc + self.scale / (1 - c))

    @property
    def variance(self) -> Tensor:
        return self._while_below(
            0.5, lambda c: self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)))

    mode = property(lambda self: self.loc)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1


__getattr__ = absent.names_of(__name__)
