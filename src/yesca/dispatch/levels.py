"""Levels: what stands above autograd and gets every call first (modes, batches).

`STATE.levels` holds the active ones, the innermost last. The innermost takes a call while it is
off the stack itself, so what it calls goes to the next one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.spec import spec
from ..operators.record import Record
from . import inplace, observing
from .state import STATE, push_level


class Level:
    """The base of all levels: hands everything on."""

    is_batch = False
    transforms = False  # sees the operators of public functions, and those of a pass backward
    dispatches = False  # sees the operators below the tape (`aten/stations.py`)
    draws_apart = False  # a batch whose examples get random numbers of their own

    def call(self, record: Record, values: tuple[Any, ...], target: Any) -> Any:
        """Run a record; `target` is the first argument of an in-place call, else None."""
        from .call import call, call_inplace

        return call(record, values) if target is None else call_inplace(record, values)

    def function(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
                 ) -> Any:
        """Run a public function that is no record."""
        return func(*args, **kwargs)

    def takes(self, name: str) -> bool:
        """Whether a public function of this name, which is no record, goes to `function`."""
        return not self.transforms

    def whole(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run a part of the package that is several operators: a level may know it as one."""
        return function(*args)

    def custom_function(self, function: Any, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """(whether the level has run a custom Function, its results)."""
        return False, None

    def tangent(self, tensor: Any) -> Any:
        """A tensor's tangent at this level, or None."""
        return None

    def attach(self, tensor: Any, tangent: Any) -> None:
        """Give a tensor a tangent at this level, if it is one of forward mode."""

    def became(self, target: Any, made: Any) -> None:
        """Told that an in-place view has made the target what `made` is."""

    def refuse_out(self, name: str, tensors: list[Any]) -> None:
        """Asked before results go into tensors of the caller's (`out=`): may refuse."""

    def drawing(self) -> None:
        """Asked before random numbers are drawn: may refuse."""

    def fill(self, function: Callable[..., Any], tensor: Any, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> Any:
        """Fill a tensor with random numbers."""
        return function(tensor, *args, **kwargs)

    def draw(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
             ) -> Any:
        """Draw new tensors, with parameters that may be tensors."""
        return function(*args, **kwargs)

    def beside(self, tensor: Any, made: Any) -> Any:
        """A new tensor that a program wants for one that it has: a batch as this one is."""
        return made


_OVERLOADS = {"bernoulli_": "bernoulli_.float"}  # PyTorch's names, where they say more


def random_fill(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates what fills a tensor with random numbers in place: levels come first."""

    @functools.wraps(function)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        inplace.check_captured(self, _OVERLOADS.get(function.__name__, function.__name__))
        if not STATE.levels:
            observer = observing.current
            if observer is not None:
                return observer.function(function, (self, *args), kwargs)
            return function(self, *args, **kwargs)
        level = STATE.levels.pop()
        try:
            level.drawing()
            return level.fill(wrapped, self, args, kwargs)
        finally:
            push_level(level)

    return wrapped


def random_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates what draws new tensors with parameters that may be tensors: batches come first."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not STATE.levels or not STATE.levels[-1].is_batch:
            return function(*args, **kwargs)
        level = STATE.levels.pop()
        try:
            return level.draw(wrapped, args, kwargs)
        finally:
            push_level(level)

    return wrapped


def beside(tensor: Any, made: Any) -> Any:
    """A new tensor that goes with another: one example, where the other is one."""
    for level in STATE.levels:
        made = level.beside(tensor, made)
    return made


def off_tape(tensor: Any) -> Any:
    """`tensor.detach()`, but with the tangents of forward mode."""
    made = tensor.detach()
    for source, goal in ((tensor, made), (tensor._all_examples(), made._all_examples())):
        for level in STATE.levels:
            tangent = level.tangent(source)
            if tangent is not None:
                level.attach(goal, tangent)
    return made


def fresh(tensor: Any) -> Any:
    """What to draw into, given a new tensor: at batch levels, one for each example."""
    apart = [level for level in STATE.levels if level.draws_apart]
    if not apart:
        return tensor
    from .creation import make

    made = tensor._spec
    whole = make(spec(made.dtype, (*[level.size for level in apart], *made.shape), None,
                      made.device))
    for level in apart:
        whole = level.wrap(whole)
    return whole


__all__ = ["Level", "beside", "fresh", "off_tape", "random_call", "random_fill"]
