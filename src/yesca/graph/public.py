"""`compile`: run a function's launches together instead of one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..base import settings
from ..dispatch.state import STATE
from . import recorder, stance
from .trie import Trie


def compile(model: Any = None, *, fullgraph: bool = False,  # noqa: A001
            dynamic: bool | None = None, backend: Any = None, mode: str | None = None,
            options: dict[str, Any] | None = None, disable: bool = False) -> Any:
    """Record what a function or module launches, and replay it by one native call.

    The function's Python runs at every call, so it may do anything that Python can; only the
    kernels are put off and run together at the end, from a program that earlier calls with the
    same operators and memory layout have left. Results, gradients, version counters and errors
    are those of the function itself. Reading a value inside (`item()`, `if x.sum() > 0`, `print`,
    NumPy) runs what is recorded so far, which costs speed and nothing else.

    model: a function or module; without it, gives a decorator. fullgraph=True raises RuntimeError
    where a value is read inside. disable=True (or YESCA_COMPILE=0) gives `model` back. dynamic,
    backend, mode and options are accepted and change nothing yet.

    >>> import yesca as torch
    >>> @torch.compile
    ... def double_of_sum(x):
    ...     return (x + 1).sum() * 2
    >>> double_of_sum(torch.zeros(3)).item()
    6.0
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified "
                           "at the same time.")
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable)
    if not callable(model):
        raise RuntimeError(f"compile() takes a function or a module, but got {type(model)}")
    if disable or not settings.COMPILE.get():
        return model
    whole = getattr(type(model), "_compiled_whole", None)  # a module makes a module of it
    if whole is not None:
        return whole(model, functools.partial(_compiled, fullgraph=fullgraph))
    return _compiled(model, fullgraph)


def _compiled(function: Callable[..., Any], fullgraph: bool) -> Callable[..., Any]:
    trie = Trie()

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal trie
        if STATE.recorder is not None or stance.eager():  # part of a larger recording, or none
            return function(*args, **kwargs)
        own = recorder.current()
        trie = trie.bounded()
        own.begin(trie, fullgraph)
        try:
            return function(*args, **kwargs)
        finally:
            own.end()

    run._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return run
