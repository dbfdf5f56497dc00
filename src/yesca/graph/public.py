"""`compile`: run a function's launches together instead of one by one."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from ..base import settings
from ..dispatch.state import STATE
from . import breaks, logs, recorder, stance
from .trie import Function

#: What PyTorch's modes and backends are called; all of them mean the same here.
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
BACKENDS = ("inductor", "eager", "eager_noexcept", "aot_eager", "aot_eager_decomp_partition",
            "aot_ts", "cudagraphs", "onnxrt", "openxla", "tensorrt", "ts", "tvm")
#: The functions that `compiler.reset` makes forget their recordings.
known: weakref.WeakSet[Function] = weakref.WeakSet()


def compile(model: Any = None, *, fullgraph: bool = False,  # noqa: A001
            dynamic: bool | None = None, backend: Any = None, mode: str | None = None,
            options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False,
            recompile_limit: int | None = None, isolate_recompiles: bool = False,
            shapes_spec: Any = None) -> Any:
    """Record what a function or module launches, and replay it by one native call.

    The function's Python runs at every call, so it may do anything that Python can; only the
    kernels are put off and run together at the end, from a program that earlier calls with the
    same operators and memory layout have left. Results, gradients, version counters and errors
    are those of the function itself. Reading a value inside (`item()`, `if x.sum() > 0`, `print`,
    NumPy) runs what is recorded so far, which costs speed and nothing else.

    model: a function or module; without it, gives a decorator. fullgraph=True raises RuntimeError
    where a value is read inside. disable=True (or YESCA_COMPILE=0) gives `model` back. What backend
    and mode choose among in PyTorch is one and the same here; the other arguments are accepted.

    >>> import yesca as torch
    >>> @torch.compile
    ... def double_of_sum(x):
    ...     return (x + 1).sum() * 2
    >>> double_of_sum(torch.zeros(3)).item()
    6.0
    """
    _check_choices(backend, mode, options)
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or not settings.COMPILE.get():
        return model
    whole = getattr(type(model), "_compiled_whole", None)  # a module makes a module of it
    if whole is not None:
        return whole(model, functools.partial(_compiled, fullgraph=fullgraph))
    return _compiled(model, fullgraph)


def _check_choices(backend: Any, mode: Any, options: Any) -> None:
    logs.check()
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified "
                           "at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if isinstance(backend, str) and backend not in BACKENDS:
        raise breaks.InvalidBackend(f"Invalid backend: {backend!r}, see "
                                    "`torch._dynamo.list_backends()` for available backends.")


def _compiled(function: Callable[..., Any], fullgraph: bool) -> Callable[..., Any]:
    about = Function(function)
    known.add(about)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if STATE.recorder is not None or stance.special():  # part of a larger recording, or none
            return _specially(about, run, args, kwargs)
        own = recorder.current()
        try:
            own.begin(about.recordings(), fullgraph)
            return function(*args, **kwargs)
        finally:
            STATE.recorder = None  # Ctrl-C may come as soon as `end` is entered
            own.end()

    run._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return run


def _specially(about: Function, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A call inside a larger recording, or under a stance."""
    chosen = stance.chosen()
    waits = chosen.endswith("eager_then_compile") and not about.calls
    if STATE.recorder is not None or chosen == "force_eager" or waits:
        about.calls += waits
        return about.function(*args, **kwargs)
    before = about.built
    with stance.plain():
        result = run(*args, **kwargs)
    if chosen == "fail_on_recompile" and about.built > before:
        raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'. "
                           f"{about.location()}")
    return result
