"""What `grad_fn` shows: a node of the tape under PyTorch's name, with `next_functions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor_base import TensorBase
from .node import Node, gradient_edge

_classes: dict[str, type] = {}


class GradFn:
    """A handle on a tape node. `type(x.grad_fn).__name__` is PyTorch's name of the node."""

    __slots__ = ("node", "__dict__")

    def __init__(self, node: Any) -> None:
        self.node = node

    def name(self) -> str:
        """PyTorch's name of this kind of node."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per argument: the node that computed it and which of its results it was."""
        if isinstance(self.node, TensorBase):
            return ()
        return tuple((None, 0) if edge is None else (handle(edge), port)
                     for edge, port in zip(self.node._edges, self.node._ports, strict=True))

    @property
    def variable(self) -> Any:
        """The leaf that an AccumulateGrad node accumulates into."""
        if not isinstance(self.node, TensorBase):
            raise AttributeError(f"'{self.name()}' object has no attribute 'variable'")
        return self.node

    @property
    def metadata(self) -> dict[Any, Any]:
        extra = self.node.extra
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata  # type: ignore[no-any-return]

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after this node's derivative ran."""
        return self._register("hooks", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before this node's derivative runs."""
        return self._register("pre_hooks", hook)

    def _register(self, kind: str, hook: Callable[..., Any]) -> Any:
        from ..utils.hooks import RemovableHandle

        extra = self.node.extra
        if getattr(extra, kind) is None:
            setattr(extra, kind, {})
        hooks = getattr(extra, kind)
        handle_ = RemovableHandle(hooks)
        hooks[handle_.id] = hook
        return handle_

    def __call__(self, *grads: Any) -> Any:
        made = self.node.apply(list(grads))
        return made[0] if len(made) == 1 else tuple(made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFn) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)

    def __repr__(self) -> str:
        return f"<{self.name()} object at 0x{id(self.node):012x}>"


def handle(node: Any) -> GradFn:
    """The handle of a node or leaf."""
    name = "AccumulateGrad" if isinstance(node, TensorBase) else node.name()
    made = _classes.get(name)
    if made is None:
        made = _classes[name] = type(name, (GradFn,), {"__slots__": ()})
    return made(node)  # type: ignore[no-any-return]


def grad_fn_of(tensor: Any) -> GradFn | None:
    """The node that computed a tensor, None for a leaf."""
    if not tensor._requires_grad:
        return None
    edge = gradient_edge(tensor)
    return None if isinstance(edge, TensorBase) else handle(edge)


__all__ = ["GradFn", "Node", "grad_fn_of", "handle"]
