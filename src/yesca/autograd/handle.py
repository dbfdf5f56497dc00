"""What `grad_fn` shows: a node of the tape under PyTorch's name, with `next_functions`."""

from __future__ import annotations

import contextlib
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..base.handles import register
from ..core.tensor_base import TensorBase
from ..dispatch.state import HOOKED_LEAVES
from ..runtime.plan import NUMBER
from ..runtime.program import Ref
from .engine import NodeHook
from .function_node import FunctionNode, HandleMethods
from .inplace import gradient_edge
from .node import Node, PackedNode
from .saved import FREED, Packed, packed, restore

_classes: dict[str, type] = {}
#: Nodes that PyTorch does not make from its list of formulas.
_IN_ENGINE = ("AccumulateGrad", "CopySlices", "CopyBackwards", "NotImplemented")
_HOOKED = ("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
           "one pair of hooks is allowed at a time.")


class GradFn(HandleMethods):
    """A handle on a tape node. `type(x.grad_fn).__name__` is PyTorch's name of the node."""

    __slots__ = ("node", "__dict__", "__weakref__")

    def __init__(self, node: Any) -> None:
        self.node = node

    def name(self) -> str:
        """PyTorch's name of this kind of node."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _IN_ENGINE else name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return _saved(self.node, name.removeprefix("_saved_"))
        if name.startswith("_raw_saved_"):
            return SavedTensor(self.node, _kept_place(self.node, name.removeprefix("_raw_saved_")))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __call__(self, *grads: Any) -> Any:
        made = self.node.apply(list(grads))
        return made[0] if len(made) == 1 else tuple(made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFn) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at 0x{id(self.node):012x}>"


class LeafHandle(GradFn):
    """The end of the tape: what accumulates into a leaf's `.grad`."""

    __slots__ = ()

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return ()

    @property
    def variable(self) -> Any:
        """The leaf."""
        return self.node

    @property
    def metadata(self) -> dict[Any, Any]:
        return {}

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` once the gradient has been accumulated."""
        return self._leaf_hook("after", lambda leaf: hook((), (leaf._grad,)))

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before the gradient is accumulated."""

        def one(grad: Any) -> Any:
            made = hook((grad,))
            return made[0] if isinstance(made, tuple) else made

        return self._leaf_hook("hooks", one)

    def _leaf_hook(self, kind: str, hook: Callable[..., Any]) -> Any:
        HOOKED_LEAVES[:] = [True]
        extra = self.node._more()
        if getattr(extra, kind) is None:
            setattr(extra, kind, OrderedDict())
        return register(getattr(extra, kind), NodeHook(hook))


LeafHandle.__name__ = LeafHandle.__qualname__ = "AccumulateGrad"


class SavedTensor:
    """`grad_fn._raw_saved_self`: the place in which a node keeps a tensor."""

    __slots__ = ("node", "place")

    def __init__(self, node: Any, place: int) -> None:
        self.node, self.place = node, place

    @property
    def data(self) -> Any:
        """The tensor."""
        return self.unpack()

    def unpack(self) -> Any:
        """The tensor."""
        if self.node._saved is None:
            raise RuntimeError(FREED)
        is_result, slot = self.node._plan.saves(self.node._mask)[self.place]
        return restore(self.node, self.node._saved[self.place], is_result, slot, True, True)

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
                       ) -> None:
        """Keep what `pack_hook` makes of the tensor; `unpack_hook` gives it back."""
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError("register_hooks(): incompatible function arguments: expected two "
                            f"callables, got {type(pack_hook).__name__} and "
                            f"{type(unpack_hook).__name__}")
        self._hook(pack_hook, unpack_hook)

    def _hook(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        node = self.node
        if node._saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. "
                + FREED[FREED.index("Saved intermediate"):].replace("tensors after", "variables "
                                                                    "after"))
        if isinstance(node._saved[self.place], Packed):
            raise RuntimeError(_HOOKED)
        kept = list(node._saved)
        kept[self.place] = packed(self.unpack(), pack_hook, unpack_hook)
        node._saved, node.__class__ = tuple(kept), PackedNode


class FunctionTensor(SavedTensor):
    """One of `grad_fn._raw_saved_tensors` of a custom Function."""

    __slots__ = ()

    def unpack(self) -> Any:
        if self.node._raw is None:
            raise RuntimeError(FREED)
        return self.node._open(*self.node._raw[self.place])

    def _hook(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        node = self.node
        if node._raw is None:
            return  # nothing will read it
        kind, kept, port = node._raw[self.place]
        if kind == "none":
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is "
                               "forbidden")
        if isinstance(kept[0] if kind == "edge" else kept, Packed):
            raise RuntimeError(_HOOKED)
        if kind == "tensor":
            edge = gradient_edge(kept) if kept._requires_grad else None
            made = ("edge", (packed(kept, pack_hook, unpack_hook), edge), kept._output_nr)
        else:
            made = (kind, packed(self.unpack(), pack_hook, unpack_hook), port)
        node._raw = (*node._raw[:self.place], made, *node._raw[self.place + 1:])


FunctionTensor.__name__ = FunctionTensor.__qualname__ = "SavedTensor"


def _kept_place(node: Any, name: str) -> int:
    """Where a node keeps the tensor that it shows under this name."""
    plan = node._plan
    for k, (is_result, slot) in enumerate(plan.saves(node._mask) if plan is not None else ()):
        shown = "result" if is_result else next(
            q.name for q, v in zip(plan.record.schema.parameters, plan.values, strict=True)
            if getattr(v, "slot", None) == slot)
        if shown == name:
            return k
    raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{name}'")


def _saved(node: Any, name: str) -> Any:
    """`grad_fn._saved_self`: what the node keeps of an argument or result."""
    plan = node._plan
    with contextlib.suppress(AttributeError):
        return SavedTensor(node, _kept_place(node, name)).unpack()
    names = [q.name for q in plan.record.schema.parameters] if plan is not None else []
    if name in names:
        value = plan.values[names.index(name)]
        if value is NUMBER:
            return node._scalars[sum(v is NUMBER for v in plan.values[:names.index(name)])]
        if not isinstance(value, Ref):
            return value
    raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{name}'")


def handle(node: Any) -> Any:
    """The handle of a node or leaf; one object as long as somebody holds it."""
    if isinstance(node, TensorBase):
        return LeafHandle(node)
    if isinstance(node, FunctionNode):
        return node
    extra = node.extra
    made = extra.handle() if extra.handle is not None else None
    if made is None:
        name = node.name()
        kind = _classes.get(name)
        if kind is None:
            kind = _classes[name] = type(name, (GradFn,), {"__slots__": ()})
        made = kind(node)
        extra.handle = weakref.ref(made)
    return made


def grad_fn_of(tensor: Any) -> Any:
    """The node that computed a tensor, None for a leaf."""
    if not tensor.requires_grad:
        return None
    edge = gradient_edge(tensor)
    return None if isinstance(edge, TensorBase) else handle(edge)


__all__ = ["GradFn", "Node", "SavedTensor", "grad_fn_of", "handle"]
