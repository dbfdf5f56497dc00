"""Tape nodes: what one recorded call knows, and how its derivative runs."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..core.node_base import NodeBase
from ..dispatch.fast import SavedChanged
from ..dispatch.state import STATE
from ..operators.derivatives import backward_record, forward_name, grad_names
from ..runtime.plan import NUMBER, Plan
from ..runtime.program import Ref
from . import steps
from .saved import FREED, restore


class NodeExtra:
    """What few nodes have.

    pre_hooks     called with the gradients of the results before the derivative runs
    hooks         called with the gradients made and taken after it ran
    tensor_hooks  by result: the hooks of that tensor
    retained      by result: a weak reference to the tensor whose `.grad` keeps the gradient
    metadata      what users store on the node
    trace         for anomaly mode: the lines of Python that made the node, and its parent node
    label         its name, where that is not the record's
    detached      results whose tensors were taken off the tape in place
    handle        a weak reference to the object that `grad_fn` gave
    around        while its derivative runs: the `CopySlices` of a write through a view
    """

    __slots__ = ("pre_hooks", "hooks", "tensor_hooks", "retained", "metadata", "trace", "label",
                 "detached", "handle", "around")

    def __init__(self) -> None:
        self.pre_hooks: OrderedDict[int, Any] | None = None
        self.hooks: OrderedDict[int, Any] | None = None
        self.tensor_hooks: dict[int, OrderedDict[int, Any]] | None = None
        self.retained: dict[int, Any] | None = None
        self.metadata: dict[Any, Any] | None = None
        self.trace: tuple[list[str], Any] | None = None
        self.label = ""
        self.detached: set[int] | None = None
        self.handle: Any = None
        self.around: Any = None


class Node(NodeBase):
    """One recorded call. Its class name (`AddBackward0`) is made on demand from the record."""

    __slots__ = ()

    def name(self) -> str:
        """PyTorch's name of this kind of node."""
        if self._extra is not None and self._extra.label:
            return self._extra.label  # type: ignore[no-any-return]
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
        """Free what it keeps; a second backward then fails, if PyTorch's node keeps anything."""
        plan = self._plan
        if self._saved or (plan is not None and not plan.second_pass(self._mask)):
            self._saved = None

    def shown(self) -> tuple[int | None, ...]:
        """The edges as PyTorch numbers them: positions in `_edges`, None for numbers.

        Operands that have no gradient at all (indices, conditions) are left out, numbers in the
        place of tensors are counted.
        """
        record = self._plan.record
        given = zip(record.schema.parameters, self._plan.values, strict=True)
        own = {n for key in record.backward for n in ((key,) if isinstance(key, str) else key)} \
            if isinstance(record.backward, dict) else None
        found: list[int | None] = []
        for parameter, value in given:
            if own is not None and parameter.name not in own:
                continue
            if parameter.is_tensor and (value is None and record.counts_absent or
                                        value is NUMBER and record.counts_numbers):
                found.append(None)
            refs = value if isinstance(value, tuple) else (value,)
            found += [r.slot for r in refs if isinstance(r, Ref)]
        return tuple(found)

    def apply(self, grads: list[Any]) -> list[Any]:
        """Gradients of the tensor arguments from those of the results (None: no gradient)."""
        if self._saved is None:
            raise RuntimeError(FREED)
        if not STATE.tape:
            plan, mask = self._plan, self._mask
            try:
                step: steps.Step = plan.steps.get(mask) or steps.step(plan, mask)
                return step(self, grads)  # type: ignore[no-any-return]
            except SavedChanged:
                pass  # what follows words the error
        return self.walk(grads, self._mask)

    def toward(self, mask: int, grads: list[Any]) -> list[Any]:
        """`apply` for those of the tensor arguments alone that are in the mask."""
        if self._saved is None:
            raise RuntimeError(FREED)
        if not STATE.tape:
            try:
                step: steps.Step = steps.narrowed(self._plan, mask, self._mask)
                return step(self, grads)  # type: ignore[no-any-return]
            except SavedChanged:
                pass  # what follows words the error
        return self.walk(grads, mask)

    def walk(self, grads: list[Any], mask: int) -> list[Any]:
        """`toward` by a walk over the record, which may itself be recorded."""
        if self._plan.record.kind == "elementwise":
            return _elementwise(self, grads, mask)
        return _formulas(self, grads, mask)


