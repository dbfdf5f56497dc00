"""An update made of ordinary operators, so that backward can pass through it."""

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import float32
from ..operators.optimizers import Rule


class Tensors:
    """The arithmetic of update rules on tensors, and on numbers beside them."""

    @staticmethod
    def narrow(number: Any) -> Any:
        """A number as one of the elements: operators narrow it themselves."""
        return number

    @staticmethod
    def rounded(number: Any) -> float:
        """A number with the digits of a float32."""
        return ops.tensor(float(number), dtype=float32).item()

    @staticmethod
    def sqrt(x: Any) -> Any:
        """The root of a tensor or number."""
        return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)

    @staticmethod
    def absolute(x: Tensor) -> Tensor:
        """Without its sign."""
        return x.abs()

    @staticmethod
    def power(base: Any, exponent: Any) -> Any:
        """base ** exponent."""
        return base**exponent

    @staticmethod
    def maximum(x: Any, y: Any) -> Any:
        """The greater of both, element by element."""
        if isinstance(y, Tensor):
            return ops.maximum(x, y)
        return x.clamp(min=y) if isinstance(x, Tensor) else max(x, y)

    @staticmethod
    def minimum(x: Tensor, y: float) -> Tensor:
        """The smaller of both, element by element."""
        return x.clamp(max=y)

    @staticmethod
    def fma(x: Any, y: Any, z: Any) -> Any:
        """x * y + z."""
        return z + x * y

    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any) -> Any:
        """`then` where the condition holds, else `otherwise`."""
        if isinstance(condition, Tensor):
            return ops.where(condition, then, otherwise)
        return then if condition else otherwise

    @staticmethod
    def sign(x: Tensor) -> Tensor:
        """-1, 0 or 1; 0 of NaN."""
        return x.sign()

    @staticmethod
    def scaled(grad: Tensor, factor: Any, param: Tensor) -> Tensor:
        """grad + factor * param; the gradient itself where the factor is the number 0."""
        return grad if not isinstance(factor, Tensor) and factor == 0 else grad + param * factor

    @staticmethod
    def detached(x: Tensor) -> Tensor:
        """A copy without history."""
        return x.detach().clone()


def run(rule: Rule, options: SimpleNamespace, maximize: bool, params: Sequence[Tensor],
        grads: Sequence[Tensor], steps: Sequence[Tensor], states: Sequence[Sequence[Tensor]],
        scalars: Sequence[Sequence[Tensor]]) -> None:
    """What `rule.program` does, one parameter after another.

    The rule reads copies: what a product saves must not be overwritten by the new values.
    """
    for k, (param, grad) in enumerate(zip(params, grads, strict=True)):
        step = steps[k].item() if steps else None
        small = [values[k] for values in scalars]
        _renew(rule.before, options, step, small)
        own = [values[k] if values else None for values in states]
        made = rule.body(Tensors, options, step, param.clone(), -grad if maximize else grad,
                         *(None if value is None else value.clone() for value in own),
                         *(value.item() for value in small))
        for target, value in zip((param, *own), made, strict=True):
            if target is not None:
                target.copy_(value)
        _renew(rule.after, options, step, small)


def _renew(change: Callable[..., Any] | None, options: SimpleNamespace, step: Any,
           small: Sequence[Tensor]) -> None:
    """Let the 0-dim tensors of a parameter become what a part of its rule makes of them."""
    if change is not None:
        made = change(Tensors, options, step, *(value.item() for value in small))
        for target, value in zip(small, made, strict=True):
            target.fill_(value)
