"""The base of all distributions: shapes, checks of parameters and samples, expansion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..base.frames import warn
from ..core.spec import Size
from ..dispatch.state import STATE
from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]

D = TypeVar("D", bound="Distribution")
_NOTHING = Size()


class Distribution:
    """A batch of probability distributions.

    A sample has the shape `sample_shape + batch_shape + event_shape`: `batch_shape` is that of the
    parameters, `event_shape` that of one draw of one distribution. `validate_args` (on by default,
    off under `python -O`) has parameters and samples checked, with a ValueError for wrong ones.

    A class says in `_parameters` which of its tensors have the batch's shape, before any dimensions
    of their own, in `_inner` which distributions it keeps, and in `_kept` what does not depend on
    the batch: `expand` follows from these names.

    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _inner: tuple[str, ...] = ()
    _kept: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn checks of parameters and samples on or off for distributions that do not say."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Size = _NOTHING, event_shape: Size = _NOTHING,
                 validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        elif STATE.recorder is not None and STATE.recorder.strict:
            self._validate_args = False  # fullgraph=True, where PyTorch does not check either
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        """Keep parameters of one element each, broadcast: their shape is the batch's."""
        for name, value in zip(parameters, broadcast_all(*parameters.values())):
            setattr(self, name, value)
        Distribution.__init__(self, value.shape, validate_args=validate_args)

    def _validate_parameters(self) -> None:
        try:
            required = self.arg_constraints
        except NotImplementedError:
            required = {}
            warn(f"{self.__class__} does not define `arg_constraints`. Please set "
                 "`arg_constraints = {}` or initialize the distribution with "
                 "`validate_args=False` to turn off validation.")
        for name, constraint in required.items():
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or lazy and name not in self.__dict__:
                continue  # nothing that could be checked; computed from what is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}")

    # ---- expansion ----------------------------------------------------------------------------

    def expand(self: D, batch_shape: Sequence[int], _instance: Any = None) -> D:
        """The same distributions with more batch dimensions, over the same memory.

        `_instance`: an instance to fill in, for classes that have more to set. Raises
        NotImplementedError where a class with an `__init__` of its own does not define it.

        >>> torch.distributions.Normal(0.0, 1.0).expand((2, 3)).mean.shape
        torch.Size([2, 3])
        """
        owner = next((c for c in type(self).__mro__ if "_parameters" in vars(c)), None)
        if owner is None:
            raise NotImplementedError(f"{type(self).__name__} does not define expand()")
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        for name in owner._parameters:
            if name in self.__dict__:  # others are computed when they are asked for
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(batch_shape + self._beyond_batch(value.shape))
        for name in self._inner:
            inner = getattr(self, name)
            setattr(new, name, inner.expand(self._inner_batch(inner, batch_shape)))
        for name in self._kept:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _beyond_batch(self, shape: Size) -> Size:
        return shape[len(self._batch_shape):]

    def _inner_batch(self, inner: Distribution, batch_shape: Size) -> Size:
        """The batch shape of a distribution inside for a new one of this."""
        return batch_shape + self._beyond_batch(inner.batch_shape)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    # ---- shapes and constraints ---------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters: one distribution each."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        """The shape of samples."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    # ---- moments ------------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        """The mean; NaN where there is none."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance, element by element."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, element by element."""
        return self.variance.sqrt()

    # ---- draws --------------------------------------------------------------------------------

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws of shape `sample_shape + batch_shape + event_shape`, constants to the tape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws that move with the parameters, so that gradients flow through them; only where
        `has_rsample` is true."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`; deprecated."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    # ---- densities ----------------------------------------------------------------------------

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability of each sample: (..., batch_shape)."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The chance of a draw that is at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`: quantiles."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution in dimension 0: (count, batch_shape, event_shape).

        `expand=False` leaves the batch dimensions at size 1.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats: (batch_shape)."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse values of another event shape, that do not broadcast, or outside the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.shape, self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{shape} vs {self._event_shape}.")
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(shape), reversed(expected))):
            raise ValueError("Value is not broadcastable with batch_shape+event_shape: "
                             f"{shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(f"{self.__class__} does not define `support` to enable sample validation. Please "
                 "initialize the distribution with `validate_args=False` to turn off validation.")
            return
        constraints._require(support is not None, "support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}")

    def _checked(self, value: Tensor) -> Tensor:
        """The value itself, checked if the distribution checks."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        shown = {name: self.__dict__[name] for name in self.arg_constraints
                 if name in self.__dict__}
        text = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}"
                         for name, value in shown.items())
        return f"{type(self).__name__}({text})"


__getattr__ = absent.names_of(__name__)
