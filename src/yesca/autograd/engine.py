"""The engine: walks the tape from results to leaves, iteratively, in reverse creation order.

At each node, in this order: hooks of its result tensors, `retain_grad`, what `grad()` collects,
hooks before the node, its derivative, hooks after it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

from ..core.memory_formats import lies_as
from ..core.dtypes import SCALAR_NAMES
from ..core.storage import UntypedStorage
from ..core.tensor_base import TensorBase
from ..dispatch import handlers, observing
from ..dispatch.call import OPERATORS
from ..dispatch.levels import off_tape
from ..dispatch.state import HOOKED_LEAVES, STATE, set_grad, set_levels
from .function_node import FunctionNode, fitted
from .node import Node

Edge = tuple[Any, int]
#: What a profile calls the parts of a pass.
_EVALUATE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"


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


def _hooked_leaves(roots: Sequence[Any], all_leaves: bool) -> dict[Any, int]:
    """How many gradients each reachable leaf with hooks waits for: they see the whole sum.

    all_leaves: those without hooks as well.
    """
    found: dict[Any, int] = {}
    seen: set[Any] = set()
    stack: list[Sequence[Any]] = [roots]
    while stack:
        for edge in stack.pop():
            if edge is None:
                continue
            if isinstance(edge, TensorBase):
                extra = edge._extra
                if all_leaves or extra is not None and (extra.hooks or extra.after):
                    found[edge] = found.get(edge, 0) + 1
            elif edge not in seen:
                seen.add(edge)
                stack.append(edge._edges)
    return found


def running() -> bool:
    """Whether a pass runs in this thread."""
    return STATE.run is not None


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` when the pass that runs now has ended."""
    if not running():
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    current_run().final.append(callback)


def current_run() -> Run:
    """The pass that runs in this thread."""
    return STATE.run  # type: ignore[no-any-return]


