"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.spec import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Draws of one of n components, which are the last batch dimension of a distribution: a
    `Categorical` says how often each is chosen.

    Raises ValueError for mixing distributions of another class, and where batch shapes or numbers
    of components disagree.

    >>> T = torch.distributions
    >>> mixture = T.MixtureSameFamily(T.Categorical(torch.ones(2)),
    ...                               T.Normal(torch.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean, mixture.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    _parameters: tuple[str, ...] = ()
    _inner = ("_mixture_distribution", "_component_distribution")
    _kept = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of "
                             "torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of "
                             "torch.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        mixing, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(mixing), reversed(batch))):
            raise ValueError(f"`mixture_distribution.batch_shape` ({mixing}) is not compatible "
                             f"with `component_distribution.batch_shape`({batch})")
        count = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({components})")
        self._num_component = count
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution,
                                    doc="How often each component is chosen.")
    component_distribution = property(lambda self: self._component_distribution,
                                      doc="The components.")

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _average(self, values: Tensor) -> Tensor:
        """The mean over the components, of values with their event dimensions."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *[1] * self._event_ndims))
        return (probs * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        components = self._component_distribution
        apart = components.mean - self._pad(self.mean)
        return self._average(components.variance) + self._average(apart.pow(2))

    def _pad(self, value: Tensor) -> Tensor:
        """A dimension for the components, before the event."""
        return value.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        chances = self._component_distribution.cdf(self._pad(x))
        return (chances * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        densities = self._component_distribution.log_prob(self._pad(self._checked(x)))
        weights = ops.log_softmax(self._mixture_distribution.logits, -1)
        return ops.logsumexp(densities + weights, -1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            place = chosen.dim()
            chosen = chosen.reshape((*chosen.shape, *[1] * (self._event_ndims + 1)))
            chosen = chosen.expand((*chosen.shape[:place + 1], *self._event_shape))
            return drawn.gather(place, chosen).squeeze(place)

    def __repr__(self) -> str:
        return (f"MixtureSameFamily(\n  {self._mixture_distribution},\n"
                f"  {self._component_distribution})")


__getattr__ = absent.names_of(__name__)
