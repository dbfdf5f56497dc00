"""Tape nodes: how a call is recorded, what it keeps, how its derivative runs."""

from __future__ import annotations

from typing import Any

from ..core import registry
from ..core.node_base import NodeBase, Saved
from ..core.tensor_base import Extra, TensorBase, Version
from ..dispatch.fast import SavedChanged, next_sequence
from ..dispatch.state import STATE
from ..operators.derivatives import backward_record, forward_name, grad_names
from ..runtime.plan import NUMBER, Plan
from ..runtime.program import Ref
from . import steps

class NodeExtra:
    """What few nodes have: hooks, retained gradients of results, metadata, a forward trace."""

    __slots__ = ("pre_hooks", "hooks", "retained", "metadata", "trace", "tensor_hooks")

    def __init__(self) -> None:
        self.pre_hooks: dict[int, Any] | None = None
        self.hooks: dict[int, Any] | None = None
        self.retained: dict[int, Any] | None = None
        self.metadata: dict[Any, Any] | None = None
        self.trace: Any = None
        self.tensor_hooks: dict[int, dict[int, Any]] | None = None


class Node(NodeBase):
    """One recorded call. Its class name (`AddBackward0`) is made on demand from the record."""

    __slots__ = ()

    def name(self) -> str:
        """PyTorch's name of this kind of node."""
        return self._plan.record.grad_name_of(self._plan)  # type: ignore[no-any-return]

    @property
    def extra(self) -> NodeExtra:
        if self._extra is None:
            self._extra = NodeExtra()
        return self._extra

    def edges(self) -> tuple[Any, ...]:
        """Per tensor argument: the node or leaf its gradient goes to, or None."""
        return self._edges  # type: ignore[no-any-return]

    def results(self) -> int:
        """How many gradients it takes."""
        return len(self._plan.results)

    def result_spec(self, port: int) -> Any:
        """The spec of one of its results."""
        return self._plan.results[port]

    def release(self) -> None:
        """Free what it keeps; a second backward then fails."""
        self._saved = None

    def apply(self, grads: list[Any]) -> list[Any]:
        """Gradients of the tensor arguments from those of the results (None: no gradient)."""
        if self._saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward.")
        if not STATE.grad:
            try:
                return steps.step(self._plan, self._mask)(self, grads)  # type: ignore[no-any-return]
            except SavedChanged:
                pass  # what follows words the error
        if self._plan.record.kind == "elementwise":
            return _elementwise(self, grads)
        return _formulas(self, grads)


Node.__module__ = "torch.autograd.graph"


def record_node(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...], results: list[Any],
                target: Any = None) -> None:
    """Put a call on the tape. `target`: the tensor that an in-place call wrote."""
    node = Node()
    node._plan = plan
    node._scalars = scalars
    node._extra = None
    node._sequence = next_sequence()
    edges, ports, wanted = [], [], 0
    for k, tensor in enumerate(tensors):
        source = target if target is not None and k == 0 else tensor
        if source._requires_grad:
            edges.append(gradient_edge(source))
            ports.append(source._output_nr)
            wanted |= 1 << k
        else:
            edges.append(None)
            ports.append(0)
    node._edges = tuple(edges)
    node._ports = tuple(ports)
    node._mask = wanted
    node._saved = tuple([save(results[k] if is_result else tensors[k])
                         for is_result, k in plan.saves(wanted)])
    if target is not None:
        rebase(target, node)
        return
    for k, result in enumerate(results):
        if plan.carries(k):
            result._node = node
            result._output_nr = k
            result._requires_grad = True


registry.record_node = record_node


def gradient_edge(tensor: Any) -> Any:
    """Where a tensor's gradient goes: its node, or itself if it is a leaf."""
    extra = tensor._extra
    if extra is not None and extra.base is not None and tensor._version is not None \
            and extra.seen != tensor._version.value:
        regenerate(tensor)
    return tensor if tensor._node is None else tensor._node


def save(tensor: Any) -> Saved:
    """Keep a tensor's memory and version, not its place in the tape."""
    kept = Saved()
    kept.storage = tensor._storage
    kept.spec = tensor._spec
    kept.offset = tensor._offset
    kept.counter = tensor._version
    kept.version = tensor._version.value if tensor._version is not None else 0
    return kept


def restore(node: Node, kept: Saved, is_result: bool, position: int, linked: bool) -> Any:
    """A tensor from what was kept; `linked` puts it back into the tape for double backward."""
    if kept.counter is not None and kept.counter.value != kept.version:
        raise _changed(node, kept, is_result, position)
    made = registry.wrap(kept.storage, kept.spec, kept.offset)  # type: ignore[misc]
    made._version = kept.counter
    if linked:
        edge = node if is_result else node._edges[position]
        if edge is not None:
            made._requires_grad = True
            if isinstance(edge, TensorBase):
                if edge._storage is kept.storage and edge._spec is kept.spec:
                    return edge
            else:
                made._node = edge
                made._output_nr = position if is_result else node._ports[position]
    return made


