"""Explicit composites: made of other operators, but one node of the tape.

A composite record with formulas runs its body off the tape; the node keeps what the formulas read
rather than what the parts would. Levels see the parts, as they do of every composite.
"""

from __future__ import annotations

from typing import Any

from ..core import registry
from ..core.tensor_base import TensorBase
from ..operators.record import Record
from ..runtime.plan import NUMBER, PLAN_LIMIT, Plan
from ..runtime.program import Ref
from . import inplace
from .shortcuts import tensors_in
from .state import STATE, set_grad


def wanted(values: tuple[Any, ...]) -> bool:
    """Whether a call is to be a node: its formulas have something to do, and no level is inside."""
    if not STATE.tape or STATE.levels:
        return False
    tensors = tensors_in(values)
    for tensor in tensors:
        if tensor._extra is not None:
            inplace.settle(tensor)
    return any(t._requires_grad for t in tensors)


def run(record: Record, values: tuple[Any, ...], operators: Any, target: Any = None) -> Any:
    """Run the body off the tape, then put its results on it; or write them to `target`."""
    given, tensors, scalars = _bound(record, values)
    several = False
    if target is not None:
        inplace.check_tape(target, True, True)
    set_grad(False)
    try:
        made = record.composite(operators, *values)  # type: ignore[misc]
        if target is None:
            # New tensors: what was seen as a view of another, off the tape, is none of it on it.
            several = isinstance(made, tuple)
            results = [registry.wrap(t._storage, t._spec, t._offset)
                       for t in (made if several else (made,))]
            plan = _plan(record, values, given, len(tensors), results)
        else:
            results = [target]
            plan = _plan(record, values, given, len(tensors), results, True)
            original = inplace.keep_original(plan, tensors)
            tensors = tensors if original is None else [original, *tensors[1:]]
            operators.copy_(target, made)
    finally:
        set_grad(True)
    registry.record_node(plan, tensors, scalars, results, target)
    return tuple(results) if several else results[0]


def _plan(record: Record, values: tuple[Any, ...], given: tuple[Any, ...], operands: int,
          results: list[Any], writes: bool = False) -> Plan:
    """What the tape knows of a call: a plan without launches."""
    specs = tuple(t._spec for t in results)
    key = (given, specs, writes, *map(type, values))  # types keep 1, 1.0 and True apart
    plan = record.plans.get(key)
    if plan is None:
        if len(record.plans) >= PLAN_LIMIT:
            record.plans.clear()
        plan = record.plans[key] = Plan(record, given, operands, specs, inplace=writes,
                                        differentiable=True)
    return plan


def _bound(record: Record, values: tuple[Any, ...]
           ) -> tuple[tuple[Any, ...], list[Any], tuple[Any, ...]]:
    """The arguments as a plan has them, its tensors, and its run-time numbers."""
    given: list[Any] = []
    tensors: list[Any] = []
    scalars: list[Any] = []

    def reference(tensor: Any) -> Ref:
        tensors.append(tensor)
        return Ref(len(tensors) - 1, tensor._spec)

    for mode, value in zip(record.modes, values, strict=True):
        if mode in "TL" and isinstance(value, TensorBase):
            given.append(reference(value))
        elif mode == "L" and value is not None:
            given.append(tuple(reference(one) for one in value))
        elif mode in "TS" and value is not None:
            scalars.append(value)
            given.append(NUMBER)
        else:
            given.append(tuple(value) if isinstance(value, list) else value)
    return tuple(given), tensors, tuple(scalars)
