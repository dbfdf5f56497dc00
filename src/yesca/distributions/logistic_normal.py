"""Logistic-normal distributions."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from ..base import absent
from ..types import Number
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """n + 1 shares of the sum 1, made by breaking a stick at n places that independent normal
    numbers say (`StickBreakingTransform`).

    >>> d = torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3))
    >>> d.event_shape, d.sample().sum(-1).round(decimals=4)
    (torch.Size([4]), tensor(1.))
    """

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.simplex
    has_rsample = True
    _parameters: tuple[str, ...] = ()

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc, doc="The means of the numbers.")
    scale = property(lambda self: self.base_dist.base_dist.scale, doc="Their deviations.")


__getattr__ = absent.names_of(__name__)
