"""Recording: an operator call becomes a node of the tape."""

from __future__ import annotations

from typing import Any

from ..core import registry
from ..dispatch.fast import next_sequence
from ..dispatch.state import STATE
from ..runtime.plan import Plan
from .inplace import gradient_edge, rebase
from .node import Node, PackedNode
from .saved import save


def record_node(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...], results: list[Any],
                target: Any = None) -> None:
    """Put a call on the tape. `target`: the tensor that an in-place call wrote."""
    node = PackedNode() if STATE.saving else Node()
    node._plan = plan
    node._scalars = scalars
    node._extra = None
    edges, ports, wanted = [], [], 0
    if target is not None and target._counter is not None:
        target._counter.value -= 1  # views that were up to date before the write keep their nodes
    for k, tensor in enumerate(tensors):
        source = target if target is not None and k == 0 else tensor
        if source._requires_grad:
            edges.append(gradient_edge(source))
            ports.append(source._output_nr)
            wanted |= 1 << k
        else:
            edges.append(None)
            ports.append(0)
    if target is not None and target._counter is not None:
        target._counter.value += 1
    node._sequence = next_sequence()
    node._edges = tuple(edges)
    node._ports = tuple(ports)
    node._mask = wanted
    node._saved = ()
    if STATE.anomaly:
        from .anomaly_mode import remember

        remember(node)
    if target is not None:
        if STATE.saving and edges[0] is not None:  # hooks see what was written as it stood there
            tensors[0]._node, tensors[0]._output_nr = edges[0], ports[0]
            tensors[0]._requires_grad = True
        rebase(target, node)
        _outdate(tensors[1:], target)
    else:
        _place(node, plan, results)
    node._saved = tuple([save(results[k] if is_result else tensors[k])
                         for is_result, k in plan.saves(wanted)])
    if target is not None and not STATE.saving:
        _spoil(node, plan.saves(wanted), tensors, target)


def _place(node: Node, plan: Plan, results: list[Any]) -> None:
    for k, result in enumerate(results):
        if plan.carries(k):
            result._node = node
            result._output_nr = k
            result._requires_grad = True


def _spoil(node: Node, places: Any, tensors: list[Any], target: Any) -> None:
    """What the write itself changed under a kept operand must not be read in backward."""
    for (is_result, k), kept in zip(places, node._saved, strict=True):
        if not is_result and k and tensors[k]._counter is target._counter:
            kept.version -= 1


def _outdate(operands: list[Any], target: Any) -> None:
    """Operands that are views of the memory just written are out of date again."""
    for operand in operands:
        if operand._counter is target._counter and operand is not target:
            extra = operand._extra
            if extra is not None and extra.base is not None:
                extra.seen = -1


registry.record_node = record_node
