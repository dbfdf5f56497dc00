"""The engine: walks the tape from results to leaves, iteratively, in reverse creation order.

A node runs once all gradients of its results have arrived; a leaf counts as a node that runs as
soon as it can. At each node, in this order: hooks of its result tensors, `retain_grad`, what
`grad()` collects, hooks before the node, its derivative, hooks after it.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE, set_grad
from .function import FunctionNode, fitted

Edge = tuple[Any, int]


def _dependencies(roots: Sequence[Any]) -> dict[Any, int]:
    """How many gradients each reachable node or leaf waits for."""
    waiting: dict[Any, int] = dict.fromkeys(roots, 0)
    stack = [r for r in waiting if not isinstance(r, TensorBase)]
    while stack:
        for edge in stack.pop()._edges:
            if edge is None:
                continue
            seen = waiting.get(edge)
            if seen is None:
                waiting[edge] = 1
                if not isinstance(edge, TensorBase):
                    stack.append(edge)
            else:
                waiting[edge] = seen + 1
    return waiting


def _needed(roots: Sequence[Any], targets: set[Any]) -> set[Any]:
    """The nodes that lie above a target: those whose derivative must run."""
    useful: set[Any] = set()
    seen: set[Any] = set()
    stack = [(r, False) for r in roots if not isinstance(r, TensorBase)]
    while stack:
        node, done = stack.pop()
        if done:
            if any(e is not None and (e in useful or e in targets) for e in node._edges):
                useful.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(e, False) for e in node._edges
                          if e is not None and not isinstance(e, TensorBase)])
    return useful


class Run:
    """One backward pass.

    targets     for `grad()`: (node or leaf, result number) -> positions among its inputs
    accumulate  whether leaves take their gradient (only targets, if there are any)
    """

    def __init__(self, retain: bool, create: bool, targets: dict[Edge, list[int]] | None,
                 accumulate: bool) -> None:
        self.retain, self.create = retain, create
        self.targets, self.accumulate = targets, accumulate
        self.found: dict[int, Any] = {}
        self.pending: dict[Any, list[Any]] = {}
        self.heap: list[tuple[int, int, Any]] = []

    def start(self, edges: Sequence[Edge], grads: list[Any]) -> None:
        """Walk from the roots; `grads` is emptied, so that nothing is kept longer than needed."""
        roots = list(dict.fromkeys([e for e, _ in edges]))
        self.waiting = _dependencies(roots)
        self.needed = None
        if self.targets is not None:
            self.needed = _needed(roots, {e for e, _ in self.targets})
        for (edge, port), k in zip(edges, range(len(grads)), strict=True):
            self.send(edge, port, grads[k])
        grads.clear()
        for edge in roots:
            if not self.waiting[edge]:
                self.push(edge)
        before = STATE.grad
        set_grad(self.create)
        try:
            self.loop()
        finally:
            set_grad(before)

    def push(self, node: Any) -> None:
        order = -sys.maxsize if isinstance(node, TensorBase) else -node._sequence
        heapq.heappush(self.heap, (order, id(node), node))

    def loop(self) -> None:
        heap, pending = self.heap, self.pending
        while heap:
            node = heapq.heappop(heap)[2]
            if isinstance(node, TensorBase):
                if node in pending:
                    self.leaf(node, pending.pop(node))
                continue
            if node in pending:
                self.spread(node, self.visit(node, pending.pop(node)))
            else:
                self.spread(node, (None,) * len(node._edges))

    def spread(self, node: Any, made: Sequence[Any]) -> None:
        """Hand the gradients that a node made to where they go."""
        waiting = self.waiting
        for edge, port, grad in zip(node._edges, node._ports, made, strict=True):
            if edge is None:
                continue
            if grad is not None:
                self.send(edge, port, grad)
            left = waiting[edge] = waiting[edge] - 1
            if not left:
                self.push(edge)

    def visit(self, node: Any, grads: list[Any]) -> Sequence[Any]:
        """Hooks, what is collected, the derivative, hooks."""
        extra = node._extra
        if extra is not None and (extra.tensor_hooks or extra.retained):
            _tensor_hooks(extra, grads)
        if self.targets is not None:
            self.collect(node, grads)
            if node not in self.needed:  # type: ignore[operator]
                return (None,) * len(node._edges)
        if extra is not None and extra.pre_hooks:
            grads = _pre_hooks(extra, grads)
        if STATE.anomaly:
            from .anomaly_mode import watched

            made = watched(node, grads)
        else:
            made = node.apply(grads)
        if not self.retain:
            node.release()
        if extra is not None and extra.hooks:
            made = _after(node, extra, made, grads)
        return made

    def collect(self, node: Any, grads: Sequence[Any]) -> None:
        """Keep what `grad()` was asked for."""
        for port, grad in enumerate(grads):
            for place in self.targets.get((node, port), ()):  # type: ignore[union-attr]
                self.found[place] = grad

    def send(self, edge: Any, port: int, grad: Any) -> None:
        """Add a gradient to what a node or leaf has got so far."""
        slots = self.pending.get(edge)
        if slots is None:
            count = 1 if isinstance(edge, TensorBase) else edge.results()
            slots = self.pending[edge] = [None] * count
        before = slots[port]
        slots[port] = grad if before is None else OPERATORS.add(before, grad)

    def leaf(self, tensor: Any, slots: list[Any]) -> None:
        """Hooks, then accumulate into `.grad` or collect."""
        extra = tensor._extra
        if extra is not None and extra.hooks:
            slots[0] = _call_hooks(extra.hooks, slots[0])
        wanted = self.targets is None or (tensor, 0) in self.targets
        if not self.accumulate or not wanted:
            if wanted:
                self.collect(tensor, slots)
            return
        accumulate(tensor, slots, self.create)
        if extra is not None and extra.after:
            for hook in list(extra.after.values()):
                hook(tensor)


def accumulate(tensor: Any, box: list[Any], create: bool) -> None:
    """`tensor.grad += box.pop()`, in place unless a graph of the gradient is wanted."""
    grad = box.pop()
    if grad is None:
        return
    spec = tensor._spec
    if grad._spec.shape != spec.shape:
        raise RuntimeError(
            f"Function AccumulateGrad returned an invalid gradient at index 0 - got "
            f"{list(grad._spec.shape)} but expected shape compatible with {list(spec.shape)}")
    old = tensor._grad
    if old is None:
        alone = sys.getrefcount(grad) <= 2 and sys.getrefcount(grad._storage) <= 2
        if grad._spec is not spec or (not alone and not create):
            grad = OPERATORS.clone_like(grad, spec)
        if not create and grad._requires_grad:
            grad = grad.detach()
        tensor._grad = grad
    elif create or old._requires_grad:
        tensor._grad = OPERATORS.add(old, grad)
    else:
        OPERATORS.add_(old, grad)


# ---- hooks -----------------------------------------------------------------------------------

def _call_hooks(hooks: Any, grad: Any) -> Any:
    """Hooks of one tensor: each may replace the gradient."""
    for hook in list(hooks.values()):
        if grad is None:
            return None
        changed = hook(grad)
        if changed is not None:
            if not isinstance(changed, TensorBase):
                raise TypeError("hook returned a value of type "
                                f"{type(changed).__name__}; expected a Tensor or None")
            if changed._spec.shape != grad._spec.shape:
                raise RuntimeError("hook '" + getattr(hook, "__name__", "hook")
                                   + "' has changed the size of value")
            grad = changed
    return grad


def _tensor_hooks(extra: Any, grads: list[Any]) -> None:
    for port, hooks in (extra.tensor_hooks or {}).items():
        grads[port] = _call_hooks(hooks, grads[port])
    for port, reference in (extra.retained or {}).items():
        tensor, grad = reference(), grads[port]
        if tensor is not None and grad is not None:
            old = tensor._grad
            tensor._grad = OPERATORS.clone(grad) if old is None else OPERATORS.add(old, grad)


def _pre_hooks(extra: Any, grads: list[Any]) -> list[Any]:
    for hook in list(extra.pre_hooks.values()):
        changed = hook(tuple(grads))
        if changed is not None:
            changed = list(changed) if isinstance(changed, tuple) else [changed]
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"hook '{getattr(hook, '__name__', 'hook')}' has returned an incorrect number "
                    f"of values (got {len(changed)}, but expected {len(grads)})")
            grads = changed
    return grads


def _after(node: Any, extra: Any, made: Sequence[Any], grads: list[Any]) -> Sequence[Any]:
    for hook in list(extra.hooks.values()):
        changed = hook(tuple(made), tuple(grads))
        if changed is None:
            continue
        changed = changed if isinstance(changed, tuple) else (changed,)
        if len(changed) != len(made):
            raise RuntimeError(
                f"hook '{getattr(hook, '__name__', 'hook')}' has returned an incorrect number of "
                f"values (got {len(changed)}, but expected {len(made)})")
        if isinstance(node, FunctionNode):
            changed = tuple([None if g is None else fitted(node, k, g, node._specs[k])
                             for k, g in enumerate(changed)])
        made = changed
    return made
