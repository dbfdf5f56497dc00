"""The engine: walks the tape from results to leaves, iteratively, in reverse creation order."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE, set_grad
from .node import gradient_edge


def _needed(roots: list[Any], targets: set[Any]) -> set[Any] | None:
    """For `grad(inputs)`: the nodes on a path to an input."""
    order: list[Any] = []
    stack = [(r, False) for r in roots if not isinstance(r, TensorBase)]
    seen: set[Any] = set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        stack.extend((e, False) for e in node._edges
                     if e is not None and not isinstance(e, TensorBase))
    useful: set[Any] = set()
    for node in order:
        if node in targets or any(e is not None and (e in useful or e in targets)
                                  for e in node._edges):
            useful.add(node)
    return useful


class Run:
    """One backward pass.

    Nodes are visited from the last made to the first. Whatever consumed a node's results was made
    after it, and a consumer that is still unknown hangs on a node that is later still; so when a
    node's turn comes, all its gradients have arrived, and nothing needs to be counted.
    """

    def __init__(self, retain: bool, create: bool, targets: dict[tuple[Any, int], int] | None,
                 accumulate: bool) -> None:
        self.retain = retain
        self.create = create
        self.targets = targets  # (node or leaf, port) -> which input of grad()
        self.found: dict[int, Any] = {}
        self.accumulate = accumulate
        self.pending: dict[Any, list[Any]] = {}
        self.heap: list[tuple[int, Any]] = []

    def start(self, roots: Sequence[Any], grads: Sequence[Any]) -> None:
        """Walk from the roots."""
        edges = [gradient_edge(r) for r in roots]
        needed = None
        if self.targets is not None:
            needed = _needed(edges, {k[0] for k in self.targets})
        for root, edge, grad in zip(roots, edges, grads, strict=True):
            self.send(edge, root._output_nr, grad)
        before = STATE.grad
        set_grad(self.create)
        try:
            self.loop(needed)
        finally:
            set_grad(before)

    def loop(self, needed: set[Any] | None) -> None:
        heap, pending, retain, send = self.heap, self.pending, self.retain, self.send
        plain = self.targets is None and not STATE.anomaly
        while heap:
            node = heappop(heap)[1]
            grads = pending.pop(node)
            if plain and node._extra is None:
                made = node.apply(grads)
                if not retain:
                    node.release()
            elif needed is None or node in needed:
                made = self.visit(node, grads)
            else:
                continue
            for edge, port, grad in zip(node._edges, node._ports, made):
                if grad is not None and edge is not None:
                    send(edge, port, grad)

    def visit(self, node: Any, grads: list[Any]) -> Sequence[Any]:
        """Hooks, the derivative, hooks."""
        extra = node._extra
        if extra is not None:
            grads = _before(node, extra, grads)
        if self.targets is not None:
            for port, grad in enumerate(grads):
                place = self.targets.get((node, port))
                if place is not None and grad is not None:
                    self.found[place] = grad
        if all(g is None for g in grads):
            return (None,) * len(node._edges)
        made = node.apply(grads)
        if STATE.anomaly:
            _check_nan(node, made)
        if not self.retain:
            node.release()
        if extra is not None and extra.hooks:
            made = _after(extra, made, grads)
        return made

    def send(self, edge: Any, port: int, grad: Any) -> None:
        """Add a gradient to what a node or leaf has got so far."""
        if isinstance(edge, TensorBase):
            self.leaf(edge, grad)
            return
        slots = self.pending.get(edge)
        if slots is None:
            count = edge.results()
            if count == 1:
                self.pending[edge] = [grad]
            else:
                slots = self.pending[edge] = [None] * count
                slots[port] = grad
            heappush(self.heap, (-edge._sequence, edge))
            return
        slots[port] = grad if slots[port] is None else OPERATORS.add(slots[port], grad)

    def leaf(self, tensor: Any, grad: Any) -> None:
        """Accumulate into `.grad`, or collect for `grad()`."""
        extra = tensor._extra
        if extra is not None and extra.hooks:
            for hook in list(extra.hooks.values()):
                changed = hook(grad)
                grad = grad if changed is None else changed
        if self.targets is not None:
            place = self.targets.get((tensor, 0))
            if place is not None:
                old = self.found.get(place)
                self.found[place] = grad if old is None else OPERATORS.add(old, grad)
        if not self.accumulate:
            return
        accumulate(tensor, grad, self.create)
        if extra is not None and extra.after:
            for hook in list(extra.after.values()):
                hook(tensor)


def accumulate(tensor: Any, grad: Any, create: bool) -> None:
    """`tensor.grad += grad`, in place unless a graph of the gradient is wanted."""
    spec = tensor._spec
    if grad._spec.dtype is not spec.dtype:
        grad = OPERATORS.to_dtype(grad, spec.dtype)
    old = tensor._grad
    if old is None:
        if not create and grad._requires_grad:
            grad = grad.detach()
        owned = grad._spec is spec and grad._node is None and _sole(grad)
        tensor._grad = grad if owned or create else OPERATORS.clone_like(grad, spec)
        return
    if create:
        tensor._grad = OPERATORS.add(old, grad)
    else:
        OPERATORS.add_(old, grad)


def _sole(grad: Any) -> bool:
    """Whether nothing else holds the gradient's memory (so that it can become `.grad`)."""
    import sys

    return sys.getrefcount(grad._storage) <= 2 and grad._extra is None


