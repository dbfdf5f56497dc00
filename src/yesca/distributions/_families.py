"""What families of distributions share: location and scale, chances or logits, whole numbers.

No class here has an `__init__` of its own: that of each public class is followed by the one of
`Distribution`, as programs that derive from it expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import DType
from ..core.spec import Size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

BOTH_OR_NEITHER = "Either `probs` or `logits` must be specified, but not both."


# ---- location and scale -----------------------------------------------------------------------

class LocationScale(Distribution):
    """loc + scale * z for z of a standard distribution, which a class describes: its density,
    distribution function, quantiles, draws and entropy."""

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _standard_entropy: float

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _log_density(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def _distribution_function(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def _quantile(self, chance: Tensor) -> Tensor:
        raise NotImplementedError

    def _noise(self, shape: Size) -> Tensor:
        raise NotImplementedError

    def _standardised(self, value: Tensor) -> Tensor:
        return (self._checked(value) - self.loc) / self.scale

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.loc + self._noise(self._extended_shape(sample_shape)) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        return self._log_density(self._standardised(value)) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return self._distribution_function(self._standardised(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self._quantile(value)

    def entropy(self) -> Tensor:
        return self._standard_entropy + self.scale.log()

    def _full(self, value: float) -> Tensor:
        """A moment that does not exist, or is infinite."""
        return ops.full_like(self.loc, value)


# ---- chances or logits ------------------------------------------------------------------------

class Chances(Distribution):
    """Distributions given by chances (`probs`) or by their logits; the others follow."""

    _binary = True

    @staticmethod
    def _choose(probs: Any, logits: Any) -> tuple[str, Any]:
        """The name and the value of what was given."""
        if (probs is None) == (logits is None):
            raise ValueError(BOTH_OR_NEITHER)
        return ("logits", logits) if probs is None else ("probs", probs)

    def _take_chances(self, validate_args: bool | None, probs: Any, logits: Any,
                      **more: Any) -> None:
        """Keep chances or logits of one event each, broadcast with other parameters."""
        name, value = self._choose(probs, logits)
        self._take(validate_args, **more, **{name: value})

    @lazy_property
    def logits(self) -> Tensor:
        """The logits of the chances."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The chances."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        """One of both that is there; shape, dtype and device are those of the other, too."""
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the chances."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class BinaryChances(Chances):
    """Chances of single events: of the batch's shape."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}


class Counts(BinaryChances):
    """Chances of single events beside a number of trials, in the same dtype."""

    def _take_counts(self, validate_args: bool | None, total_count: Any, probs: Any,
                     logits: Any) -> None:
        name, value = self._choose(probs, logits)
        total_count, value = broadcast_all(total_count, value)
        self._take(validate_args, total_count=total_count.type_as(value), **{name: value})


class OverCategorical(Distribution):
    """Distributions of vectors whose chances are those of a categorical one inside."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _inner = ("_categorical",)
    _categorical: Any

    def _over(self, categorical: Any, validate_args: bool | None) -> None:
        self._categorical = categorical
        Distribution.__init__(self, categorical.batch_shape, categorical.param_shape[-1:],
                              validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs, doc="The chances of the categories.")
    logits = property(lambda self: self._categorical.logits, doc="Their logarithms.")
    param_shape = property(lambda self: self._categorical.param_shape,
                           doc="The shape of the chances.")
    _param = property(lambda self: self._categorical._param)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)


class Relaxed(Distribution):
    """Distributions whose temperature and chances are those of a base distribution."""

    base_dist: Any

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


# ---- finite supports --------------------------------------------------------------------------

def counted(self: Distribution, count: int, dtype: DType, device: Any, expand: bool) -> Tensor:
    """The whole numbers below `count` in dimension 0, before the batch's dimensions."""
    batch = self.batch_shape
    values = ops.arange(count, dtype=dtype, device=device).view((-1, *[1] * len(batch)))
    return values.expand((-1, *batch)) if expand else values