def _changed(node: Node, kept: Saved, is_result: bool, position: int) -> RuntimeError:
    source: Any = node if is_result else node._edges[position]
    origin = ""
    if source is not None and not isinstance(source, TensorBase):
        port = position if is_result else node._ports[position]
        origin = f", which is output {port} of {source.name()},"
    shape = list(kept.spec.shape)
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{_type_name(kept.spec)} {shape}]{origin} is at version "
        f"{kept.counter.value}; expected version {kept.version} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True).")


def _type_name(spec: Any) -> str:
    from ..core.dtypes import SCALAR_NAMES

    return f"{SCALAR_NAMES[spec.dtype]}Tensor"


# ---- derivatives -----------------------------------------------------------------------------

def _wanted(node: Node) -> int:
    return node._mask  # type: ignore[no-any-return]


def _saved_tensors(node: Node) -> dict[tuple[bool, int], Any]:
    places = node._plan.saves(_wanted(node))
    return {place: restore(node, kept, *place, STATE.grad)
            for place, kept in zip(places, node._saved, strict=True)}


def _elementwise(node: Node, incoming: list[Any]) -> list[Any]:
    """One derived kernel gives the gradients of all operands that want one."""
    from ..dispatch.call import OPERATORS, call

    plan = node._plan
    record = plan.record
    positions = _operand_positions(plan)
    wanted = tuple((name, plan_spec(plan, k).dtype) for k, name in enumerate(positions)
                   if node._edges[k] is not None)
    derived = backward_record(record, len(plan.results))
    if derived is None:
        return [None] * len(node._edges)
    saved = _saved_tensors(node)
    scalars = iter(node._scalars)
    given: dict[str, Any] = dict(zip(grad_names(len(incoming)), incoming, strict=True))
    given["wanted"] = wanted
    for parameter, value in zip(record.schema.parameters, plan.values, strict=True):
        name = forward_name(parameter.name)
        if value is NUMBER:
            given[name] = next(scalars)
        elif isinstance(value, Ref):
            given[name] = saved.get((False, value.slot))
        else:
            given[name] = value
    given["forward_result"] = saved.get((True, 0))
    made = call(derived, tuple(given[p.name] for p in derived.schema.parameters))
    made = iter(made if isinstance(made, tuple) else (made,))
    shape = plan.results[0].shape
    grads: list[Any] = []
    for k, edge in enumerate(node._edges):
        if edge is None:
            grads.append(None)
            continue
        one = next(made)
        target = plan_spec(plan, k).shape
        grads.append(one if tuple(target) == tuple(shape) else
                     OPERATORS.sum_to_size(one, tuple(target)))
    return grads


def _operand_positions(plan: Plan) -> list[str]:
    names: dict[int, str] = {}
    for parameter, value in zip(plan.record.schema.parameters, plan.values, strict=True):
        if isinstance(value, Ref):
            names[value.slot] = parameter.name
    return [names[k] for k in range(plan.operands)]


def plan_spec(plan: Plan, slot: int) -> Any:
    """The spec of an operand."""
    for value in plan.values:
        for ref in value if isinstance(value, tuple) else (value,):
            if isinstance(ref, Ref) and ref.slot == slot:
                return ref.spec
    raise KeyError(slot)


def _formulas(node: Node, grads: list[Any]) -> list[Any]:
    """Call the record's written formulas with what their parameters name."""
    from ..dispatch.call import OPERATORS
    from ..operators.record import reads

    plan = node._plan
    record = plan.record
    environment = _environment(node, grads, OPERATORS)
    made: list[Any] = [None] * len(node._edges)
    for key, formula in record.backward.items():
        names = (key,) if isinstance(key, str) else key
        slots = [_slots(plan, name) for name in names]
        if not any(node._edges[s] is not None for own in slots for s in own):
            continue
        given = [environment[n] for n in reads(formula)]
        results = formula(*given)
        if isinstance(key, str):
            results = (results,)
        for own, result in zip(slots, results, strict=True):
            if not own:  # the argument was None
                continue
            several = result if isinstance(result, (tuple, list)) else (result,)
            for s, one in zip(own, several, strict=True):
                if node._edges[s] is not None:
                    made[s] = one
    return made


def _slots(plan: Plan, name: str) -> list[int]:
    value = plan.values[plan.record.schema.index(name)]
    return [r.slot for r in (value if isinstance(value, tuple) else (value,))
            if isinstance(r, Ref)]