class PackedNode(Node):
    """A node whose saved values went through hooks: they are unpacked one by one."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        if self._saved is None:
            raise RuntimeError(FREED)
        return self.walk(grads, self._mask)

    def toward(self, mask: int, grads: list[Any]) -> list[Any]:
        if self._saved is None:
            raise RuntimeError(FREED)
        return self.walk(grads, mask)


Node.__module__ = "torch.autograd.graph"


# ---- derivatives -----------------------------------------------------------------------------

def _saved_tensors(node: Node) -> dict[tuple[bool, int], Any]:
    places = node._plan.saves(node._mask)
    return {place: restore(node, kept, *place, STATE.tape)
            for place, kept in zip(places, node._saved, strict=True)}


def _wanted(node: Node, mask: int) -> tuple[bool, ...]:
    """Of each tensor argument, whether its gradient is asked for."""
    return tuple(e is not None and bool(mask >> k & 1) for k, e in enumerate(node._edges))


def _elementwise(node: Node, incoming: list[Any], mask: int) -> list[Any]:
    """One derived kernel gives the gradients of all operands that want one."""
    from ..dispatch.call import OPERATORS, call

    plan = node._plan
    record = plan.record
    positions = _operand_positions(plan)
    needs = _wanted(node, mask)
    wanted = tuple((name, plan_spec(plan, k).dtype) for k, name in enumerate(positions)
                   if needs[k])
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
    made = call(derived, tuple(steps.as_dense(given[p.name]) for p in derived.schema.parameters))
    made = iter(made if isinstance(made, tuple) else (made,))
    shape = plan.results[0].shape
    grads: list[Any] = []
    for k, needed in enumerate(needs):
        if not needed:
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


def _formulas(node: Node, grads: list[Any], mask: int) -> list[Any]:
    """Call the record's written formulas with what their parameters name."""
    from ..dispatch.call import OPERATORS
    from ..operators.record import reads

    plan = node._plan
    record = plan.record
    needs = _wanted(node, mask)
    environment = _environment(node, grads, needs, OPERATORS)
    made: list[Any] = [None] * len(node._edges)
    for key, formula in record.backward.items():
        names = (key,) if isinstance(key, str) else key
        slots = [_slots(plan, name) for name in names]
        if not any(needs[s] for own in slots for s in own):
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
                if needs[s]:
                    made[s] = one
    return made


def _slots(plan: Plan, name: str) -> list[int]:
    value = plan.values[plan.record.schema.index(name)]
    return [r.slot for r in (value if isinstance(value, tuple) else (value,))
            if isinstance(r, Ref)]


def _environment(node: Node, grads: list[Any], needs: tuple[bool, ...], operators: Any
                 ) -> dict[str, Any]:
    plan = node._plan
    saved = _saved_tensors(node)
    scalars = iter(node._scalars)
    if steps.conjugates(plan):
        saved = {place: operators.conj(kept) for place, kept in saved.items()}
        scalars = iter([number.conjugate() for number in node._scalars])
    found: dict[str, Any] = {
        "ops": operators, "grad": grads[0], "grads": tuple(grads),
        "needs": needs, "result": saved.get((True, 0)),
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
            turned = isinstance(value, complex) and steps.conjugates(plan)
            found[name] = value.conjugate() if turned else value
            found[f"{name}_spec"] = None
    found["grad"] = grads[0]  # also where an argument has that name
    return found
