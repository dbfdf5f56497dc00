"""Uniform distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..types import Number
from . import constraints
from .distribution import Distribution
from .utils import _uniform

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers of [low, high), all equally likely.

    >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0))
    tensor(-1.3863)
    """

    has_rsample = True
    _parameters = ("low", "high")

    def __init__(self, low: Tensor | Number, high: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    _width = property(lambda self: self.high - self.low)
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: self._width / math.sqrt(12))
    variance = property(lambda self: self._width.pow(2) / 12)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.low + _uniform(self._extended_shape(sample_shape), self.low) * self._width

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        inside = (self.low <= value) & (value < self.high)
        return inside.type_as(self.low).log() - self._width.log()

    def cdf(self, value: Tensor) -> Tensor:
        return ((self._checked(value) - self.low) / self._width).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * self._width + self.low

    def entropy(self) -> Tensor:
        return self._width.log()


__getattr__ = absent.names_of(__name__)
