"""Negative binomial distributions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.spec import Size
from ..nn.functional import logsigmoid
from ..types import Number
from . import constraints
from ._families import Counts
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Counts):
    """How many trials succeed, with the chance `probs` each, before `total_count` have failed.

    `total_count` may be any number that is not negative. Raises ValueError unless exactly one of
    `probs` and `logits` is given.

    >>> torch.distributions.NegativeBinomial(3.0, torch.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = ("total_count", "probs", "logits")

    def __init__(self, total_count: Tensor | Number, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        self._take_counts(validate_args, total_count, probs, logits)

    mean = property(lambda self: self.total_count * self.logits.exp())
    variance = property(lambda self: self.mean / ops.sigmoid(-self.logits))

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @lazy_property
    def _gamma(self) -> Gamma:
        """The rates of the Poisson distributions that this one mixes."""
        return Gamma(self.total_count, ops.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return ops.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, n = self._checked(value), self.total_count
        ways = ops.lgamma(n + value) - ops.lgamma(1.0 + value) - ops.lgamma(n)
        ways = ways.masked_fill(n + value == 0.0, 0.0)  # no trial at all: one way
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways


__getattr__ = absent.names_of(__name__)
