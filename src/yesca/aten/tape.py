"""Nodes of the tape for operators that a dispatch mode or a subclass has handled.

The tape stands above the handlers: an operator's node keeps what its formulas read and calls
PyTorch's operators again on the way back. An operator without formulas computes itself once more
when its gradient is asked for, and goes back through yesca's own nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.inplace import OwnNode, gradient_edge, rebase
from ..autograd.saved import FREED, restore, save
from ..core import registry
from ..core.tensor_base import TensorBase
from ..dispatch.handlers import takes_over
from ..dispatch.inplace import check_captured, check_tape, settle
from ..dispatch.protocol import DisableSubclasses
from ..dispatch.state import STATE
from ..operators.record import reads
from .formulas import FORMULAS, NOT_DIFFERENTIABLE
from .stations import below
from .tags import Tag
from .vjp import pulled_back

#: Buffers that the operator itself writes: what the tape reads of them later may have changed.
_WRITTEN = frozenset(("running_mean", "running_var"))


class Kept:
    """A tensor of a subclass that the tape keeps: it can only be kept as it is."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class AtenNode(OwnNode):
    """One handled operator.

    _op       the operator
    _values   its arguments; tensors among them as positions in `_edges`
    _kept     (whether a result, position) -> what was kept of it
    _specs    per edge: the operand's spec
    _outputs  specs of the results
    _carried  numbers of the results that carry gradients
    _read     during a pass: what was kept, each unpacked once
    """

    __slots__ = ("_op", "_values", "_kept", "_specs", "_outputs", "_formulas", "_carried",
                 "_read")

    def name(self) -> str:
        """As PyTorch names it: after the operator, overloads by number."""
        base = self._op.overloadpacket.__name__.strip("_")
        parts = [p[:1].upper() + p[1:] for p in base.split("_")]
        return "".join(parts) + "Backward0"

    def results(self) -> int:
        return len(self._outputs)

    def result_spec(self, port: int) -> Any:
        return self._outputs[port]

    def release(self) -> None:
        self._kept = None

    def shown(self) -> tuple[int | None, ...]:
        return tuple(range(len(self._edges)))

    def apply(self, grads: list[Any]) -> list[Any]:
        if self._kept is None:
            raise RuntimeError(FREED)
        self._read = {}
        with DisableSubclasses():
            made = self._by_formulas(grads) if self._formulas is not None else self._again(grads)
            self._read = None
            return [None if e is None or g is None else _shaped(g, s)
                    for g, e, s in zip(made, self._edges, self._specs, strict=True)]

    def _again(self, grads: list[Any]) -> list[Any]:
        """Compute once more, on yesca's own tape, and go back there."""
        if any(isinstance(k, Kept) for k in self._kept.values()):
            raise NotImplementedError(
                f"the derivative of '{self._op.name()}' is not written in PyTorch's operators yet, "
                "which a tensor with a __torch_dispatch__ needs")
        if Tag.nondeterministic_seeded in self._op.tags:
            raise NotImplementedError(f"the derivative of '{self._op.name()}', which draws random "
                                      "numbers, cannot be computed under a dispatch mode yet")
        kernel = self._op.kernel
        if self._op._schema.is_mutable:  # not the operand, which is a leaf there
            return pulled_back(lambda target, *rest, **named: kernel(
                target.clone(), *rest, **named), *self._arguments(), grads)
        return pulled_back(kernel, *self._arguments(), grads)

    def _tensor(self, is_result: bool, position: int) -> Any:
        place = is_result, position
        if place not in self._read:
            self._read[place] = self._unpacked(is_result, position)
        return self._read[place]

    def _unpacked(self, is_result: bool, position: int) -> Any:
        kept = self._kept.get((is_result, position))
        if kept is None:
            return None
        whole = isinstance(kept, Kept)
        made = kept.tensor if whole else restore(self, kept, is_result, position, STATE.tape)
        if not is_result or position not in self._carried:
            return made
        place = (self, position) if whole else (made._node, made._output_nr)
        made = _detached(made)  # as it was kept
        if STATE.tape:
            made._node, made._output_nr, made._requires_grad = *place, True
        return made

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = tuple(_filled(v, lambda k: self._tensor(False, k)) for v in self._values)
        return self._op.elided(values)  # type: ignore[no-any-return]

    def _by_formulas(self, grads: list[Any]) -> list[Any]:
        env: dict[str, Any] = {"grad": grads[0], "grads": tuple(grads),
                               "result": self._tensor(True, 0)}
        env.update((f"result{k}", self._tensor(True, k)) for k in range(len(self._outputs)))
        env["needs"] = {a.name for a, v in zip(self._op._schema.arguments, self._values,
                                               strict=True)
                        if any(self._edges[k] is not None for k in _places(v))}
        for argument, value in zip(self._op._schema.arguments, self._values, strict=True):
            name = argument.name
            env[name] = _filled(value, lambda k: self._tensor(False, k))
            env[f"{name}_spec"] = _filled(value, self._specs.__getitem__)
        made: list[Any] = [None] * len(self._edges)
        for key, formula in self._formulas.items():
            names = (key,) if isinstance(key, str) else key
            if not env["needs"].intersection(names):
                continue
            found = formula(*(env[n] for n in reads(formula)))
            for name, one in zip(names, (found,) if isinstance(key, str) else found, strict=True):
                value = self._values[[a.name for a in self._op._schema.arguments].index(name)]
                places = _places(value)
                several = one if isinstance(one, (tuple, list)) else (one,) * len(places)
                for place, grad in zip(places, several, strict=True):
                    made[place] = grad
        return made