def _environment(node: Node, grads: list[Any], operators: Any) -> dict[str, Any]:
    plan = node._plan
    saved = _saved_tensors(node)
    scalars = iter(node._scalars)
    found: dict[str, Any] = {
        "ops": operators, "grad": grads[0], "grads": tuple(grads),
        "needs": tuple(e is not None for e in node._edges), "result": saved.get((True, 0)),
        "result_spec": plan.results[0],
    }
    for k in range(len(plan.results)):
        found[f"result{k}"] = saved.get((True, k))
    for parameter, value in zip(plan.record.schema.parameters, plan.values, strict=True):
        name = parameter.name
        if value is NUMBER:
            found[name] = next(scalars)
        elif isinstance(value, Ref):
            found[name] = saved.get((False, value.slot))
            found[f"{name}_spec"] = value.spec
        elif isinstance(value, tuple) and value and isinstance(value[0], Ref):
            found[name] = tuple(saved.get((False, r.slot)) for r in value)
            found[f"{name}_spec"] = tuple(r.spec for r in value)
        else:
            found[name] = value
            found[f"{name}_spec"] = None
    found["grad"] = grads[0]  # also where an argument has that name
    return found


# ---- views and in-place writes ---------------------------------------------------------------

class ViewNode(Node):
    """The place in the tape of a view of a tensor that an in-place write has changed since."""

    __slots__ = ("_view",)

    def name(self) -> str:
        return "AsStridedBackward0"

    def results(self) -> int:
        return 1

    def result_spec(self, port: int) -> Any:
        return self._view[0]

    def apply(self, grads: list[Any]) -> list[Any]:
        from ..dispatch.call import OPERATORS

        spec, offset, base = self._view
        return [OPERATORS.as_strided_scatter_add(grads[0], tuple(base.shape), tuple(base.strides),
                                                 tuple(spec.strides), offset)]


class CopySlices(Node):
    """A base's place in the tape after a write through one of its views.

    The gradient outside the view passes to the base's earlier node; the gradient inside goes
    through the in-place call.
    """

    __slots__ = ("_view", "_inner")

    def name(self) -> str:
        return "CopySlices"

    def results(self) -> int:
        return 1

    def result_spec(self, port: int) -> Any:
        return self._view[2]

    def release(self) -> None:
        self._inner.release()

    def apply(self, grads: list[Any]) -> list[Any]:
        from ..dispatch.call import OPERATORS

        spec, offset, base = self._view
        grad = OPERATORS.clone(grads[0]) if OPERATORS.is_like(grads[0], base) else \
            OPERATORS.copy_like(grads[0], tuple(base.shape), tuple(base.strides))
        part = OPERATORS.as_strided(grad, tuple(spec.shape), tuple(spec.strides), offset)
        inside = self._inner.apply([OPERATORS.clone(part)])
        first = inside[0]
        replaced = OPERATORS.as_strided_scatter(
            grad, OPERATORS.zeros_like(part) if first is None else first, tuple(spec.shape),
            tuple(spec.strides), offset)
        return [replaced, *inside[1:]]


def rebase(target: Any, node: Node) -> None:
    """After an in-place call: the target, and the base that it is a view of, get new nodes."""
    extra = target._extra
    base = extra.base if extra is not None else None
    if base is None:
        target._node, target._output_nr, target._requires_grad = node, 0, True
        return
    made = CopySlices()
    made._plan, made._scalars, made._extra = node._plan, node._scalars, None
    made._sequence = next_sequence()
    made._saved = ()
    earlier = gradient_edge(base) if base._requires_grad else None
    made._mask = node._mask
    made._edges = (earlier, *node._edges[1:])
    made._ports = (base._output_nr if base._requires_grad else 0, *node._ports[1:])
    made._view = (target._spec, target._offset - base._offset, base._spec)
    made._inner = node
    base._node, base._output_nr, base._requires_grad = made, 0, True
    regenerate(target)


def regenerate(tensor: Any) -> None:
    """Settle a view's place in the tape anew, from its base."""
    extra: Extra = tensor._extra
    base: Any = extra.base
    version: Version = tensor._version
    extra.seen = version.value  # type: ignore[assignment]
    if not base._requires_grad:
        return
    made = ViewNode()
    made._plan, made._scalars, made._extra = None, (), None
    made._sequence = next_sequence()
    made._saved = ()
    made._mask = 1
    made._edges = (base if base._node is None else base._node,)
    made._ports = (base._output_nr,)
    made._view = (tensor._spec, tensor._offset - base._offset, base._spec)
    tensor._node, tensor._output_nr, tensor._requires_grad = made, 0, True
