"""Half-normal distributions."""

from __future__ import annotations

import math

from .._tensor import Tensor
from ..base import absent
from ..types import Number
from ._folded import Folded
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """Absolute values of normal numbers of mean 0 and standard deviation `scale`.

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _parameters: tuple[str, ...] = ()

    def __init__(self, scale: Tensor | Number, validate_args: bool | None = None) -> None:
        self._fold(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


__getattr__ = absent.names_of(__name__)