class _At(int):
    """A tensor among the arguments: its position among the edges."""


def _placed(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, TensorBase):
        tensors.append(value)
        return _At(len(tensors) - 1)
    if isinstance(value, (list, tuple)):
        return [_placed(v, tensors) for v in value]
    return value


def _places(value: Any) -> list[int]:
    if isinstance(value, _At):
        return [int(value)]
    return [int(v) for v in value if isinstance(v, _At)] if isinstance(value, list) else []


def _filled(value: Any, get: Callable[[int], Any]) -> Any:
    if isinstance(value, _At):
        return get(int(value))
    return [_filled(v, get) for v in value] if isinstance(value, list) else value


def _shaped(grad: Any, spec: Any) -> Any:
    """A gradient summed over what its operand was stretched along."""
    from .._ops import ops

    shape, wanted = tuple(grad.shape), tuple(spec.shape)
    if shape != wanted:
        lead = len(shape) - len(wanted)
        dims = [*range(lead), *(k + lead for k, n in enumerate(wanted)
                                if n == 1 and shape[k + lead] != 1)]
        if dims:
            grad = ops.aten.sum.dim_IntList(grad, dims, True)
        if lead:
            grad = ops.aten.view.default(grad, list(wanted))
    if spec.dtype.is_floating_point and grad.dtype is not spec.dtype:
        grad = ops.aten._to_copy.default(grad, dtype=spec.dtype)
    return grad


def formulas_of(op: Any) -> Any:
    """The formulas of an operator, of its form in place too; None where there are none."""
    name = str(op).partition(".")[2]
    if name not in FORMULAS:
        packet, _, overload = name.partition(".")
        name = f"{packet.removesuffix('_')}.{overload}"
    return FORMULAS.get(name)


