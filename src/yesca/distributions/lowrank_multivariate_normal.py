"""Normal distributions of vectors whose covariance has few factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .. import linalg
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from . import constraints
from ._gaussian import LowRank, matvec, solve
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal vectors (..., n) with the covariance cov_factor @ cov_factor.mT + diag(cov_diag), for
    factors (..., n, m) of a small m: the cost grows with n m², not with n³.

    Raises ValueError for shapes that do not fit.

    >>> d = torch.distributions.LowRankMultivariateNormal(
    ...     torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "cov_factor", "cov_diag")
    _kept = ("_covariance",)

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
                 validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading "
                             "batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            locs, self.cov_factor, diagonals = ops.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor "
                             f"{cov_factor.shape}, cov_diag {cov_diag.shape}") from error
        self.loc, self.cov_diag = locs[..., 0], diagonals[..., 0]
        self._covariance = LowRank(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _all(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def variance(self) -> Tensor:
        made = self._covariance.factor.pow(2).sum(-1) + self._covariance.diagonal
        return made.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        roots = self._covariance.diagonal.sqrt().unsqueeze(-1)
        scaled = self._covariance.factor / roots
        identity = ops.eye(self._event_shape[0], dtype=roots.dtype, device=roots.device)
        return self._all(roots * linalg.cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._covariance.factor
        return self._all(factor @ factor.mT + ops.diag_embed(self._covariance.diagonal))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        solved = solve(self._covariance.core, self._covariance.scaled)
        diagonal = ops.diag_embed(self._covariance.diagonal.reciprocal())
        return self._all(diagonal - solved.mT @ solved)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape, own = self._extended_shape(sample_shape), (self.loc.dtype, self.loc.device)
        factors = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], *own)
        single = _standard_normal(shape, *own)
        return (self.loc + matvec(self._covariance.factor, factors)
                + self._covariance.diagonal.sqrt() * single)

    def log_prob(self, value: Tensor) -> Tensor:
        distance = self._covariance.squared_distance(self._checked(value) - self.loc)
        turns = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (turns + self._covariance.log_det() + distance)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._covariance.log_det())).expand(self._batch_shape)


__getattr__ = absent.names_of(__name__)
