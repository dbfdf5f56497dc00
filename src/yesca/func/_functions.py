"""`Function.generate_vmap_rule`: a custom Function of one example as one of a whole batch.

The new Function takes the values behind the examples. Its forward, backward and jvp are those of
the user's, each run once at the batch level, so that one node of the tape stands for all examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..autograd.function import Function
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE
from ._batched import batched, lowered


class _Context:
    """The `ctx` that the user's methods see: it keeps the values behind examples."""

    def __init__(self, node: Any, level: Any) -> None:
        self.__dict__["_node"], self.__dict__["_level"] = node, level

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._node, name, value)

    def _lowered(self, tensors: tuple[Any, ...]) -> list[Any]:
        return [lowered(t, self._level) for t in tensors]

    def save_for_backward(self, *tensors: Any) -> None:
        self._node._kept_batched = [self._level.owns(t) for t in tensors]
        self._node.save_for_backward(*self._lowered(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._node._pushed_batched = [self._level.owns(t) for t in tensors]
        self._node.save_for_forward(*self._lowered(tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        self._node.mark_dirty(*self._lowered(tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._node.mark_non_differentiable(*self._lowered(tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        node = self._node
        which = node._kept_batched if node.saved_for_forward is None else node._pushed_batched
        return tuple([batched(self._level, t) if own else t
                      for t, own in zip(node.saved_tensors, which, strict=True)])


def over_batch(function: Any, level: Any, owned: tuple[bool, ...]) -> Any:
    """The Function of values; `owned`: which arguments are batched at the level."""
    def at_level(run: Callable[[], Any]) -> Any:
        return run() if level in STATE.levels else level.inside(run)

    def examples(values: Any, which: Any) -> list[Any]:
        return [batched(level, v) if own and isinstance(v, Tensor) else v
                for v, own in zip(values, which, strict=True)]

    def values_of(made: Any) -> Any:
        if isinstance(made, tuple):
            return tuple([values_of(m) for m in made])
        return level.lift(made) if isinstance(made, Tensor) else made

    def forward(*values: Any) -> Any:
        return values_of(at_level(lambda: function.forward(*examples(values, owned))))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        many = output if isinstance(output, tuple) else (output,)
        made = tuple(examples(many, [True] * len(many)))
        at_level(lambda: function.setup_context(
            _Context(ctx, level), tuple(examples(inputs, owned)),
            made if isinstance(output, tuple) else made[0]))

    def backward(ctx: Any, *grads: Any) -> Any:
        given = examples(grads, [True] * len(grads))
        made = at_level(lambda: function._derivative()(_Context(ctx, level), *given))
        many = made if isinstance(made, tuple) else (made,)
        return tuple([OPERATORS.sum(value, 0) if not own and isinstance(value, Tensor) else value
                      for value, own in zip(values_of(many), _padded(owned, many), strict=True)])

    def jvp(ctx: Any, *tangents: Any) -> Any:
        given = examples(tangents, owned)
        return values_of(at_level(lambda: function.jvp(_Context(ctx, level), *given)))

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward, "jvp": jvp}
    return type(f"Vmapped{function.__name__}", (Function,), {
        "generate_vmap_rule": True,
        **{name: staticmethod(method) for name, method in methods.items()}})


def _padded(owned: tuple[bool, ...], made: tuple[Any, ...]) -> tuple[bool, ...]:
    """As many as there are gradients: a wrong number of them is refused later."""
    return (*owned, *[True] * len(made))[:len(made)]


__all__ = ["over_batch"]
