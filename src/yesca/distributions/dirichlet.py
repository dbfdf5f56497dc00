"""Dirichlet distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.function import Function, once_differentiable
from ..base import absent
from ..core.spec import Size
from ..nn.functional import one_hot
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class _Drawn(Function):
    """Dirichlet numbers, which move with their concentrations as their quantiles do."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        drawn = ops._sample_dirichlet(concentration)
        ctx.save_for_backward(drawn, concentration)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        drawn, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        slope = ops._dirichlet_grad(drawn, concentration, total)
        return slope * (grad - (drawn * grad).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """n shares of the sum 1, with densities in proportion to the product of
    x**(concentration - 1): concentrations (..., n).

    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {
        "concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parameters = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return _Drawn.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        powers = ops.xlogy(self.concentration - 1.0, self._checked(value)).sum(-1)
        return powers - self._log_normalizer(self.concentration)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = one_hot(mode.argmax(-1), mode.shape[-1]).to(mode)
        return ops.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        mean, total = self.mean, self.concentration.sum(-1, True)
        return mean * (1 - mean) / (total + 1)

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        means = (a - 1.0) * (ops.digamma(a) - ops.digamma(total).unsqueeze(-1))
        return self._log_normalizer(a) - means.sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return ops.lgamma(x).sum(-1) - ops.lgamma(x.sum(-1))


__getattr__ = absent.names_of(__name__)
