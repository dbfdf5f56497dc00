"""Autocast: what an operator of a class does to its arguments, and the cache of cast weights.

A record's `autocast` names its class. The step stands above autograd, so that the tape records
the casts, and below transforms; parts of a composite that has a class run without it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ..core.devices import CPU
from ..core.dtypes import FLOATING, DType, float32, float64
from ..core.tensor_base import TensorBase
from ..operators.record import Record
from .state import STATE, set_autocast


class _Cache(threading.local):
    """Per thread: casts of weights, until the outermost autocast region ends.

    A weight is cast once and its uses share the cast, so that its gradients are summed before
    they are cast back. An entry holds for the version of the weight that was cast, and for the
    grad mode: a cast that was made off the tape must not cut a later one from it.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.nesting = 0
        self.casts: dict[tuple[int, bool], tuple[Any, int, Any]] = {}


CACHE = _Cache()


def run(record: Record, values: tuple[Any, ...]) -> Any:
    """Cast the arguments by the record's class; run it with autocast off."""
    from . import call

    lower = STATE.autocast
    set_autocast(None)
    try:
        if record.autocast == "lower":
            wanted = lower
        elif record.autocast == "float32":
            wanted = float32
        else:
            wanted = _widest(record, values, lower)
        return call.run(record, _cast_all(record, values, wanted, lower))
    finally:
        set_autocast(lower)


def lowered(values: Iterable[Any]) -> list[Any]:
    """Tensors as an operator of the class "lower" takes them; others as they are."""
    lower = STATE.autocast
    return [_cast(value, lower, lower) for value in values]


def _eligible(value: Any) -> bool:
    return (isinstance(value, TensorBase) and value._spec.dtype.category == FLOATING
            and value._spec.device is CPU)


def _tensors(record: Record, values: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for k in record.tensors:
        value = values[k]
        found += value if isinstance(value, (list, tuple)) else (value,)
    return [v for v in found if _eligible(v)]


def _widest(record: Record, values: tuple[Any, ...], lower: DType) -> DType:
    """float32 where any argument is that, else the lower precision."""
    found = lower
    for tensor in _tensors(record, values):
        dtype = tensor._spec.dtype
        if dtype is float64:
            continue
        if dtype is float32 or found is float32:
            found = float32
        elif dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize: "
                               f"{record.name} got {dtype} where autocast is set to {lower}; "
                               "cast its arguments to one dtype")
    return found


def _cast_all(record: Record, values: tuple[Any, ...], wanted: DType, lower: DType
              ) -> tuple[Any, ...]:
    made = list(values)
    for k in record.tensors:
        value = values[k]
        if isinstance(value, (list, tuple)):
            made[k] = type(value)([_cast(v, wanted, lower) for v in value])
        else:
            made[k] = _cast(value, wanted, lower)
    return tuple(made)


def _cast(value: Any, wanted: DType, lower: DType) -> Any:
    from .call import OPERATORS

    if not _eligible(value):
        return value
    dtype = value._spec.dtype
    if dtype is wanted or dtype is float64:
        return value
    extra = value._extra
    weight = (dtype is float32 and wanted is lower and value._requires_grad
              and value._node is None and value._counter is not None
              and (extra is None or extra.base is None))
    if not weight or not CACHE.enabled:
        return OPERATORS.to_dtype(value, wanted)
    key = (id(value), STATE.tape)
    found = CACHE.casts.get(key)
    if found is None or found[1] != value._counter.value or found[2]._spec.dtype is not wanted:
        found = (value, value._counter.value, OPERATORS.to_dtype(value, wanted))
        CACHE.casts[key] = found
    return found[2]
