"""What the tape keeps of tensors: memory, view and version, never their place in the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import registry
from ..core.node_base import NodeBase, Saved
from ..core.tensor_base import MOVED, TensorBase, place_on_tape
from ..dispatch.state import STATE, set_grad

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward.")


class Packed(Saved):
    """A saved value that hooks of `saved_tensors_hooks` keep in a form of their own."""

    __slots__ = ("value", "unpack")


class Accompanied(Packed):
    """A saved value whose tensor had a tangent at a level of forward mode."""

    __slots__ = ("level", "tangent")

    def __init__(self, inner: Saved, level: Any, tangent: Any) -> None:
        self.value, self.level, self.tangent = inner, level, tangent


def save(tensor: Any) -> Saved:
    """Keep a tensor's memory and version."""
    if tensor._counter is None:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`.")
    if STATE.saving:
        return packed(tensor, *STATE.saving[-1])
    kept = Saved()
    kept.storage = tensor._storage
    kept.spec = tensor._spec
    kept.offset = tensor._offset
    kept.counter = tensor._counter
    kept.version = tensor._counter.value
    return kept


def packed(tensor: Any, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> Packed:
    """What the hooks make of a tensor: the very one, on the tape. (One that hooks keep as it is,
    and that the node has computed, is freed with the node's pass, or by the garbage collector.)"""
    kept = Packed()
    kept.unpack = unpack
    version = tensor._counter.value
    before = STATE.grad
    set_grad(False)
    try:
        kept.value = pack(tensor)
    finally:
        set_grad(before)
    if tensor._counter.value != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook cannot be modified by in-place operations as this can lead to "
            "unexpected side-effects. Please open an issue if you need to perform in-place "
            "operations on the input to a pack hook.")
    return kept


def reopen(kept: Saved, node: Any, edge: Any, port: int, follow: bool = True) -> Any:
    """A tensor, off the tape, over what was kept; refuses memory that was written since.

    follow: where the tensor itself was kept, and looks at other memory now, that is what is read.
    """
    if isinstance(kept, Accompanied):
        made = reopen(kept.value, node, edge, port)
        kept.level.attach(made, kept.tangent)
        return made
    if isinstance(kept, Packed):
        made = kept.unpack(kept.value)
        if not isinstance(made, TensorBase):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got "
                            f"result of type {type(made).__name__}")
        return made.detach()  # type: ignore[attr-defined]
    place = kept.storage, kept.spec, kept.offset
    if kept.counter is not None and kept.counter.value != kept.version:
        _check_version(kept, edge, port)
        moved = getattr(kept.counter, "moved", None)
        if moved is not None and follow and moved.origin == place_on_tape(edge, port) \
                and moved.was_at(*place):
            place = moved.place
    made = registry.wrap(*place)
    made._counter = kept.counter
    return made


def restore(node: Any, kept: Saved, is_result: bool, position: int, linked: bool,
            asked: bool = False) -> Any:
    """A tensor from what was kept; `linked` puts it back into the tape for double backward.

    asked: by name, not by the derivative, which refuses what has left the tape.
    """
    edge, port = _result_place(node, position) if is_result else (
        node._edges[position], node._ports[position])
    follow = not is_result and not (node._plan is not None and node._plan.record.keeps_views)
    if follow and isinstance(edge, TensorBase) and not isinstance(kept, Packed):
        if kept.counter.value != kept.version:
            _check_version(kept, None, 0)
        return edge  # also if it looks at other memory now (`x.data = y`)
    if not is_result and isinstance(edge, NodeBase) and edge._extra is not None \
            and edge._extra.detached is not None and port in edge._extra.detached:
        if asked:
            return reopen(kept, node, edge, port)
        raise RuntimeError("Trying to use a saved tensor that has been detached in-place, i.e. "
                           "with .detach_().This is not supported, please use out-of-place "
                           "`.detach()` instead")
    made = reopen(kept, node, edge, port, follow)
    if linked and edge is not None:
        made._requires_grad = True
        if isinstance(edge, TensorBase):
            return link(made, edge)
        made._node, made._output_nr = edge, port
    return made


def _result_place(node: Any, position: int) -> tuple[Any, int]:
    """Where a node's result is on the tape: in a base, if it was written through a view."""
    extra = node._extra
    if extra is None or extra.around is None:
        return node, position
    return extra.around.written(), 0


def _check_version(kept: Saved, edge: Any, port: int) -> None:
    """Refuse memory that was written since; that a tensor has moved does not matter by itself."""
    now, then = kept.counter.value % MOVED, kept.version % MOVED
    if now != then:
        raise changed(kept.spec, now, then, edge, port)


def link(made: Any, leaf: Any) -> Any:
    """A tensor over other memory that stands for a leaf: its gradient goes to the leaf."""
    from .inplace import identity_node

    made._node, made._output_nr, made._requires_grad = identity_node(leaf), 0, True
    return made


def short_name(node: Any) -> str:
    """The name of a node without `Backward0`, as error messages give it."""
    return node.name().rpartition("Backward")[0] or node.name()  # type: ignore[no-any-return]


def changed(spec: Any, version: int, expected: int, edge: Any, port: int) -> RuntimeError:
    """The error about a saved tensor that was written in place."""
    from ..core.dtypes import SCALAR_NAMES

    origin = ""
    if edge is not None and not isinstance(edge, TensorBase):
        origin = f", which is output {port} of {short_name(edge)},"
    hint = ("Hint: the backtrace further above shows the operation that failed to compute its "
            "gradient. The variable in question was changed in there or anywhere later. Good "
            "luck!" if STATE.anomaly else
            "Hint: enable anomaly detection to find the operation that failed to compute its "
            "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).")
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{SCALAR_NAMES[spec.dtype]}Tensor {list(spec.shape)}]{origin} is at "
        f"version {version}; expected version {expected} instead. {hint}")
