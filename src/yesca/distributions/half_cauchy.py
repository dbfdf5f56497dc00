"""Half-Cauchy distributions."""

from __future__ import annotations

import math

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..types import Number
from ._folded import Folded
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """Absolute values of Cauchy numbers around 0 of half width `scale`.

    >>> torch.distributions.HalfCauchy(1.0).icdf(torch.tensor(0.75))
    tensor(2.4142)
    """

    _parameters: tuple[str, ...] = ()

    def __init__(self, scale: Tensor | Number, validate_args: bool | None = None) -> None:
        self._fold(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: ops.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


__getattr__ = absent.names_of(__name__)
