"""Continuous Bernoulli distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..types import Number
from . import constraints
from ._families import BinaryChances
from .exp_family import ExponentialFamily
from .utils import _cross_entropy, _uniform, broadcast_all, clamp_probs, lazy_property

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryChances, ExponentialFamily):
    """Numbers of [0, 1] with densities in proportion to probs**x (1 - probs)**(1 - x).

    Formulas divide by 1 - 2 * probs; between the two limits `lims` around 1/2 series stand for
    them. Raises ValueError unless exactly one of `probs` and `logits` is given.

    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.1, 0.5])).mean
    tensor([0.3301, 0.5000])
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("probs", "logits")
    _kept = ("_lims",)

    def __init__(self, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        self._lims = lims
        if probs is not None and logits is None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not constraints.unit_interval.check(probs).all():
                raise ValueError("The parameter probs has invalid values")
            probs = clamp_probs(probs)
        self._take_chances(validate_args, probs, logits)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(ops.sigmoid(self.logits))

    def _by_formula(self, at: Tensor, limits: tuple[float, float], formula: Any,
                    series: Any) -> Tensor:
        """A formula outside the limits, a series between them. The formula gets values outside
        only, so that gradients stay finite."""
        outside = (at <= limits[0]) | (at > limits[1])
        return ops.where(outside, formula(ops.where(outside, at, limits[0])), series)

    def _of_probs(self, formula: Any, series: Any) -> Tensor:
        return self._by_formula(self.probs, self._lims, formula, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what makes the density integrate to 1."""
        square = (self.probs - 0.5) ** 2
        return self._of_probs(
            lambda p: _log_odds(p).abs().log() - (1 - 2 * p).abs().log(),
            math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square)

    @property
    def mean(self) -> Tensor:
        x = self.probs - 0.5
        return self._of_probs(lambda p: p / (2.0 * p - 1.0) - 1.0 / _log_odds(p),
                              0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        square = (self.probs - 0.5) ** 2
        return self._of_probs(
            lambda p: p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + _log_odds(p) ** -2,
            1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - _cross_entropy(logits, value)

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        inside = self._of_probs(
            lambda p: (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0), value)
        return ops.where(value <= 0.0, 0.0, ops.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        return self._of_probs(
            lambda p: (ops.log1p(-p + value * (2.0 * p - 1.0)) - ops.log1p(-p)) / _log_odds(p),
            value)

    def entropy(self) -> Tensor:
        failure = ops.log1p(-self.probs)
        return self.mean * (failure - self.probs.log()) - self._cont_bern_log_norm() - failure

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return self._by_formula(
            x, (self._lims[0] - 0.5, self._lims[1] - 0.5),
            lambda n: n.expm1().abs().log() - n.abs().log(), 0.5 * x + x**2 / 24.0 - x**4 / 2880.0)


def _log_odds(p: Tensor) -> Tensor:
    return p.log() - ops.log1p(-p)


__getattr__ = absent.names_of(__name__)
