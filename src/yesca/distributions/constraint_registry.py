"""Transforms from unconstrained tensors to those that satisfy a constraint.

`biject_to(constraint)` is a bijection, with a change of volume, as sampling wants it;
`transform_to(constraint)` is cheaper where many arguments may give one value, as optimising wants
it.

>>> torch.distributions.transform_to(torch.distributions.constraints.simplex)(torch.zeros(2))
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import absent
from ..types import _Number
from . import constraints, transforms
from .transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Finds for a constraint the transform from unconstrained values to it.

        @transform_to.register(MyConstraint)
        def of_mine(constraint): return transforms.ExpTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Have a factory make the transforms for a class of constraints, or that of an instance.

        A decorator, if no factory is given. Raises TypeError for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, "
                            f"but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        """The transform to a constraint; NotImplementedError where none is registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(constraint: Any, factory: Factory) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _moved(first: Transform, loc: Any, scale: Any) -> Transform:
    return transforms.ComposeTransform([first, transforms.AffineTransform(loc, scale)])


def _above(constraint: Any) -> Transform:
    return _moved(transforms.ExpTransform(), constraint.lower_bound, 1)


def _below(constraint: Any) -> Transform:
    return _moved(transforms.ExpTransform(), constraint.upper_bound, -1)


def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, _Number) and isinstance(high, _Number) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return _moved(transforms.SigmoidTransform(), low, high - low)


_both(constraints.real, lambda _: transforms.identity_transform)
for _kind in (constraints.greater_than, constraints.greater_than_eq):
    _both(_kind, _above)
_both(constraints.less_than, _below)
for _kind in (constraints.interval, constraints.half_open_interval):
    _both(_kind, _between)
_both(constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda _: transforms.PositiveDefiniteTransform())


def _by_parts(registry: ConstraintRegistry) -> None:
    """Constraints made of others have transforms made of theirs."""
    registry.register(constraints.independent, lambda c: transforms.IndependentTransform(
        registry(c.base_constraint), c.reinterpreted_batch_ndims))
    registry.register(constraints.cat, lambda c: transforms.CatTransform(
        [registry(part) for part in c.cseq], c.dim, c.lengths))
    registry.register(constraints.stack, lambda c: transforms.StackTransform(
        [registry(part) for part in c.cseq], c.dim))


_by_parts(biject_to)
_by_parts(transform_to)

__getattr__ = absent.names_of(__name__)
