"""Views and in-place writes: how a write moves a tensor's place in the tape.

A write through a view changes its base. The base then gets a `CopySlices` node, whose gradient
outside the view passes to the base's earlier node and inside goes through the written call; the
view, and every other view of that base when it is next used, gets a new node that reads from the
base. A view knows that it is out of date because its version counter has moved.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor_base import BarredView
from ..dispatch.call import OPERATORS
from ..dispatch.fast import next_sequence
from ..dispatch.inplace import check_origin
from ..dispatch.state import STATE
from .node import Node
from .saved import FREED


class OwnNode(Node):
    """A node without a record: subclasses say what its derivative is."""

    __slots__ = ()
    _label = "Identity"

    def __init__(self, edges: tuple[Any, ...], ports: tuple[int, ...]) -> None:
        self._plan, self._scalars, self._extra, self._saved = None, (), None, ()
        self._sequence, self._mask = next_sequence(), 0
        self._edges, self._ports = edges, ports

    def name(self) -> str:
        return self._label

    def results(self) -> int:
        return 1

    def shown(self) -> tuple[int | None, ...]:
        return tuple(range(len(self._edges)))

    def apply(self, grads: list[Any]) -> list[Any]:
        return list(grads)


class ViewNode(OwnNode):
    """A view of a tensor that was written since: its gradient goes into a part of the base's."""

    __slots__ = ("_view",)
    _label = "AsStridedBackward0"

    def result_spec(self, port: int) -> Any:
        return self._view[0]

    def apply(self, grads: list[Any]) -> list[Any]:
        spec, offset, base = self._view
        shape, strides = tuple(base.shape), tuple(base.strides)
        if spec.dtype is not base.dtype:  # a part of complex numbers
            shape, strides = (*shape, 2), (*(2 * s for s in strides), 1)
        made = OPERATORS.as_strided_scatter_add(grads[0], shape, strides, tuple(spec.strides),
                                                offset)
        return [_to_base(made, spec, base)]


class CopySlices(OwnNode):
    """A base's place in the tape after a write through one of its views.

    `_inner` is the node of the written call, `_position` the place of the view among its edges.
    """

    __slots__ = ("_view", "_inner", "_position")
    _label = "CopySlices"

    def result_spec(self, port: int) -> Any:
        return self._view[2]

    def shown(self) -> tuple[int | None, ...]:
        """The base's place, then those of the written call but for the view's own."""
        own = self._position
        return (0, *(k if k is None else k + (k < own)
                     for k in self._inner.shown() if k != own))

    def release(self) -> None:
        """As in PyTorch, there is no second pass, whatever the written call keeps."""
        self._saved = None
        self._inner.release()

    def apply(self, grads: list[Any]) -> list[Any]:
        if self._saved is None:
            raise RuntimeError(FREED)
        spec, offset, base = self._view
        size, stride = tuple(spec.shape), tuple(spec.strides)
        grad = grads[0]
        if not OPERATORS.is_like(grad, base):
            grad = OPERATORS.copy_like(grad, tuple(base.shape), tuple(base.strides))
        grad = _to_view(grad, spec, base)
        part = OPERATORS.as_strided(grad, size, stride, grad._offset + offset)
        inside = self._inside(OPERATORS.clone(part))
        own = inside.pop(self._position)
        if self._edges[0] is None:
            return [None, *inside]
        if own is None:
            own = OPERATORS.zeros_like(part)
        made = OPERATORS.strided_scatter(grad, own, size, stride, offset)
        return [_to_base(made, spec, base), *inside]

    def _inside(self, part: Any) -> list[Any]:
        """The written call's gradients; a graph of them finds its result in the base: by itself the
        call is no part of the graph, and is freed with this node."""
        if not STATE.tape:
            return list(self._inner.apply([part]))
        self._inner.extra.around = self
        try:
            return list(self._inner.apply([part]))
        finally:
            self._inner.extra.around = None

    def written(self) -> ViewNode:
        """The place on the tape of what was written."""
        made = ViewNode((self,), (0,))
        made._view = self._view
        return made


def _to_view(grad: Any, spec: Any, base: Any) -> Any:
    """A base's gradient as a view sees it that is negated, conjugated, or parts of complex numbers.
    """
    if spec.neg is not base.neg:
        grad = OPERATORS.neg(grad)
    if spec.dtype is not base.dtype and base.dtype.is_complex:
        return OPERATORS.view_as_real(OPERATORS.resolve_conj(grad))
    return grad if spec.conj is base.conj else OPERATORS.conj(grad)


