"""Gumbel distributions."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.numeric_limits import limits_of
from ..types import Number
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """loc - scale * log(-log(u)) for uniform u: distributions of the largest of many numbers.

    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    _parameters = ("loc", "scale")

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = limits_of(self.loc.dtype)
        low, high = (ops.full_like(self.loc, end) for end in (limits.tiny, 1 - limits.eps))
        log = ExpTransform().inv
        negative = AffineTransform(loc=0, scale=-ops.ones_like(self.scale))
        super().__init__(Uniform(low, high, validate_args=validate_args),
                         [log, negative, log, AffineTransform(loc=loc, scale=-self.scale)],
                         validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - self._checked(value)) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


__getattr__ = absent.names_of(__name__)
