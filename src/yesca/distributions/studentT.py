"""Student's t-distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functional as ops
from .._tensor import Tensor
from ..base import absent
from ..core.spec import Size
from ..types import Number
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale * t: t is a standard normal number over the root of the mean of `df` squares of
    others.

    >>> torch.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale")
    _inner = ("_chi2",)

    def __init__(self, df: Tensor | Number, loc: Tensor | Number = 0.0,
                 scale: Tensor | Number = 1.0, validate_args: bool | None = None) -> None:
        df, loc, scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(df)
        self._take(validate_args, df=df, loc=loc, scale=scale)

    mode = property(lambda self: self.loc)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = ops.where(finite, self.df, 3.0)
        variance = ops.where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        t = normal * ops.rsqrt(self._chi2.rsample(sample_shape) / self.df)
        return self.loc + self.scale * t

    def _log_beta(self) -> Tensor:
        """log B(1/2, df / 2)."""
        half = 0.5 * self.df
        return ops.lgamma(half) + 0.5 * math.log(math.pi) - ops.lgamma(half + 0.5)

    def log_prob(self, value: Tensor) -> Tensor:
        t = (self._checked(value) - self.loc) / self.scale
        return (-0.5 * (self.df + 1.0) * ops.log1p(t**2.0 / self.df)
                - self.scale.log() - 0.5 * self.df.log() - self._log_beta())

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        return (self.scale.log() + 0.5 * self.df.log() + self._log_beta()
                + (half + 0.5) * (ops.digamma(half + 0.5) - ops.digamma(half)))


__getattr__ = absent.names_of(__name__)
