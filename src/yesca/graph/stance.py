"""Whether compiled functions record: `torch.compiler.set_stance` and `torch.compiler.disable`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from ..dispatch import state
from ..dispatch.state import STATE

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile",
           "eager_then_compile", "aot_eager_then_compile")
_current = "default"


class _Depth(threading.local):
    """How many functions that must not be compiled this thread is in."""

    def __init__(self) -> None:
        self.disabled = 0


_DEPTH = _Depth()


def eager() -> bool:
    """Whether a compiled function runs as if it were not."""
    return _current == "force_eager" or _DEPTH.disabled > 0


class set_stance:  # noqa: N801 - PyTorch's name
    """Choose what compiled functions do; as a context manager or decorator, for a while.

    `"force_eager"` runs them without recording; the other stances of PyTorch are about compiling
    anew, which costs nothing here that they could save, and are as `"default"`.

    >>> import yesca as torch
    >>> with torch.compiler.set_stance("force_eager"):
    ...     torch.compile(lambda x: x + 1)(torch.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"Invalid stance: '{stance}'; it is one of {', '.join(STANCES)}")
        self.stance = stance
        self._before = self._choose(stance)

    @staticmethod
    def _choose(stance: str) -> str:
        global _current
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


def disabled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function outside of any recording, with compiled functions in it run as they are."""
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        recorder = STATE.recorder
        if recorder is not None:
            state.set_recorder(None)
        _DEPTH.disabled += 1
        try:
            return function(*args, **kwargs)
        finally:
            _DEPTH.disabled -= 1
            if recorder is not None:
                state.set_recorder(recorder)

    run._torchdynamo_disable = True  # type: ignore[attr-defined]
    return run
