"""Constraints: which values a parameter may have, or a distribution can give.

A constraint checks a tensor element by element, or, with `event_dim` n, by blocks in its last n
dimensions; its `check` gives a bool tensor without those dimensions.

>>> positive = torch.distributions.constraints.positive
>>> positive, positive.check(torch.tensor([1.0, 0.0]))
(GreaterThan(lower_bound=0.0), tensor([ True, False]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import functional as ops
from .. import linalg
from .._tensor import Tensor
from ..base import absent
from ..core.dtypes import bool_
from ..core.numeric_limits import limits_of

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "independent", "integer_interval", "interval",
    "half_open_interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_semidefinite", "positive_definite", "positive_integer", "real",
    "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]


class Constraint:
    """A region of values. `is_discrete`: it holds separate points; `event_dim`: how many of the
    last dimensions are checked together."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each block of `event_dim` dimensions lies in the region: a bool tensor."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


def _require(holds: bool, text: str) -> None:
    """Refuse what no program should build, as PyTorch does: with an AssertionError."""
    if not holds:
        raise AssertionError(text)


# ---- regions that depend on other parameters --------------------------------------------------

class _Dependent(Constraint):
    """A region that is known once the other parameters are."""

    def __init__(self, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    is_discrete = property(lambda self: self._known("is_discrete"))
    event_dim = property(lambda self: self._known("event_dim"))

    def __call__(self, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> _Dependent:
        """The same with more known of it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is not known before the other parameters are."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a constraint; the class has a dependent constraint in its place.

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self): return constraints.interval(self.low, self.high)
    """

    def __init__(self, fn: Callable[[Any], Any] | None = None, *,
                 is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---- regions made of others -------------------------------------------------------------------

def _over_blocks(passed: Tensor, kept: int) -> Tensor:
    """Whether all passed, for each position in the first `kept` dimensions."""
    while passed.dim() > kept:
        passed = passed.all(-1)
    return passed


class _Over(Constraint):
    """A region given by another one."""

    def __init__(self, base_constraint: Constraint) -> None:
        _require(isinstance(base_constraint, Constraint), "base_constraint must be a Constraint, "
                 f"got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)


class _IndependentConstraint(_Over):
    """Blocks all of whose parts lie in a region."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        _require(isinstance(reinterpreted_batch_ndims, int), "reinterpreted_batch_ndims must be an "
                 f"int, got {type(reinterpreted_batch_ndims).__name__}")
        _require(reinterpreted_batch_ndims >= 0, "reinterpreted_batch_ndims must be >= 0, got "
                 f"{reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    event_dim = property(
        lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Tensor) -> Tensor:
        passed = self.base_constraint.check(value)
        kept = passed.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _over_blocks(passed, kept)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, " \
               f"{self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Over):
    """Values that each component of a mixture can give: the component's region, broadcast."""

    def check(self, value: Tensor) -> Tensor:
        passed = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _over_blocks(passed, kept)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Joined(Constraint):
    """Regions side by side along one dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        _require(all(isinstance(c, Constraint) for c in cseq),
                 "All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _pieces(self, value: Tensor) -> Iterator[Tensor]:
        raise NotImplementedError

    def _checks(self, value: Tensor) -> list[Tensor]:
        _require(-value.dim() <= self.dim < value.dim(),
                 f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        return [c.check(piece) for c, piece in zip(self.cseq, self._pieces(value))]


class _Cat(_Joined):
    """Regions of pieces of given lengths (1 each, if none are given), laid end to end."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0,
                 lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        _require(len(self.lengths) == len(self.cseq),
                 f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def _pieces(self, value: Tensor) -> Iterator[Tensor]:
        start = 0
        for length in self.lengths:
            yield value.narrow(self.dim, start, length)
            start += length

    def check(self, value: Tensor) -> Tensor:
        return ops.cat(self._checks(value), self.dim)


class _Stack(_Joined):
    """Regions of slices, one each."""

    @property
    def event_dim(self) -> int:
        inner = max(c.event_dim for c in self.cseq)
        return inner + (self.dim + inner < 0)

    def _pieces(self, value: Tensor) -> Iterator[Tensor]:
        return (value.select(self.dim, k) for k in range(value.size(self.dim)))

    def check(self, value: Tensor) -> Tensor:
        return ops.stack(self._checks(value), self.dim)


# ---- numbers ----------------------------------------------------------------------------------

class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # false for NaN only


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A region with bounds, numbers or tensors."""

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__[1:]}({bounds})"


class _Below(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Above(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_Above):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Below):
    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


def _whole(value: Tensor) -> Tensor:
    return value % 1 == 0


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value) & (value >= self.lower_bound)


# ---- vectors ----------------------------------------------------------------------------------

class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Shares: not negative, of the sum 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts of the sum `upper_bound`, or fewer."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---- matrices ---------------------------------------------------------------------------------

class _OfMatrices(Constraint):
    event_dim = 2


class _LowerTriangular(_OfMatrices):
    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_OfMatrices):
    """Lower triangles with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_OfMatrices):
    """Lower triangles with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        slack = limits_of(value.dtype).eps * value.size(-1) * 10  # norms are rounded
        lengths = linalg.norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & ((lengths - 1).abs() <= slack).all(-1)


class _Square(_OfMatrices):
    def check(self, value: Tensor) -> Tensor:
        return ops.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_,
                        device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return ops.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        passed = super().check(value)
        return linalg.eigvalsh(value).ge(0).all(-1) if passed.all() else passed


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        passed = super().check(value)
        return linalg.cholesky_ex(value).info.eq(0) if passed.all() else passed


# ---- the public names -------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

__getattr__ = absent.names_of(__name__)
