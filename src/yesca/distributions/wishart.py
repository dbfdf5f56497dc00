"""Wishart distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .. import linalg
from .._tensor import Tensor
from ..base import absent
from ..base.frames import warn
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..core.views import broadcast_shapes
from ..types import Number, _Number
from . import constraints
from ._gaussian import half_log_det
from .chi2 import Chi2
from .constraints import _require
from .exp_family import ExponentialFamily
from .multivariate_normal import OfMatrix

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


class Wishart(OfMatrix, ExponentialFamily):
    """Matrices (n, n): sums of `df` products x @ x.T of normal vectors of mean 0, with one of
    their covariance matrix, its inverse or its Cholesky factor.

    Raises ValueError unless df > n - 1, and AssertionError unless exactly one of the three is
    given.

    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support: Any = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("df", "_unbroadcasted_scale_tril", *OfMatrix._FORMS)
    _inner = ("_dist_chi2",)

    def __init__(self, df: Tensor | Number, covariance_matrix: Tensor | None = None,
                 precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        try:
            name, form = self._one_form(covariance_matrix, precision_matrix, scale_tril)
        except ValueError as error:
            raise AssertionError(*error.args) from None
        if form.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading "
                             "batch dimensions")
        if isinstance(df, _Number):
            df = ops.tensor(df, dtype=form.dtype, device=form.device)
        batch, n = Size(broadcast_shapes(form.shape[:-2], df.shape)), form.shape[-1]
        self.df = df.expand(batch)
        if (self.df <= n - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, form.expand((*batch, -1, -1)))
        if (self.df < n).any():
            warn("Low df values detected. Singular samples are highly likely to occur for "
                 "ndim - 1 < df < ndim.")
        super().__init__(batch, form.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._all(self._factor(name, form))
        steps = ops.arange(n, dtype=form.dtype, device=form.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"covariance_matrix": constraints.positive_definite,
                "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky,
                "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _of_df(self, df: Tensor) -> Tensor:
        """A number a distribution, to multiply matrices with."""
        return df.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._of_df(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._of_df(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._of_df(self.df) * (matrix.pow(2) + products)

    def _bartlett(self, sample_shape: Size) -> Tensor:
        """Draws by Bartlett's decomposition: a triangle of roots of chi-squared numbers and normal
        ones."""
        n = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = ops.diag_embed(roots.clamp(min=limits_of(roots.dtype).eps))
        below = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        i, j = ops.tril_indices(n, n, offset=-1)
        noise[..., i, j] = ops.randn(below, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _singular(self, drawn: Tensor) -> Tensor:
        """Which samples have a matrix in their batch that rounding has made singular."""
        found = ~self.support.check(drawn)
        return found.flatten(found.dim() - len(self._batch_shape)).any(-1) \
            if self._batch_shape else found

    def rsample(self, sample_shape: Sequence[int] = Size(),
                max_try_correction: int | None = None) -> Tensor:
        """Draws that move with the parameters; singular ones are drawn again, at most
        `max_try_correction` times (10)."""
        shape = Size(sample_shape)
        drawn = self._bartlett(shape)
        again = ~self._singular(drawn)  # PyTorch draws these anew: so does the same seed here
        for _ in range(1 + (10 if max_try_correction is None else max_try_correction)):
            if not again.any():
                break
            more = self._bartlett(again[again].shape)
            drawn = drawn.masked_scatter(again.reshape((*shape, *[1] * (drawn.dim() - len(shape)))),
                                         more)
            again = self._singular(drawn)
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        value, tril = self._checked(value), self._unbroadcasted_scale_tril
        nu, n = self.df, self._event_shape[-1]
        trace = ops.cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (n * _LOG_2 / 2 + half_log_det(tril)) - ops.mvlgamma(nu / 2, n)
                + (nu - n - 1) / 2 * linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self) -> Tensor:
        nu, n = self.df, self._event_shape[-1]
        scale = n * _LOG_2 / 2 + half_log_det(self._unbroadcasted_scale_tril)
        return ((n + 1) * scale + ops.mvlgamma(nu / 2, n)
                - (nu - n - 1) / 2 * _multivariate_digamma(nu / 2, n) + nu * n / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        log_det = linalg.slogdet(-2 * x).logabsdet
        return half * (n * _LOG_2 - log_det) + ops.mvlgamma(half, n)


def _multivariate_digamma(x: Tensor, n: int) -> Tensor:
    """The derivative of mvlgamma."""
    _require(bool((x > (n - 1) / 2).all()), "Wrong domain for multivariate digamma function.")
    steps = ops.arange(n, dtype=x.dtype, device=x.device) / 2
    return ops.digamma(x.unsqueeze(-1) - steps).sum(-1)


__getattr__ = absent.names_of(__name__)
