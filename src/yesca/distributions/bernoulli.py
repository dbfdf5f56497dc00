"""Bernoulli distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.spec import Size
from ..types import Number
from . import constraints
from ._families import BinaryChances, counted
from .exp_family import ExponentialFamily
from .utils import _cross_entropy, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(BinaryChances, ExponentialFamily):
    """1 with the chance `probs` (or the logits of it), else 0.

    Raises ValueError unless exactly one of both is given.

    >>> torch.distributions.Bernoulli(probs=torch.tensor([0.25, 0.5])).variance
    tensor([0.1875, 0.2500])
    """

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parameters = ("probs", "logits")

    def __init__(self, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        self._take_chances(validate_args, probs, logits)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return -_cross_entropy(*broadcast_all(self.logits, value))

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counted(self, 2, self._param.dtype, self._param.device, expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (ops.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp().log1p()


__getattr__ = absent.names_of(__name__)
