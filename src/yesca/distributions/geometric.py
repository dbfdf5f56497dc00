"""Geometric distributions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..types import Number
from . import constraints
from ._families import BinaryChances
from .utils import _cross_entropy, broadcast_all

__all__ = ["Geometric"]


class Geometric(BinaryChances):
    """How many trials fail before the first that succeeds, with the chance `probs` each.

    Raises ValueError unless exactly one of `probs` and `logits` is given, and for chances of 0.

    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer
    _parameters = ("probs", "logits")

    def __init__(self, probs: Tensor | Number | None = None,
                 logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        self._take_chances(validate_args, probs, logits)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            wrong = self.probs.detach()[self.probs <= 0]
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape "
                f"{tuple(self.probs.shape)}) of distribution {self!r} to be positive but found "
                f"invalid values:\n{wrong}")

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: ops.zeros_like(self.probs))
    variance = property(lambda self: self.mean / self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        probs, shape = self.probs, self._extended_shape(sample_shape)
        with no_grad():
            u = ops.empty(shape, dtype=probs.dtype, device=probs.device)
            u.uniform_(limits_of(probs.dtype).tiny, 1)
            return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(self._checked(value), self.probs)
        # A certain success has no failures: 0 times the logarithm of 0 is 0.
        failure = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-failure).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs) / self.probs


__getattr__ = absent.names_of(__name__)
