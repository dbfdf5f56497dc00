"""Watching every operator call, tape node and range of the process: what a profile does.

While nobody watches, operator calls ask nothing: `call.observe` puts the observer in the place of
the Python path, and the builtin path is switched off meanwhile. Only what runs rarely (a backward
pass, an optimizer's step, a batch of a loader) looks at `current`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..operators.record import Record


class Observer(ABC):
    """Sees what is called, and calls it."""

    @abstractmethod
    def call(self, record: Record, values: tuple[Any, ...], target: Any = None, out: Any = None
             ) -> Any:
        """Give `call.base` of the same arguments: an operator call below the levels."""

    @abstractmethod
    def function(self, function: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: dict[str, Any]) -> Any:
        """Give `function(*args, **kwargs)`, a public function that is no record."""

    @abstractmethod
    def node(self, name: str, sequence: int) -> AbstractContextManager[Any]:
        """A part of a backward pass: the node's name and number."""

    @abstractmethod
    def range(self, name: str, annotation: bool = True) -> AbstractContextManager[Any]:
        """Work under one name: marked by the program, or by the package for it."""


current: Observer | None = None


def observe(observer: Observer | None) -> None:
    """From now on, let this observer see all calls of all threads; None: nobody."""
    global current
    from . import call, state

    current = observer
    call.observe(observer)
    for listener in state.listeners:  # the builtin path looks at its flags again
        listener()


def observed(name: str, function: Callable[..., Any], annotation: bool = True
             ) -> Callable[..., Any]:
    """The function in a range of this name while somebody watches."""
    observer = current
    if observer is None:
        return function

    def ranged(*args: Any, **kwargs: Any) -> Any:
        with observer.range(name, annotation):
            return function(*args, **kwargs)

    return ranged


__all__ = ["Observer", "current", "observe", "observed"]
