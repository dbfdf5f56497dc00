"""Normal distributions of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .. import linalg
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..core.views import broadcast_shapes
from . import constraints
from ._gaussian import half_log_det, matvec, scale_of_precision, squared_distance
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


class OfMatrix(Distribution):
    """Distributions with a positive definite matrix as parameter, given as it is, by its inverse,
    or by its Cholesky factor; the other two follow."""

    _FORMS = ("covariance_matrix", "precision_matrix", "scale_tril")
    _unbroadcasted_scale_tril: Tensor

    @classmethod
    def _one_form(cls, *forms: Tensor | None) -> tuple[str, Tensor]:
        """The name and the value of the form that was given."""
        given = [(name, form) for name, form in zip(cls._FORMS, forms) if form is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")
        return given[0]

    def _factor(self, name: str, form: Tensor) -> Tensor:
        if name == "scale_tril":
            return form
        return (linalg.cholesky if name == "covariance_matrix" else scale_of_precision)(form)

    def _all(self, matrix: Tensor) -> Tensor:
        """A matrix for each distribution of the batch."""
        n = self._event_shape[-1]
        return matrix.expand((*self._batch_shape, n, n))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the matrix."""
        return self._all(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The matrix."""
        return self._all(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the matrix."""
        return self._all(ops.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(OfMatrix):
    """Normal vectors (..., n) of mean `loc`, with one of a covariance matrix, its inverse (the
    precision matrix) or its Cholesky factor: (..., n, n).

    Raises ValueError unless exactly one of the three is given, of at least two dimensions.

    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky}
    support: Any = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", *OfMatrix._FORMS)
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None,
                 precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, form = self._one_form(covariance_matrix, precision_matrix, scale_tril)
        if form.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading "
                             "batch dimensions")
        batch = broadcast_shapes(form.shape[:-2], loc.shape[:-1])
        setattr(self, name, form.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(Size(batch), self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(name, form)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + matvec(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        tril = self._unbroadcasted_scale_tril
        distance = squared_distance(tril, self._checked(value) - self.loc)
        turns = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (turns + distance) - half_log_det(tril)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


__getattr__ = absent.names_of(__name__)
