"""What all transforms share: caches and inverses; transforms in a row, and of whole blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.spec import Size
from ..core.views import broadcast_shapes
from . import constraints
from .utils import _shape_of, _sum_rightmost, lazy_property


class Transform:
    """An invertible function of tensors, with the logarithm of its volume change.

    A class gives `domain` and `codomain` (constraints), `bijective`, `sign` (of the derivative;
    where it is monotone), `_call`, `_inverse` and `log_abs_det_jacobian`. With `cache_size=1` the
    last pair of values is kept, so that `inv` of a result is the very argument.

    >>> exp = torch.distributions.ExpTransform()
    >>> exp(torch.zeros(2)), exp.inv(torch.ones(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Transform | None = None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}  # the inverse refers back

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions belong together, on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """The sign of the derivative: +1, -1, or a tensor of both."""
        raise NotImplementedError

    def _arguments(self) -> tuple[Any, ...]:
        """What the constructor takes before the size of the cache."""
        if type(self).__init__ is Transform.__init__:
            return ()
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of 0 pairs, or 1."""
        if self._cache_size == cache_size:
            return self
        return type(self)(*self._arguments(), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __call__(self, x: Tensor) -> Tensor:
        """The value at x."""
        if not self._cache_size:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| for a pair of values, one number a block of `event_dim` dimensions."""
        raise NotImplementedError

    def forward_shape(self, shape: Size) -> Size:
        """The shape of the value for an argument of this shape."""
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        """The shape of the argument for a value of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Plain(Transform):
    """Transforms without parameters: all of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class Stretching(Transform):
    """Transforms whose parameters are broadcast with the argument."""

    def _stretching(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def forward_shape(self, shape: Size) -> Size:
        return Size(broadcast_shapes(shape, *map(_shape_of, self._stretching())))

    inverse_shape = forward_shape


class _InverseTransform(Transform):
    """The inverse of a transform, whose cache it uses."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Size) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Size) -> Size:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


def _at_least(constraint: Any, event_dim: int) -> Any:
    """A constraint of blocks of so many dimensions."""
    more = event_dim - constraint.event_dim
    constraints._require(more >= 0, f"event_dim {event_dim} must be >= {constraint.event_dim}")
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """Transforms one after the other, first to last.

    >>> T = torch.distributions
    >>> f = T.ComposeTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)])
    >>> f(torch.zeros(1)), f.inv(torch.tensor([3.0]))
    (tensor([3.]), tensor([0.]))
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def _arguments(self) -> tuple[Any, ...]:
        return (self.parts,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        blocks = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            blocks = max(blocks - part.codomain.event_dim, 0) + part.domain.event_dim
        return _at_least(self.parts[0].domain, blocks)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        blocks = self.parts[0].domain.event_dim
        for part in self.parts:
            blocks = max(blocks - part.domain.event_dim, 0) + part.codomain.event_dim
        return _at_least(self.parts[-1].codomain, blocks)

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return ops.zeros_like(x)
        blocks, total = self.domain.event_dim, 0
        for k, part in enumerate(self.parts):
            after = y if k + 1 == len(self.parts) else part(x)
            change = part.log_abs_det_jacobian(x, after)
            total = total + _sum_rightmost(change, blocks - part.domain.event_dim)
            blocks += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape: Size) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as parts of one block: the changes of volume
    are summed over `reinterpreted_batch_ndims` more dimensions."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int,
                 cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _arguments(self) -> tuple[Any, ...]:
        return self.base_transform, self.reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain,
                                       self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Tensor) -> Tensor:
        check_dimensions(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        check_dimensions(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        change = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(change, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Size) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Size) -> Size:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def check_dimensions(shape: Sequence[int], least: int) -> None:
    """Refuse shapes that a block does not fit in."""
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


