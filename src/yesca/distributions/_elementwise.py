"""Transforms of single elements."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.numeric_limits import limits_of
from ..nn.functional import softplus
from ..types import Number, _Number
from . import constraints
from ._transform import Plain, Stretching, Transform
from .distribution import Distribution
from .utils import broadcast_all, lazy_property


class Increasing(Plain):
    """Bijections of the real line to a part of it, without parameters."""

    domain = constraints.real
    bijective = True
    sign = +1


class ExpTransform(Increasing):
    """y = exp(x).

    >>> exp = torch.distributions.ExpTransform()
    >>> exp.log_abs_det_jacobian(torch.tensor([2.0]), exp(torch.tensor([2.0])))
    tensor([2.])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The logistic function, never 0 or 1."""
    limits = limits_of(x.dtype)
    return ops.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(Increasing):
    """y = 1 / (1 + exp(-x)), never quite 0 or 1.

    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0, 100.0]))
    tensor([0.5000, 1.0000])
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = limits_of(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Increasing):
    """y = log(1 + exp(x)); linear where exp(x) is large.

    >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Increasing):
    """y = tanh(x). The inverse of values that were rounded to -1 or 1 is infinite; a cache avoids
    computing it.

    >>> torch.distributions.TanhTransform()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return log_slope_of_tanh(x)


def log_slope_of_tanh(x: Tensor) -> Tensor:
    """log(1 - tanh(x)²), without the difference, which rounds to 0 for large x."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Plain):
    """y = |x|; the inverse gives the positive one of the two arguments.

    >>> torch.distributions.AbsTransform()(torch.tensor([-2.0, 1.0]))
    tensor([2., 1.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Stretching):
    """y = x ** exponent, for positive x.

    >>> torch.distributions.PowerTransform(2.0)(torch.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | Number, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.exponent,)

    _stretching = _arguments

    @lazy_property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


def _same(a: Any, b: Any) -> bool:
    """Whether parameters are equal, numbers or tensors."""
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


class AffineTransform(Stretching):
    """y = loc + scale * x. `event_dim`: how many of the last dimensions make one block.

    >>> double = torch.distributions.AffineTransform(1.0, 2.0)
    >>> double(torch.tensor([3.0])), double.inv(torch.tensor([7.0]))
    (tensor([7.]), tensor([3.]))
    """

    bijective = True

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number, event_dim: int = 0,
                 cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _arguments(self) -> tuple[Any, ...]:
        return self.loc, self.scale, self._event_dim

    def _stretching(self) -> tuple[Any, ...]:
        return self.loc, self.scale

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self._event_dim:
            return constraints.real
        return constraints.independent(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, _Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, AffineTransform) and _same(self.loc, other.loc)
                and _same(self.scale, other.scale))

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, _Number):
            change = ops.full_like(x, math.log(abs(self.scale)))
        else:
            change = self.scale.abs().log()
        if not self._event_dim:
            return change.expand(x.shape)
        change = change.reshape((*change.shape[:-self._event_dim], -1)).sum(-1)
        return change.expand(x.shape[:-self._event_dim])


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x): samples of the distribution become uniform numbers.

    >>> to_uniform = torch.distributions.CumulativeDistributionTransform(
    ...     torch.distributions.Normal(0.0, 1.0))
    >>> to_uniform(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    def _arguments(self) -> tuple[Any, ...]:
        return (self.distribution,)

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