class Run:
    """One backward pass.

    Nodes are visited from the last made to the first. Whatever consumed a node's results was made
    after it, and a consumer that is still unknown hangs on a node that is later still; so when a
    node's turn comes, all its gradients have arrived, and nothing needs to be counted. Only leaves
    with hooks are: a hook sees the sum, as soon as it is complete.

    targets     for `grad()`: (node or leaf, result number) -> positions among its inputs
    accumulate  whether leaves take their gradient (only targets, if there are any)
    """

    def __init__(self, retain: bool, create: bool, targets: dict[Edge, list[int]] | None,
                 accumulate: bool) -> None:
        self.retain, self.create = retain, create
        self.targets, self.accumulate = targets, accumulate
        self.found: dict[int, Any] = {}
        self.pending: dict[Any, list[Any]] = {}
        self.heap: list[tuple[int, Any]] = []
        self.waiting: dict[Any, int] | None = None
        self.hollow: set[Any] = set()  # nodes to which a consumer has sent None
        self.final: list[Callable[[], Any]] = []  # what is called at its end
        self.aimed: set[Any] = set()  # where targets are: they, and the nodes above them
        self.memo: dict[Any, Any] = {}  # what checkpoints have computed again in this pass

    def start(self, edges: Sequence[Edge], grads: list[Any]) -> None:
        """Walk from the roots; `grads` is emptied, so that nothing is kept longer than needed."""
        roots = [e for e, _ in edges]
        levels = STATE.levels
        seen = bool(levels) and any(level.dispatches for level in levels)  # sums are operators too
        if HOOKED_LEAVES or seen:
            self.waiting = _hooked_leaves(roots, seen) or None
        needed = None
        if self.targets is not None:
            ends = {e for e, _ in self.targets}
            needed = _needed(roots, ends)
            self.aimed = needed | ends
        grads.reverse()
        for edge, port in edges:
            if isinstance(edge, TensorBase):
                self.send_leaf(edge, grads)
            else:
                self.send(edge, port, grads.pop())
        before, outer = STATE.grad, STATE.run
        STATE.run = self
        self.roots = roots
        if levels:
            set_levels([level for level in levels if level.transforms])
        set_grad(self.create)
        try:
            self.loop(needed)
            if self.pending:
                for leaf in [e for e in self.pending if isinstance(e, TensorBase)]:
                    self.leaf(leaf, self.pending.pop(leaf))
            for callback in self.final:
                callback()
        finally:
            STATE.run = outer
            if levels:
                set_levels(levels)
            set_grad(before)

    def reached(self, places: Sequence[Any]) -> int:
        """How many of these nodes and leaves the pass comes to."""
        seen: set[Any] = set()
        stack = [r for r in self.roots if r is not None]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if not isinstance(node, TensorBase):
                stack.extend([e for e in node._edges if e is not None])
        return sum(p is not None and p in seen for p in places)

    def loop(self, needed: set[Any] | None) -> None:
        heap, pending, retain, send = self.heap, self.pending, self.retain, self.send
        hollow, create, hooked = self.hollow, self.create, self.waiting is not None
        observer = observing.current
        plain = self.targets is None and not STATE.anomaly and observer is None
        visit = self.visit if observer is None else self.observed_visit
        while heap:
            node = heappop(heap)[1]
            if hollow and self.passes_none(node):
                made: Sequence[Any] = (None,) * len(node._edges)
                del pending[node]
            elif plain and node._extra is None:
                made = node.apply(pending.pop(node))
                if not retain:
                    node.release()
            else:
                made = visit(node, pending.pop(node), needed is None or node in needed)
            box = [*made]
            del made
            box.reverse()
            for edge, port in zip(node._edges, node._ports):  # noqa: B905 - as many as gradients
                if edge is None:
                    box.pop()
                elif isinstance(edge, TensorBase):
                    if plain and not hooked and edge._extra is None and edge._requires_grad \
                            and box[-1] is not None:
                        accumulate(edge, box, create)  # what `send_leaf` comes to
                    else:
                        self.send_leaf(edge, box)
                else:
                    send(edge, port, box.pop())

    def passes_none(self, node: Any) -> bool:
        """Whether a node got nothing but None, and so gives nothing.

        Custom functions are run nevertheless: they may make zeros of it.
        """
        return node in self.hollow and not isinstance(node, FunctionNode) \
            and all(g is None for g in self.pending[node])

    def visit(self, node: Any, grads: list[Any], needed: bool) -> Sequence[Any]:
        """Hooks, what is collected, the derivative, hooks."""
        extra = node._extra
        collects = self.targets is not None and not self.accumulate
        if collects and needed:  # as PyTorch: hooks of a tensor change what is collected for it
            self.collect(node, grads)  # only where the pass ends
        if extra is not None and (extra.tensor_hooks or extra.retained):
            _tensor_hooks(extra, grads)
        if collects and not needed:
            self.collect(node, grads)
        if not needed:
            return self.pass_by(node, grads)
        if extra is not None and extra.pre_hooks:
            grads = _pre_hooks(extra, grads)
        apply = node.apply
        if self.targets is not None and isinstance(node, Node) and node._plan is not None:
            mask = sum(1 << k for k, e in enumerate(node._edges) if e in self.aimed)
            if mask != node._mask:  # what leads to no target is not computed
                apply = partial(node.toward, mask)
        if STATE.anomaly:
            from .anomaly_mode import watched

            apply = partial(watched, node)
        observer = observing.current
        if observer is None:
            made = apply(grads)
        else:
            with observer.node(node.name(), node._sequence):
                made = apply(grads)
        if not self.retain:
            node.release()
        if extra is not None and extra.hooks:
            made = _after(node, extra, made, grads)
        return made

    def observed_visit(self, node: Any, grads: list[Any], needed: bool) -> Sequence[Any]:
        """`visit` while a profile is on."""
        observer = observing.current
        if observer is None:  # switched off by another thread, or by a hook
            return self.visit(node, grads, needed)
        with observer.node(f"{_EVALUATE}{node.name()}", node._sequence):
            return self.visit(node, grads, needed)

    def pass_by(self, node: Any, grads: list[Any]) -> Sequence[Any]:
        """A node above which nothing is asked for; hooks of one that `backward` names still run."""
        made, extra = (None,) * len(node._edges), node._extra
        targets = self.targets or {}
        if self.accumulate and extra is not None \
                and any((node, port) in targets for port in range(len(grads))):
            if extra.pre_hooks:
                grads = _pre_hooks(extra, grads)
            if not self.retain:
                node.release()
            if extra.hooks:
                _after(node, extra, made, grads)
        return made

    def collect(self, node: Any, grads: Sequence[Any]) -> None:
        """Keep what `grad()` was asked for."""
        for port, grad in enumerate(grads):
            for place in self.targets.get((node, port), ()):  # type: ignore[union-attr]
                old = self.found.get(place)
                self.found[place] = grad if old is None else OPERATORS.add(old, grad)

    def send(self, edge: Any, port: int, grad: Any) -> None:
        """Add a gradient to what a node has got so far."""
        if grad is None:
            self.hollow.add(edge)
            if edge in self.pending:
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

    def send_leaf(self, tensor: Any, box: list[Any]) -> None:
        """A leaf without hooks takes each gradient at once, one with hooks the sum.

        The gradient is the last of the box: nothing else shall hold it when the leaf takes it.
        """
        waiting = self.waiting
        if waiting is None or tensor not in waiting:
            self.leaf(tensor, box)
            return
        grad = box.pop()
        slots = self.pending.setdefault(tensor, [None])
        if grad is not None:
            slots[0] = grad if slots[0] is None else OPERATORS.add(slots[0], grad)
        del grad  # the leaf takes what nobody else has
        waiting[tensor] -= 1
        if not waiting[tensor]:
            self.leaf(tensor, self.pending.pop(tensor))

    def leaf(self, tensor: Any, box: list[Any]) -> None:
        """Hooks, then accumulate the box's last gradient into `.grad`, or collect it."""
        if box[-1] is None or not tensor._requires_grad:
            box.pop()
            return
        extra = tensor._extra
        if extra is not None and extra.takes is not None:
            box[-1] = _retyped(box[-1], extra.takes[0])
        if extra is not None and extra.hooks:
            box[-1] = _call_hooks(_in_order(extra.hooks), box[-1])
        wanted = self.targets is None or (tensor, 0) in self.targets
        if not self.accumulate or not wanted:
            grad = box.pop()
            if wanted:
                self.collect(tensor, (grad,))
            return
        observer = observing.current
        if observer is None:
            accumulate(tensor, box, self.create)
        else:
            with observer.node(_EVALUATE + _ACCUMULATE, -1), observer.node(_ACCUMULATE, -1):
                accumulate(tensor, box, self.create)
        if extra is not None and extra.after:
            for hook in _in_order(extra.after):
                _refuse(hook(tensor))