def taped(op: Any, values: tuple[Any, ...]) -> Any:
    """Run an operator below the tape, and put its node on it."""
    formulas = formulas_of(op)
    base = op.overloadpacket.__name__
    if formulas is None and base in NOT_DIFFERENTIABLE:
        return below(op, *op.elided(values))
    writes = [k for k, a in enumerate(op._schema.arguments) if a.is_write]
    target = values[writes[0]] if writes and not op._schema.arguments[writes[0]].kwarg_only \
        and op._schema.returns and base.endswith("_") else None
    tensors: list[Any] = []
    places = tuple(_placed(v, tensors) for v in values)
    for tensor in tensors:
        if tensor._extra is not None:
            settle(tensor)
    node = _node(op, places, tensors, formulas)
    wanted = _wanted(node, op)
    originals = list(tensors)
    if target is not None:
        check_captured(target, op.overloadpacket.__name__)
        check_tape(target, True, True)
        if (False, 0) in wanted:
            originals[0] = below(_clone(), (target,), {})
    names = {k: a.name for a, v in zip(op._schema.arguments, places, strict=True)
             for k in _places(v)}
    for is_result, k in wanted:
        if not is_result:
            node._kept[False, k] = Kept(originals[k]) if names[k] in _WRITTEN \
                else _keep(originals[k])
    made = below(op, *op.elided(values))
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    if target is not None:
        node._outputs = [target._spec]
        rebase(target, node)
    else:
        made, results = _put(node, made, results, tensors, formulas)
    node._carried = {k for k, one in enumerate(results)
                     if isinstance(one, TensorBase) and one._requires_grad}
    for is_result, k in wanted:
        if is_result and isinstance(results[k], TensorBase):
            node._kept[True, k] = _keep(results[k], k in node._carried)
    return made


def _clone() -> Any:
    from .._ops import ops

    return ops.aten.clone.default


def _node(op: Any, places: tuple[Any, ...], tensors: list[Any], formulas: Any) -> AtenNode:
    node = AtenNode(tuple([gradient_edge(t) if t._requires_grad else None for t in tensors]),
                    tuple([t._output_nr if t._requires_grad else 0 for t in tensors]))
    node._op, node._values, node._formulas = op, places, formulas
    node._kept, node._specs, node._outputs = {}, [t._spec for t in tensors], []
    return node


def _wanted(node: AtenNode, op: Any) -> list[tuple[bool, int]]:
    """(whether a result, position) of what the formulas read."""
    arguments = [a.name for a in op._schema.arguments]
    if node._formulas is None:
        return [(False, k) for k in range(len(node._edges))]
    named: set[str] = set()
    for key, formula in node._formulas.items():
        own = (key,) if isinstance(key, str) else key
        if any(node._edges[k] is not None for n in own
               for k in _places(node._values[arguments.index(n)])):
            named.update(reads(formula))
    found = [(False, k) for n in arguments if n in named
             for k in _places(node._values[arguments.index(n)])]
    for n in sorted(named):
        if n.startswith("result"):
            found.append((True, int(n[6:] or 0)))
    return found


def _keep(tensor: Any, carried: bool = False) -> Any:
    if STATE.saving:
        return save(tensor)
    if carried:
        tensor = _detached(tensor)
    return Kept(tensor) if takes_over(type(tensor)) else save(tensor)


def _detached(tensor: Any) -> Any:
    """A tensor off the tape, as handlers give it."""
    from .._ops import ops

    return below(ops.aten.detach.default, (tensor,), {})


def _put(node: AtenNode, made: Any, results: list[Any], operands: Sequence[Any], formulas: Any
         ) -> tuple[Any, list[Any]]:
    """Give results their places on the tape; what is an operand becomes a tensor of its own."""
    carriers = _carriers(formulas, len(results))
    held = {id(t) for t in operands}
    own = [_alias(r) if id(r) in held else r for r in results]
    for k, result in enumerate(own):
        tensor = isinstance(result, TensorBase)
        node._outputs.append(result._spec if tensor else None)
        if tensor and k < carriers and (result._spec.dtype.is_floating_point
                                        or result._spec.dtype.is_complex):
            result._node, result._output_nr, result._requires_grad = node, k, True
    if isinstance(made, (tuple, list)):
        return type(made)(own) if type(made) in (tuple, list) else tuple(own), own
    return own[0], own


def _carriers(formulas: Any, count: int) -> int:
    """How many leading results have gradients: one, unless a formula reads those of all."""
    if formulas is None or any("grads" in reads(f) for f in formulas.values()):
        return count
    return 1


def _alias(tensor: Any) -> Any:
    if takes_over(type(tensor)):
        from .._ops import ops

        return below(ops.aten.alias.default, (tensor,), {})
    made = registry.wrap(tensor._storage, tensor._spec, tensor._offset)
    made._counter = tensor._counter
    return made
