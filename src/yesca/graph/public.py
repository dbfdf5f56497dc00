"""`compile`: run a function's launches together instead of one by one."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from ..base import settings
from ..base.frames import without_own
from ..dispatch import observing
from ..dispatch.state import STATE
from . import breaks, logs, recorder, stance
from . import options as choices
from .trie import Function

#: The backends that PyTorch knows by name, and its tags for them; all mean the same here.
BACKENDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("inductor", "cudagraphs", "openxla", "tvm"), ()),
    "openxla_eval": ("experimental",),
    **dict.fromkeys((
        "aot_eager", "aot_eager_decomp_partition", "aot_eager_decomp_partition_crossref",
        "aot_eager_decomp_partition_with_mode", "aot_eager_default_partitioner", "aot_ts", "eager",
        "eager_debug", "eager_noexcept", "invoke_subgraph", "pre_dispatch_eager", "ts",
    ), ("debug",)),
}
#: The functions that `compiler.reset` makes forget their recordings.
known: weakref.WeakSet[Function] = weakref.WeakSet()
default_backend: Any = "inductor"
#: Of a function whose recordings save nothing, one call in so many is recorded: it may do more now.
RECORDED_EVERY = 64


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

    model: a function, a module, or a class, which stays itself: calls of its instances change.
    Without it, gives a decorator. fullgraph=True raises RuntimeError where a value decides what
    is done next or is printed, and where the program asks for a break.
    disable=True (or YESCA_COMPILE=0) gives `model` back. What names of backend, mode and options
    choose among in PyTorch is one and the same here; unknown ones raise InvalidBackend and
    RuntimeError. A function as backend is refused with InvalidBackend: it would compile what a
    tracer finds, and there is none. The other arguments are accepted.

    >>> import yesca as torch
    >>> @torch.compile
    ... def double_of_sum(x):
    ...     return (x + 1).sum() * 2
    >>> double_of_sum(torch.zeros(3)).item()
    6.0
    """
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable, shapes_spec=shapes_spec)
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified "
                           "at the same time.")
    logs.check()
    _check_backend(default_backend if backend is None else backend, mode, options)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    if shapes_spec is not None and not isinstance(shapes_spec, dict):
        raise TypeError(f"shapes_spec must be ParamsSpec, dict, or None, got "
                        f"{type(shapes_spec).__name__}")
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or not settings.COMPILE.get():
        return model
    if isinstance(model, type):
        return _compiled_class(model, fullgraph)
    whole = getattr(type(model), "_compiled_whole", None)  # a module makes a module of it
    if whole is not None:
        return whole(model, functools.partial(_compiled, fullgraph=fullgraph))
    return _compiled(model, fullgraph)


def _check_backend(backend: Any, mode: Any, options: Any) -> None:
    """Raise what PyTorch does for names that nobody knows; refuse backends of the program's own."""
    if not isinstance(backend, str):
        if not callable(backend):
            raise TypeError(f"backend must be a string or callable, got {type(backend)}")
        raise breaks.InvalidBackend(
            f"Invalid backend: {backend!r}. A function as backend is to compile graphs of "
            "PyTorch's tracer, and here nothing is traced. Take one of "
            "`torch._dynamo.list_backends()`; `torch.compiler.explain` shows what is run.")
    if backend not in BACKENDS:
        raise breaks.InvalidBackend(f"Invalid backend: {backend!r}, see "
                                    "`torch._dynamo.list_backends()` for available backends.")
    if backend != "inductor":
        return
    if mode is not None and mode not in choices.MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(choices.MODES)}")
    if options:
        choices.check(options)


def choose_backend(backend: Any) -> None:
    """What `compile` takes where no backend is named; None: what it takes from the start."""
    global default_backend
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    default_backend = "inductor" if backend is None else backend


def _compiled_class(model: type, fullgraph: bool) -> type:
    """The class itself, with calls of its instances compiled if there are any."""
    for owner in model.__mro__:
        if "__call__" in vars(owner):
            model.__call__ = _compiled(vars(owner)["__call__"], fullgraph)  # type: ignore[operator]
            break
    return model


def _compiled(function: Callable[..., Any], fullgraph: bool) -> Callable[..., Any]:
    about = Function(function)
    known.add(about)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        own = recorder.threads.recorder or recorder.current()
        if own.inside or stance.used and stance.special():  # part of a larger recording, or none
            return _specially(about, own, run, args, kwargs)
        idle = about.idle and about.calls % RECORDED_EVERY and not (
            fullgraph or breaks.listeners or observing.current)
        try:
            try:
                if idle:
                    about.calls += 1
                    own.inside = True
                else:
                    own.begin(about.recordings(), fullgraph)
                return function(*args, **kwargs) if kwargs else function(*args)
            finally:
                own.inside = False
                if not idle:
                    STATE.recorder = None  # Ctrl-C may come as soon as `end` is entered
                    own.end()
        except Exception as error:
            if not settings.VERBOSE.get():
                error.__traceback__ = without_own(error.__traceback__)
            raise

    run._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return run


def _specially(about: Function, own: recorder.Recorder, run: Callable[..., Any], args: Any,
               kwargs: Any) -> Any:
    """A call inside a larger recording, or under a stance."""
    chosen = stance.chosen()
    waits = chosen.endswith("eager_then_compile") and not about.calls
    if own.inside or chosen == "force_eager" or waits:
        about.calls += waits
        return about.function(*args, **kwargs)
    before = about.built
    with stance.plain():
        result = run(*args, **kwargs)
    if chosen == "fail_on_recompile" and about.built > before:
        raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'. "
                           f"{about.location()}")
    return result