def _retyped(grad: Any, dtype: Any) -> Any:
    """A gradient in the dtype that its leaf takes; None takes all."""
    return grad if dtype in (None, grad._spec.dtype) else OPERATORS.to_dtype(grad, dtype)


def _views_what_nobody_has(grad: Any) -> bool:
    """Whether a gradient is a view of a tensor that is there for it alone."""
    extra = grad._extra
    return extra is not None and extra.base is not None and sys.getrefcount(extra.base) <= 2


def accumulate(tensor: Any, box: list[Any], create: bool) -> None:
    """`tensor.grad += box.pop()`, in place unless a graph of the gradient is wanted."""
    grad = box.pop()
    spec, own = tensor._spec, grad._spec
    if own is not spec and own.shape != spec.shape:
        raise RuntimeError(
            f"Function AccumulateGrad returned an invalid gradient at index 0 - got "
            f"{list(own.shape)} but expected shape compatible with {list(spec.shape)}")
    old = tensor._grad
    if old is None:
        held = grad._storage.__class__ is not UntypedStorage  # by a recorder
        seen = bool(STATE.levels) and handlers.seen(())
        viewed = seen and _views_what_nobody_has(grad)
        alone = sys.getrefcount(grad) <= 2 and sys.getrefcount(grad._storage) <= 2 + held + viewed
        if not alone and not create or not lies_as(own, spec):
            grad = OPERATORS.clone_like(grad, spec)
            seen = False
        if not create and (seen or grad._requires_grad):
            grad = off_tape(grad)
        tensor._grad = grad
    elif old.is_sparse and not grad.is_sparse:
        tensor._grad = OPERATORS.add(grad, old)
    elif create or old._requires_grad:
        tensor._grad = OPERATORS.add(old, grad)
    else:
        OPERATORS.add_(old, grad)


# ---- hooks -----------------------------------------------------------------------------------

class NodeHook:
    """A hook on a leaf's end of the tape: it comes after those of the tensor itself."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run

    def __call__(self, value: Any) -> Any:
        return self.run(value)


def _in_order(hooks: Any) -> list[Any]:
    return sorted(hooks.values(), key=lambda hook: isinstance(hook, NodeHook))


def _refuse(returned: Any) -> None:
    """Hooks that run after accumulation give nothing."""
    if returned is None:
        return
    if not isinstance(returned, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
    raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _call_hooks(hooks: list[Any], grad: Any) -> Any:
    """Hooks of one tensor: each may replace the gradient (None, if no other result's came)."""
    for hook in hooks:
        changed = hook(grad)
        if changed is not None:
            if not isinstance(changed, TensorBase):
                raise TypeError("expected Variable, but hook returned "
                                f"'{type(changed).__name__}'")
            if grad is not None:
                _check_change(getattr(hook, "__name__", "hook"), changed._spec, grad._spec)
            grad = changed
    return grad


def _check_change(name: str, made: Any, was: Any) -> None:
    if made.dtype is not was.dtype:
        names = [f"torch.{SCALAR_NAMES[s.dtype]}Tensor" for s in (was, made)]
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {names[0]} got "
                           f"{names[1]})")
    if made.shape != was.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def _tensor_hooks(extra: Any, grads: list[Any]) -> None:
    for port, hooks in (extra.tensor_hooks or {}).items():
        grads[port] = _call_hooks(list(hooks.values()), grads[port])
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
    """Hooks see the gradients of the edges as PyTorch numbers them."""
    places = node.shown()
    shown = tuple([None if k is None else made[k] for k in places])
    changed = _changed_by_hooks(node, extra, shown, grads)
    if changed is shown:
        return made
    found = [None] * len(made)
    for k, grad in zip(places, changed, strict=True):
        if k is not None:
            found[k] = grad
    return found


def _changed_by_hooks(node: Any, extra: Any, made: Sequence[Any], grads: list[Any]
                      ) -> Sequence[Any]:
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