def _to_base(grad: Any, spec: Any, base: Any) -> Any:
    """`_to_view` undone."""
    if spec.neg is not base.neg:
        grad = OPERATORS.neg(grad)
    if spec.dtype is not base.dtype and base.dtype.is_complex:
        return OPERATORS.view_as_complex(grad)
    return grad if spec.conj is base.conj else OPERATORS.conj_physical(grad)


def _place(view: Any, base: Any) -> tuple[Any, int, Any]:
    """The view's spec, where it begins in its base, in elements of the view, and the base's."""
    start = base._offset * base._spec.dtype.itemsize // view._spec.dtype.itemsize
    return view._spec, view._offset - start, base._spec


def identity_node(leaf: Any) -> Node:
    """A node that hands its gradient on to a leaf."""
    return OwnNode((leaf,), (0,))


def placed(tensor: Any) -> Any:
    """A tensor off the tape, put on a place of its own from which nothing leads on."""
    tensor._node, tensor._output_nr, tensor._requires_grad = OwnNode((), ()), 0, True
    return tensor


class MetaCopyNode(OwnNode):
    """A tensor's copy on the meta device: its gradient has no bytes that could be copied back."""

    __slots__ = ()
    _label = "ToCopyBackward0"

    def apply(self, grads: list[Any]) -> list[Any]:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


def departed(copy: Any, original: Any) -> Any:
    """A copy on the meta device, put on the tape behind its original."""
    copy._node = MetaCopyNode((gradient_edge(original),), (original._output_nr,))
    copy._output_nr, copy._requires_grad = 0, True
    return copy


def gradient_edge(tensor: Any) -> Any:
    """Where a tensor's gradient goes: its node, or itself if it is a leaf."""
    extra = tensor._extra
    if extra is not None and extra.base is not None and tensor._counter is not None \
            and extra.seen != tensor._counter.value:
        regenerate(tensor)
    return tensor if tensor._node is None else tensor._node


def rebase(target: Any, node: Node, port: int = 0, position: int = 0) -> None:
    """After a write: the target, and the base that it is a view of, get new nodes.

    node: the written call; the target is its result `port` and was its edge `position`.
    """
    extra = target._extra
    base = extra.base if extra is not None else None
    if base is None:
        if extra is not None and extra.retain:
            move_retained(target, node, port)
        target._node, target._output_nr, target._requires_grad = node, port, True
        return
    joined = base._requires_grad
    edges, ports = list(node._edges), list(node._ports)
    edges.pop(position)
    ports.pop(position)
    made = CopySlices((gradient_edge(base) if joined else None, *edges),
                      (base._output_nr if joined else 0, *ports))
    made._view = _place(target, base)
    made._inner, made._position = node, position
    made._extra, node._extra = node._extra, None
    if base._extra is not None and base._extra.retain and base._node is not None:
        move_retained(base, made, 0)
    base._node, base._output_nr, base._requires_grad = made, 0, True
    regenerate(target)


def move_retained(target: Any, node: Node, port: int) -> None:
    """`retain_grad` speaks of the tensor, so it goes along to the new node."""
    reference = target._node.extra.retained.pop(target._output_nr)
    retained = node.extra.retained
    if retained is None:
        retained = node.extra.retained = {}
    retained[port] = reference


def regenerate(tensor: Any) -> None:
    """Settle a view's place in the tape anew, from its base."""
    extra = tensor._extra
    base = extra.base
    extra.seen = tensor._counter.value
    if tensor._storage is not base._storage:
        return  # one of them looks at other memory now (`x.data = y`)
    dtype = tensor._spec.dtype
    if not base._requires_grad or not (dtype.is_floating_point or dtype.is_complex):
        return
    if isinstance(extra, BarredView):
        extra.seen = -1
        check_origin(tensor, "its base or another view of its base has been")
    made = ViewNode((gradient_edge(base),), (base._output_nr,))
    made._view = _place(tensor, base)
    if extra.retain and tensor._node is not None:
        move_retained(tensor, made, 0)
    tensor._node, tensor._output_nr, tensor._requires_grad = made, 0, True
