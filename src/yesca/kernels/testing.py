"""Measuring kernels: `triton.testing.do_bench`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

_MODES = ("min", "max", "mean", "median", "all")


def do_bench(fn: Callable[[], Any], warmup: float = 25, rep: float = 100,
             grad_to_none: Any = None, quantiles: Sequence[float] | None = None,
             return_mode: str = "mean") -> Any:
    """Milliseconds that a call takes.

    Args:
        warmup, rep: milliseconds to call it before, and while, time is taken.
        grad_to_none: tensors whose gradients are dropped before each call.
        quantiles: which quantiles to give, as a list, instead of `return_mode`.
        return_mode: "min", "max", "mean", "median" or "all" (a list).

    >>> from yesca.kernels import testing
    >>> testing.do_bench(lambda: sum(range(1000)), warmup=1, rep=2, return_mode="min") > 0
    True
    """
    if return_mode not in _MODES:
        raise ValueError(f"[do_bench] return_mode is one of {', '.join(_MODES)}, not "
                         f"{return_mode!r}")
    end = time.perf_counter() + warmup / 1000
    fn()
    while time.perf_counter() < end:
        fn()
    taken: list[float] = []
    end = time.perf_counter() + rep / 1000
    while not taken or time.perf_counter() < end:
        for tensor in grad_to_none or ():
            tensor.grad = None
        start = time.perf_counter()
        fn()
        taken.append((time.perf_counter() - start) * 1000)
    ordered = sorted(taken)
    if quantiles is not None:
        made = [_quantile(ordered, q) for q in quantiles]
        return made[0] if len(made) == 1 else made
    if return_mode == "all":
        return taken
    return {"min": ordered[0], "max": ordered[-1], "mean": sum(taken) / len(taken),
            "median": _quantile(ordered, 0.5)}[return_mode]


def _quantile(ordered: list[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None,
                 err_msg: str = "") -> None:
    """Raise AssertionError unless two tensors agree (to 1e-2 by default)."""
    import numpy as np

    a, b = (np.asarray(v.detach().float().numpy() if hasattr(v, "detach") else v)
            for v in (x, y))
    np.testing.assert_allclose(a, b, atol=1e-2 if atol is None else atol,
                               rtol=0.0 if rtol is None else rtol, err_msg=err_msg)
