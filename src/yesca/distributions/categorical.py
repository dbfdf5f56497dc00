"""Categorical distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.dtypes import int64
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from . import constraints
from ._families import Chances, counted
from .distribution import Distribution

__all__ = ["Categorical"]


class Categorical(Chances):
    """The numbers of categories, from 0 on: of weights `probs` (..., n), or of logits.

    Weights are divided by their sum; logits are logarithms of weights. Raises ValueError unless
    exactly one of both is given, of at least one dimension.

    >>> d = torch.distributions.Categorical(torch.tensor([1.0, 1.0, 2.0]))
    >>> d.probs, d.entropy()
    (tensor([0.2500, 0.2500, 0.5000]), tensor(1.0397))
    """

    arg_constraints = {
        "probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False
    _parameters = ("probs", "logits")
    _kept = ("_num_events",)

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        name, value = self._choose(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = value / value.sum(-1, keepdim=True)
        else:
            self.logits = value - value.logsumexp(-1, keepdim=True)
        self._num_events = value.shape[-1]
        Distribution.__init__(self, value.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def _undefined(self) -> Tensor:
        return ops.full(self._extended_shape(), math.nan, dtype=self._param.dtype,
                        device=self._param.device)

    mean = property(_undefined)
    variance = property(_undefined)
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        return ops.multinomial(rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        places = self._checked(value).long().unsqueeze(-1)
        places, logits = ops.broadcast_tensors(places, self.logits)
        return logits.gather(-1, places[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=limits_of(self.logits.dtype).min)  # 0 log 0 is 0
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counted(self, self._num_events, int64, self._param.device, expand)


__getattr__ = absent.names_of(__name__)
