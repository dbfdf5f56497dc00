"""Binomial distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.spec import Size
from ..nn.functional import softplus
from ..types import Number
from . import constraints
from ._families import Counts, counted

__all__ = ["Binomial"]


class Binomial(Counts):
    """How many of `total_count` trials succeed with the chance `probs` each.

    Raises ValueError unless exactly one of `probs` and `logits` is given.

    >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor(1.0)).exp()
    tensor(0.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
        "logits": constraints.real}
    has_enumerate_support = True
    _parameters = ("total_count", "probs", "logits")

    def __init__(self, total_count: Tensor | int = 1, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        self._take_counts(validate_args, total_count, probs, logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, n = self._checked(value), self.total_count
        ways = ops.lgamma(n + 1) - ops.lgamma(value + 1) - ops.lgamma(n - value + 1)
        return value * self.logits - n * softplus(self.logits) + ways

    def _same_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Tensor:
        self._same_count("entropy")
        log_chance = self.log_prob(self.enumerate_support(False))
        return -(log_chance.exp() * log_chance).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._same_count("enumerate_support") + 1
        return counted(self, count, self._param.dtype, self._param.device, expand)


__getattr__ = absent.names_of(__name__)
