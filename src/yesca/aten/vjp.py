"""Products of a gradient with the derivative of a function, by yesca's own tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.shortcuts import tensors_in
from ..dispatch.state import STATE, set_below, set_grad, set_levels


@contextmanager
def _recording() -> Any:
    """Inside, yesca's own tape records, and neither modes nor classes look on."""
    before, grad, levels = STATE.below, STATE.grad, STATE.levels
    set_below(False)
    set_grad(True)
    set_levels([])
    try:
        yield
    finally:
        set_levels(levels)
        set_grad(grad)
        set_below(before)


def _off(value: Any, graph: bool) -> Any:
    if isinstance(value, TensorBase):
        dtype = value._spec.dtype
        if graph and value._requires_grad:
            return value
        made = value.detach()  # type: ignore[attr-defined]
        if dtype.is_floating_point or dtype.is_complex:
            made._requires_grad = True  # also where transforms refuse `requires_grad_`
        return made
    if isinstance(value, (list, tuple)):
        return [_off(v, graph) for v in value]
    return value


def pulled_back(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
                grads: Sequence[Any]) -> list[Any]:
    """Gradients of all tensors among the arguments; None where there is none.

    grads: one for each result, or None. The function is run again, unseen by modes; what comes
    after it is seen.
    """
    from ..autograd.calls import gradients

    graph = STATE.tape
    with _recording():
        given = [_off(a, graph) for a in args]
        named = {k: _off(v, graph) for k, v in kwargs.items()}
        made = function(*given, **named)
    inputs = tensors_in((*given, *named.values()))
    results = made if isinstance(made, (tuple, list)) else (made,)
    pairs = [(r, g) for r, g in zip(results, grads, strict=False)
             if g is not None and isinstance(r, TensorBase) and r._requires_grad]
    wanted = [k for k, t in enumerate(inputs) if t._requires_grad]
    if not pairs or not wanted:
        return [None] * len(inputs)
    found = gradients([r for r, _ in pairs], [inputs[k] for k in wanted],
                      [g for _, g in pairs], graph, graph, True)
    out: list[Any] = [None] * len(inputs)
    for k, g in zip(wanted, found, strict=True):
        out[k] = g
    return out
