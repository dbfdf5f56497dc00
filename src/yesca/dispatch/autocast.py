"""Autocast: what an operator of a class does to its arguments, and the cache of cast weights.

A record's `autocast` names its class. The step stands above autograd, so that the tape records
the casts, and below transforms; parts of a composite that has a class run without it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ..core.devices import CPU
from ..core.dtypes import FLOATING, DType, float32, float64
from ..core.tensor_base import TensorBase
from ..operators.record import RECORDS, Record
from .shortcuts import Cast, CastRun
from .state import STATE, listeners, set_autocast


class _Cache(threading.local):
    """Per thread: casts of weights, until the outermost autocast region ends.

    A weight is cast once and its uses share the cast, so that its gradients are summed before
    they are cast back. An entry holds for the version of the weight that was cast, and for the
    grad mode: a cast that was made off the tape must not cut a later one from it.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.nesting = 0
        #: Off the tape, and on it: by a weight's address it, the version that was cast, the cast,
        #: the counter of the versions (`swap_tensors` gives a weight another one).
        self.casts: tuple[dict[int, tuple[Any, int, Any, Any]], ...] = ({}, {})

    def keep(self, enabled: bool) -> None:
        """Keep casts from now on, or make each anew."""
        if enabled is not self.enabled:
            self.enabled = enabled
            for listener in listeners:
                listener()

    def clear(self) -> None:
        """Forget all casts."""
        for casts in self.casts:
            casts.clear()


CACHE = _Cache()


def kept() -> tuple[dict[int, tuple[Any, int, Any, Any]], ...] | None:
    """This thread's casts of weights, off the tape and on it; None where none are kept."""
    return CACHE.casts if CACHE.enabled else None


def run(record: Record, values: tuple[Any, ...], runner: Callable[..., Any] | None = None) -> Any:
    """Cast the arguments by the record's class; run it with autocast off.

    runner: what runs it then; by default `call.run`.
    """
    from . import call

    lower, kind = STATE.autocast, record.autocast
    set_autocast(None)
    try:
        if kind == "told":
            values = (values[0], *[_cast_in(value, float32, lower) for value in values[1:-1]],
                      float32)
        elif kind != "given":
            wanted = lower if kind == "lower" else float32 if kind == "float32" else \
                _widest(record, values, lower)
            values = tuple([_cast_in(value, wanted, lower) for value in values])
        return (runner or call.run)(record, values)
    finally:
        set_autocast(lower)


def widening(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors that is no record, of the class "float32"."""
    @functools.wraps(function)
    def widened(*args: Any, **kwargs: Any) -> Any:
        lower = STATE.autocast
        if lower is None:
            return function(*args, **kwargs)
        set_autocast(None)
        try:
            return function(*[_cast_in(value, float32, lower) for value in args],
                            **{name: _cast_in(value, float32, lower)
                               for name, value in kwargs.items()})
        finally:
            set_autocast(lower)

    return widened


def lowered(values: Iterable[Any]) -> list[Any]:
    """Tensors as an operator of the class "lower" takes them; others as they are."""
    lower = STATE.autocast
    return [_cast(value, lower, lower) for value in values]


def _eligible(value: Any) -> bool:
    return (isinstance(value, TensorBase) and value._spec.dtype.category == FLOATING
            and value._spec.device is CPU)


def _widest(record: Record, values: tuple[Any, ...], lower: DType) -> DType:
    """float32 where any argument is that, else the lower precision."""
    found = lower
    given = [v for value in values
             for v in (value if isinstance(value, (list, tuple)) else (value,)) if _eligible(v)]
    for tensor in given:
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


def _cast_in(value: Any, wanted: DType, lower: DType) -> Any:
    """An argument with the tensors in it cast."""
    if isinstance(value, (list, tuple)) and any(map(_eligible, value)):
        return type(value)([_cast(v, wanted, lower) for v in value])
    return _cast(value, wanted, lower)


def _cast(value: Any, wanted: DType, lower: DType) -> Any:
    from .call import OPERATORS, known_plan

    if not _eligible(value):
        return value
    dtype = value._spec.dtype
    if dtype is wanted or dtype is float64:
        return value
    seen, STATE.seen = STATE.seen, None
    try:
        keeps = dtype is float32 and wanted is lower
        casts = CACHE.casts[STATE.tape] if keeps and CACHE.enabled and _is_weight(value) else None
        found = None if casts is None else casts.get(id(value))
        if found is None or found[3] is not value._counter or \
                found[1] != value._counter.value or found[2]._spec.dtype is not wanted:
            found = (value, 0 if casts is None else value._counter.value,
                     OPERATORS.to_dtype(value, wanted), value._counter)
            if casts is not None:
                casts[id(value)] = found
    finally:
        STATE.seen = seen
    if seen is not None:
        plan = known_plan(RECORDS["to_dtype"], (value, wanted, None), False)
        seen.append(None if plan is None else CastRun(Cast(plan, keeps), value, found[2]))
    return found[2]


def _is_weight(value: Any) -> bool:
    """A leaf that wants a gradient."""
    extra = value._extra
    return (value._requires_grad and value._node is None and value._counter is not None
            and (extra is None or extra.base is None))