def _before(node: Any, extra: Any, grads: list[Any]) -> list[Any]:
    grads = list(grads)
    for port, hooks in (extra.tensor_hooks or {}).items():
        for hook in list(hooks.values()):
            if grads[port] is not None:
                changed = hook(grads[port])
                grads[port] = grads[port] if changed is None else changed
    for port, reference in (extra.retained or {}).items():
        tensor = reference()
        if tensor is not None and grads[port] is not None:
            tensor._grad = grads[port]
    for hook in list((extra.pre_hooks or {}).values()):
        changed = hook(tuple(grads))
        if changed is not None:
            grads = list(changed) if isinstance(changed, tuple) else [changed]
    return grads


def _after(extra: Any, made: Sequence[Any], grads: list[Any]) -> Sequence[Any]:
    for hook in list(extra.hooks.values()):
        changed = hook(tuple(made), tuple(grads))
        if changed is not None:
            made = changed if isinstance(changed, tuple) else (changed,)
    return made


def _check_nan(node: Any, made: Sequence[Any]) -> None:
    if not STATE.check_nan:
        return
    for k, grad in enumerate(made):
        if grad is not None and bool(OPERATORS.any(OPERATORS.isnan(grad))):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {k}th "
                               "output.")


# ---- entry points ----------------------------------------------------------------------------

def _root_gradients(tensors: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    made = []
    for tensor, grad in zip(tensors, grads, strict=True):
        if not tensor.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a "
                               "grad_fn")
        if grad is None:
            if tensor._spec.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            grad = OPERATORS.filled_like(tensor, None, 1)
        elif tuple(grad._spec.shape) != tuple(tensor._spec.shape):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and output[0] "
                f"has a shape of {tensor.shape}.")
        made.append(grad)
    return made


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
             create_graph: bool = False, inputs: Any = None) -> None:
    """Accumulate into the leaves' `.grad` the gradient of the sum of `tensors`."""
    roots = _listed(tensors)
    given = [None] * len(roots) if grad_tensors is None else _listed(grad_tensors)
    grads = _root_gradients(roots, given)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        Run(retain, create_graph, None, True).start(roots, grads)
        return
    wanted = _listed(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
    for tensor, one in zip(wanted, _collect(roots, grads, wanted, retain, create_graph),
                           strict=True):
        if one is not None:
            accumulate(tensor, one, create_graph)


def _collect(roots: list[Any], grads: list[Any], inputs: list[Any], retain: bool, create: bool
             ) -> list[Any]:
    targets = {}
    for k, tensor in enumerate(inputs):
        if not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        targets[gradient_edge(tensor), tensor._output_nr] = k
    run = Run(retain, create, targets, False)
    run.start(roots, grads)
    return [run.found.get(targets[gradient_edge(t), t._output_nr]) for t in inputs]


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """Gradients of the sum of `outputs` with respect to `inputs`, given back as a tuple."""
    roots, wanted = _listed(outputs), _listed(inputs)
    given = [None] * len(roots) if grad_outputs is None else _listed(grad_outputs)
    grads = _root_gradients(roots, given)
    retain = create_graph if retain_graph is None else retain_graph
    found = _collect(roots, grads, wanted, retain, create_graph)
    if materialize_grads:
        found = [OPERATORS.zeros_like(t) if g is None else g
                 for t, g in zip(wanted, found, strict=True)]
    elif not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior.")
    return tuple(found)
