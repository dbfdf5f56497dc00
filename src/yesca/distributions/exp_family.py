"""Exponential families: entropies from the derivative of the normaliser."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from ..autograd import grad
from ..base import absent
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with the density exp(<t(x), n> - F(n) + k(x)).

    A class gives the natural parameters n (`_natural_params`), the logarithm F of the normaliser
    (`_log_normalizer`) and the mean of k (`_mean_carrier_measure`). The mean of t is the derivative
    of F, so the entropy F(n) - <n, F'(n)> - E[k] needs no formula of its own.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _statistics(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """The natural parameters, F of them, and the means of the sufficient statistics."""
        natural = [p if p.requires_grad else p.detach().requires_grad_()
                   for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        return natural, normalizer, grad(normalizer.sum(), natural, create_graph=True)

    def entropy(self) -> Tensor:
        """The entropy in nats: (batch_shape)."""
        natural, entropy, means = self._statistics()
        entropy = entropy - self._mean_carrier_measure
        for parameter, mean in zip(natural, means):
            entropy = entropy - (parameter * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return entropy


__getattr__ = absent.names_of(__name__)
