"""Bernoulli distributions relaxed to numbers between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..nn.functional import softplus
from ..types import Number
from . import constraints
from ._families import BinaryChances, Relaxed
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import _uniform, broadcast_all, clamp_probs, probs_to_logits

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryChances):
    """The logits of what `RelaxedBernoulli` draws.

    >>> relaxed = torch.distributions.relaxed_bernoulli
    >>> d = relaxed.LogitRelaxedBernoulli(torch.tensor(1.0), 0.5)
    >>> d.log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    support = constraints.real
    _parameters = ("probs", "logits")
    _kept = ("temperature",)

    def __init__(self, temperature: Tensor, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._take_chances(validate_args, probs, logits)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        noise = probs_to_logits(_uniform(shape, probs), is_binary=True)
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        apart = logits - value * self.temperature
        return self.temperature.log() + apart - 2 * softplus(apart)


class RelaxedBernoulli(Relaxed, TransformedDistribution):
    """Numbers near 0 and 1, the nearer the lower the temperature; chances as in `Bernoulli`.

    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.5, 0.9])).probs
    tensor([0.5000, 0.9000])
    """

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parameters: tuple[str, ...] = ()

    def __init__(self, temperature: Tensor, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


__getattr__ = absent.names_of(__name__)
