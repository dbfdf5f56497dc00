"""`torch.overrides`: taking functions over, by class (`__torch_function__`) or by mode."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .base import absent
from .core.tensor_base import TensorBase
from .dispatch.call import OPERATORS
from .dispatch.levels import Level
from .dispatch.protocol import no_wrap, offer, participants
from .dispatch.state import STATE, pop_level, push_level
from .operators.record import Record

__all__ = [
    "TorchFunctionMode", "BaseTorchFunctionMode", "has_torch_function", "handle_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "get_default_nowrap_functions", "wrap_torch_function",
    "resolve_name",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments takes functions over.

    A function of one's own asks this first, and then calls `handle_torch_function`.
    """
    return any(isinstance(level, _ModeLevel) for level in STATE.levels) \
        or bool(participants(relevant_args))


def has_torch_function_unary(value: Any) -> bool:
    """As `has_torch_function`, for one argument."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """As `has_torch_function`, for several arguments."""
    return has_torch_function(values)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any],
                          *args: Any, **kwargs: Any) -> Any:
    """Let the arguments' classes (or a mode) run `public_api(*args, **kwargs)`."""
    if STATE.levels and isinstance(STATE.levels[-1], _ModeLevel):
        level = STATE.levels.pop()
        try:
            return level.function(public_api, args, kwargs)
        finally:
            push_level(level)
    return offer(public_api, participants(relevant_args), args, kwargs)


class _ModeLevel(Level):
    """Hands every call to a mode."""

    def __init__(self, mode: TorchFunctionMode) -> None:
        self.mode = mode

    def call(self, record: Record, values: tuple[Any, ...], target: Any) -> Any:
        from .dispatch.protocol import given

        name = record.name if target is None else f"{record.name}_"
        func = getattr(OPERATORS, name, None)
        if func is None:
            return super().call(record, values, target)
        args, kwargs = given(record.schema, values)
        return self.function(func, args, kwargs)

    def function(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
                 ) -> Any:
        types = tuple([type(a) for a in args if isinstance(a, TensorBase)])
        return self.mode.__torch_function__(func, types, args, kwargs)


class TorchFunctionMode:
    """Inside, every function of the package is handed to `__torch_function__`.

    >>> import yesca as torch
    >>> class Count(torch.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Count() as count:
    ...     _ = torch.sin(torch.ones(1)) + 1
    >>> count.calls
    3
    """

    def __torch_function__(self, func: Callable[..., Any], types: tuple[type, ...],
                           args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
                           ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_level(_ModeLevel(self))
        return self

    def __exit__(self, *exc: object) -> None:
        pop_level()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The old way to make a mode."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Callable[..., Any], types: tuple[type, ...],
                           args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
                           ) -> Any:
        return func(*args, **(kwargs or {}))


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor or has a `__torch_function__`."""
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of the tensor class."""
    from ._tensor import Tensor

    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(Tensor, name, None) is func


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results stay plain tensors when a subclass was given."""
    return set(no_wrap())


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorates a function of one's own: `dispatcher(*args)` gives the arguments to ask."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def resolve_name(func: Callable[..., Any]) -> str | None:
    """The public name of a function."""
    name = getattr(func, "__name__", None)
    if name is None:
        return None
    if name in ("__get__", "__set__"):
        from ._tensor import Tensor

        found = [n for n, own in vars(Tensor).items() if own is func.__self__]  # type: ignore
        return f"torch.Tensor.{found[0]}.{name}" if found else None
    return f"torch.Tensor.{name}" if is_tensor_method_or_property(func) else f"torch.{name}"


__getattr__ = absent.names_of(__name__)
