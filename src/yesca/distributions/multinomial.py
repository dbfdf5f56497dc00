"""Multinomial distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from . import constraints
from ._families import OverCategorical
from .binomial import Binomial
from .categorical import Categorical
from .utils import broadcast_all, lazy_property

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """How often each of n categories comes in `total_count` draws; chances as in `Categorical`.

    Raises NotImplementedError if `total_count` is not an int.

    >>> torch.distributions.Multinomial(8, torch.tensor([0.25, 0.75])).mean
    tensor([2., 6.])
    """

    total_count: int
    _parameters: tuple[str, ...] = ()
    _kept = ("total_count",)

    def __init__(self, total_count: int = 1, probs: Tensor | None = None,
                 logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._over(Categorical(probs, logits), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @lazy_property
    def _binomial(self) -> Binomial:
        """The distributions of the single counts."""
        return Binomial(self.total_count, self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = Size(sample_shape)
        draws = self._categorical.sample((self.total_count, *shape)).movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(shape))
        return counts.scatter_add(-1, draws, ops.ones_like(draws)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        never = (value == 0) & (logits == -math.inf)  # impossible, and did not happen
        powers = (logits.masked_fill(never, 0) * value).sum(-1)
        return powers + ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = self._binomial.log_prob(counts).exp()
        of_factorials = (chances * ops.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + of_factorials


__getattr__ = absent.names_of(__name__)
