"""`torch._dynamo`: what programs ask of PyTorch's tracer, answered by `yesca.compiler`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import compiler as _compiler
from ..compiler import (
    allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset,
    set_stance, substitute_in_graph,
)
from ..dispatch.state import STATE
from ..graph.explain import ExplainOutput, explain
from . import config, eval_frame, exc
from .eval_frame import OptimizedModule

__all__ = [
    "ExplainOutput", "OptimizedModule", "allow_in_graph", "assume_constant_result", "config",
    "disable", "disable_nested_graph_breaks", "disallow_in_graph", "dont_skip_tracing",
    "error_on_graph_break", "eval_frame", "exc", "explain", "forbid_in_graph", "graph_break",
    "is_compiling", "is_dynamo_supported", "is_inductor_supported", "list_backends",
    "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "nonstrict_trace",
    "optimize", "optimize_assert", "patch_dynamo_config", "reset", "run", "set_stance",
    "substitute_in_graph",
]

disallow_in_graph = disable


def forbid_in_graph(fn: Any) -> Any:
    """`fn` itself: it is called as it is."""
    return fn


def graph_break(msg: str = "") -> None:
    """Run what is recorded so far; nothing outside of compiled functions."""
    recorder = STATE.recorder
    if recorder is not None:
        recorder.broken("asked", f"graph_break({msg!r})" if msg else "graph_break()",
                        recorder.strict)


@contextmanager
def error_on_graph_break(error_on_graph_break: bool) -> Iterator[None]:
    """In a compiled function: whether a graph break is an error, for a while; also a decorator."""
    recorder = STATE.recorder
    if recorder is None:
        yield
        return
    recorder.trie.record_always()  # a call that is not recorded has no breaks
    before, recorder.strict = recorder.strict, error_on_graph_break
    try:
        yield
    finally:
        recorder.strict = before


def nonstrict_trace(traceable_fn: Any) -> Any:
    """The function itself: it is called as it is."""
    return traceable_fn


def dont_skip_tracing(fn: Any = None) -> Any:
    """`fn` itself, or a decorator that gives its function back: all functions are recorded."""
    return fn if fn is not None else lambda function: function


disable_nested_graph_breaks = dont_skip_tracing
patch_dynamo_config = config.patch


def optimize(backend: Any = "inductor", *, nopython: bool = False, disable: bool = False,
             dynamic: bool | None = None, **options: Any) -> Callable[[Any], Any]:
    """The decorator that `compile(backend=..., fullgraph=nopython)` is."""
    return lambda function: _compiler.compile(function, backend=backend, fullgraph=nopython,
                                              dynamic=dynamic, disable=disable)


def optimize_assert(backend: Any, **options: Any) -> Callable[[Any], Any]:
    """`optimize` that refuses graph breaks."""
    return optimize(backend, nopython=True)


def run(fn: Any = None) -> Any:
    """`fn` itself: it never compiles anew where nothing is new."""
    return fn if fn is not None else lambda function: function


def is_dynamo_supported() -> bool:
    """True: functions can be compiled."""
    return True


is_inductor_supported = is_dynamo_supported


def mark_dynamic(t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None,
                 max: int | None = None, specialize_on: Any = None) -> None:
    """Nothing: kernels serve all sizes."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Nothing: kernels serve all sizes."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: kernels serve all sizes."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Nothing: addresses come with each run."""
