"""`record_function`: a range that the program marks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..dispatch import observing
from .collector import COLLECTOR, USER, Range

F = TypeVar("F", bound=Callable[..., Any])


class record_function:  # noqa: N801 - PyTorch's name
    """Gives a block, or (as a decorator) a function, a name in profiles.

    Outside of a profile it does next to nothing.

    >>> import yesca as torch
    >>> x = torch.ones(3)
    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("preparation"):
    ...         _ = x.exp()
    >>> [event.name for event in prof.events()]
    ['preparation', 'aten::exp']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._range: Range | None = None
        self._entered = False

    def __enter__(self) -> record_function:
        _check("name", 0, self.name, "str")
        if self.args is not None:
            _check("args", 1, self.args, "Optional[str]")
        self._entered = True
        if observing.current is not None:
            self._range = Range(COLLECTOR, self.name, USER, argument=self.args)
            self._range.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.run_callbacks_on_exit:
            return
        assert self._entered, "Expected record to be set"
        self._entered = False
        if self._range is not None:
            self._range.__exit__()
            self._range = None

    def __call__(self, func: F) -> F:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return func(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


def _check(parameter: str, position: int, value: Any, expected: str) -> None:
    if not isinstance(value, str):
        raise RuntimeError(
            f"profiler::_record_function_enter_new() Expected a value of type '{expected}' for "
            f"argument '{parameter}' but instead found type '{type(value).__name__}'.\n"
            f"Position: {position}\nValue: {value}\nGive the range a name that is a string.")


__all__ = ["record_function"]
