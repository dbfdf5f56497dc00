"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class once:  # noqa: N801 - a decorator, like property
    """A property that is computed at its first use and then an ordinary attribute.

    Unlike `functools.cached_property` before Python 3.12 it takes no lock. Such a lock, held by
    another thread while a process forks, would stay locked in the child forever; two threads that
    come at the same time may both compute, and keep what the first one found.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.function(instance))


__all__ = ["once"]
