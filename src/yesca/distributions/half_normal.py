"""Half-normal distributions."""

from __future__ import annotations

import math

from ..base import absent
from ._folded import Folded
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """Absolute values of normal numbers of mean 0 and standard deviation `scale`.

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _of = Normal

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


__getattr__ = absent.names_of(__name__)
