"""Whether compiled functions record: `torch.compiler.set_stance` and `torch.compiler.disable`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..dispatch import state
from ..dispatch.state import STATE

STANCES = frozenset({"default", "force_eager", "eager_on_recompile", "fail_on_recompile",
                     "eager_then_compile", "aot_eager_then_compile"})
_current = "default"
used = False  # whether anything was ever disabled or another stance chosen: else nobody need ask


class _Depth(threading.local):
    """How many functions that must not be compiled this thread is in."""

    def __init__(self) -> None:
        self.disabled = 0


_DEPTH = _Depth()


def special() -> bool:
    """Whether compiled functions do anything but record and replay."""
    return _current != "default" or _DEPTH.disabled > 0


def disabled_here() -> bool:
    """Whether this thread runs a function that must not be compiled."""
    return _DEPTH.disabled > 0


def chosen() -> str:
    """The stance of this thread's next call; an error for one that nobody knows."""
    if _current not in STANCES:
        raise RuntimeError(f"invalid torch.compile stance 'DynamoStance(stance={_current!r}, "
                           "skip_guard_eval_unsafe=False, backend=None)'")
    return "force_eager" if _DEPTH.disabled else _current


@contextmanager
def plain() -> Iterator[None]:
    """The default stance for a while."""
    before = set_stance._choose("default")
    try:
        yield
    finally:
        set_stance._choose(before)


class set_stance:  # noqa: N801 - PyTorch's name
    """Choose what compiled functions do; as a context manager or decorator, for a while.

    `"force_eager"` runs them without recording, `"eager_then_compile"` the first time.
    `"fail_on_recompile"` raises RuntimeError after a call that needed a new program, with all that
    the call has done. `"eager_on_recompile"` is as `"default"`: what is new is always run. Under
    any other name calls of compiled functions raise RuntimeError.

    >>> import yesca as torch
    >>> with torch.compiler.set_stance("force_eager"):
    ...     torch.compile(lambda x: x + 1)(torch.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance != "default" and force_backend is not None:
            raise RuntimeError("non-default stance cannot have force_backend set")
        self.stance = stance
        self._before = self._choose(stance)

    @staticmethod
    def _choose(stance: str) -> str:
        global _current, used
        used = True
        before, _current = _current, stance
        return before

    def __enter__(self) -> None:
        if _current != self.stance:
            self._before = self._choose(self.stance)

    def __exit__(self, *problem: object) -> None:
        self._choose(self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self._choose(self._before)  # as a decorator it acts while the function runs

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            before = self._choose(self.stance)
            try:
                return function(*args, **kwargs)
            finally:
                self._choose(before)

        return run


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


class Unrecorded:
    """Run what is recorded, and let calls run at once for a while; see `Recorder.broken`.

    A class, for a break names the innermost frame that is not the package's: `contextlib` has one.
    """

    def __init__(self, kind: str, what: str, refused: bool) -> None:
        self.recorder = STATE.recorder
        self.given = kind, what, refused

    def __enter__(self) -> None:
        if self.recorder is not None:
            self.recorder.broken(*self.given)
            state.set_recorder(None)

    def __exit__(self, *error: object) -> None:
        if self.recorder is not None:
            state.set_recorder(self.recorder)


def disabled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function outside of any recording, with compiled functions in it run as they are."""
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        global used
        used = True
        recorder = STATE.recorder
        with Unrecorded("disabled", _name(function), recorder is not None and recorder.strict):
            _DEPTH.disabled += 1
            try:
                return function(*args, **kwargs)
            finally:
                _DEPTH.disabled -= 1

    run._torchdynamo_disable = True  # type: ignore[attr-defined]
    return run
