"""Gamma distributions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functional as ops
from .. import special
from .._tensor import Tensor
from ..base import absent
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..types import Number
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma distributions with densities in proportion to x**(concentration - 1) exp(-rate x).

    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = {
        "concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters: tuple[str, ...] = ("concentration", "rate")

    def __init__(self, concentration: Tensor | Number, rate: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = ops._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        drawn.detach().clamp_(min=limits_of(drawn.dtype).tiny)  # gradients are those of the number
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(
            ops.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        a = self.concentration
        return (ops.xlogy(a, self.rate) + ops.xlogy(a - 1, value) - self.rate * value
                - ops.lgamma(a))

    def cdf(self, value: Tensor) -> Tensor:
        return special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return ops.lgamma(x + 1) - (x + 1) * ops.log(-y)


__getattr__ = absent.names_of(__name__)
