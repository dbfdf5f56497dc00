"""Categorical distributions of vectors with one 1."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..nn.functional import one_hot
from . import constraints
from ._families import OverCategorical
from .categorical import Categorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """Vectors (..., n) with a 1 at the drawn category, else zeros; arguments as `Categorical`.

    >>> torch.distributions.OneHotCategorical(torch.tensor([0.25, 0.75])).mode
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True
    _parameters: tuple[str, ...] = ()

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self._over(Categorical(probs, logits), validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: self._one_hot(self._categorical.mode))

    def _one_hot(self, places: Tensor) -> Tensor:
        return one_hot(places, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = ops.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *[1] * len(self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose draws have the gradient of the chances (a biased estimate).

    >>> probs = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


__getattr__ = absent.names_of(__name__)
