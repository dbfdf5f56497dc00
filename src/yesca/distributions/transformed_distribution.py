"""Distributions of the values that transforms give for draws of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.spec import Size
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """y = f(x) for draws x of a base distribution, f one transform or a list of them.

    The density is that of x over the change of volume. Raises ValueError for transforms that are
    none, and for blocks that the base distribution is too small for.

    >>> T = torch.distributions
    >>> log_normal = T.TransformedDistribution(T.Normal(0.0, 1.0), [T.ExpTransform()])
    >>> log_normal.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    _parameters: tuple[str, ...] = ()
    _inner = ("base_dist",)
    _kept = ("transforms",)

    def __init__(self, base_distribution: Distribution,
                 transforms: Transform | list[Transform],
                 validate_args: bool | None = None) -> None:
        self.transforms = _listed(transforms)
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        own, needed = len(base_distribution.event_shape), whole.domain.event_dim
        if len(shape) < needed:
            raise ValueError("base_distribution needs to have shape with size at least "
                             f"{needed}, but got {shape}.")
        made = whole.forward_shape(shape)
        widened = whole.inverse_shape(made)  # parameters of transforms may add dimensions
        if widened != shape:
            base_distribution = base_distribution.expand(widened[:len(widened) - own])
        if needed > own:
            base_distribution = Independent(base_distribution, needed - own)
        self.base_dist: Any = base_distribution
        cut = len(made) - max(own - needed, 0) - whole.codomain.event_dim
        super().__init__(made[:cut], made[cut:], validate_args=validate_args)

    def _inner_batch(self, inner: Distribution, batch_shape: Size) -> Size:
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self._event_shape)
        return shape[:len(shape) - len(inner.event_shape)]

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        y, blocks, change = self._checked(value), len(self._event_shape), 0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            blocks += transform.domain.event_dim - transform.codomain.event_dim
            change = change + _sum_rightmost(transform.log_abs_det_jacobian(x, y),
                                             blocks - transform.domain.event_dim)
            y = x
        own = len(self.base_dist.event_shape)
        return _sum_rightmost(self.base_dist.log_prob(y), blocks - own) - change

    def _mirrored(self, chance: Tensor) -> Tensor:
        """The chance of the other side, where the transforms turn the order around."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return chance if isinstance(sign, int) and sign == 1 else sign * (chance - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._mirrored(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._mirrored(value)))


def _listed(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


__getattr__ = absent.names_of(__name__)
