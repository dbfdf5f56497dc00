"""`once_differentiable`: a backward that cannot be differentiated in its turn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.state import STATE, set_grad
from .inplace import OwnNode, gradient_edge


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a `backward` that is itself no differentiable code.

    It runs off the tape; differentiating through its results raises an error.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        before = STATE.grad
        set_grad(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            set_grad(before)
        if not before or not any(isinstance(a, TensorBase) and a._requires_grad for a in args):
            return outputs
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        sources = [a for a in args if isinstance(a, TensorBase) and a._requires_grad]
        made = tuple([_barred(o, sources) if isinstance(o, TensorBase) else o for o in many])
        return made if isinstance(outputs, tuple) else made[0]

    return wrapper


class _Error(OwnNode):
    """Stands where a second derivative would begin."""

    __slots__ = ()
    _label = "Error"

    def apply(self, grads: list[Any]) -> list[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with "
                           "@once_differentiable")


def _barred(tensor: Any, sources: list[Any]) -> Any:
    made = tensor.detach()
    made._node = _Error(tuple([gradient_edge(s) for s in sources]),
                        tuple([s._output_nr for s in sources]))
    made._requires_grad = True
    return made
