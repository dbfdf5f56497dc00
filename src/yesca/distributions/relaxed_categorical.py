"""Categorical distributions relaxed to points of the simplex (Gumbel-softmax)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from . import constraints
from ._families import OverCategorical, Relaxed
from .categorical import Categorical
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import _uniform, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """The logarithms of what `RelaxedOneHotCategorical` draws: a density that does not underflow.

    >>> relaxed = torch.distributions.relaxed_categorical
    >>> relaxed.ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3)).event_shape
    torch.Size([3])
    """

    support = constraints.real_vector  # of logarithms, whose exponentials have the sum 1
    has_rsample = True
    _parameters: tuple[str, ...] = ()
    _kept = ("temperature",)

    def __init__(self, temperature: Tensor, probs: Tensor | None = None,
                 logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._over(Categorical(probs, logits), validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        u = clamp_probs(_uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        scores = logits - value * self.temperature
        scores = (scores - scores.logsumexp(-1, keepdim=True)).sum(-1)
        return scores + math.lgamma(n) + (n - 1) * self.temperature.log()


class RelaxedOneHotCategorical(Relaxed, TransformedDistribution):
    """Points of the simplex near its corners, the nearer the lower the temperature: softmax of
    logits with Gumbel noise, over the temperature. Chances as in `Categorical`.

    >>> d = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3))
    >>> d.rsample().sum().round(decimals=4)
    tensor(1.)
    """

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _parameters: tuple[str, ...] = ()

    def __init__(self, temperature: Tensor, probs: Tensor | None = None,
                 logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)


__getattr__ = absent.names_of(__name__)
