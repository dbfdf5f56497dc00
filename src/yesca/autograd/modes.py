"""Grad modes: context managers that are decorators as well, one flag a thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..dispatch.state import STATE, set_grad, set_inference


def is_grad_enabled() -> bool:
    """Whether operators on this thread record a tape."""
    return STATE.grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread."""
    return STATE.inference


class _Switch:
    """A context manager and decorator that sets the grad flag and puts it back."""

    _value: bool | None = None

    def __new__(cls, function: Callable[..., Any] | None = None, *args: Any) -> Any:
        self = super().__new__(cls)
        if callable(function) and cls is not set_grad_enabled:
            self.__init__()  # type: ignore[misc]
            return self(function)
        return self

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(STATE.grad)
        set_grad(bool(self._value))

    def __exit__(self, *exc: object) -> None:
        set_grad(self._before.pop())

    def clone(self) -> _Switch:
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Any:
        return decorated(self.clone, function)


def decorated(make: Callable[[], Any], function: Any) -> Any:
    """A function, generator function or class that runs inside `make()`."""
    if inspect.isclass(function):
        function.__init__ = decorated(make, function.__init__)
        return function
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(make, function)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return function(*args, **kwargs)

    return wrapped


def _decorate_generator(make: Callable[[], Any], function: Any) -> Any:
    """A generator runs in the mode, its consumer does not."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        try:
            with make():
                item = generator.send(None)
            while True:
                try:
                    reply = yield item
                except GeneratorExit:
                    with make():
                        generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - handed on to the generator
                    with make():
                        item = generator.throw(error)
                else:
                    with make():
                        item = generator.send(reply)
        except StopIteration as stop:
            return stop.value

    return wrapped


class no_grad(_Switch):  # noqa: N801 - PyTorch's name
    """Record no tape inside: `with no_grad():` or `@no_grad()`."""

    _value = False


class enable_grad(_Switch):  # noqa: N801
    """Record a tape inside, also within `no_grad`."""

    _value = True


class set_grad_enabled(_Switch):  # noqa: N801
    """Set the flag at once; as a context manager, put it back at the end."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type(mode).__name__}")
        self._value = mode
        self._at_call = STATE.grad
        set_grad(self._value)

    def __enter__(self) -> None:
        self._before.append(self._at_call)
        set_grad(bool(self._value))

    def __call__(self, function: Callable[..., Any]) -> Any:
        set_grad(self._at_call)
        return super().__call__(function)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(bool(self._value))


class inference_mode(_Switch):  # noqa: N801
    """No tape and no version counters inside; its tensors cannot join a tape later.

    Within it, `enable_grad` records nothing either; `inference_mode(False)` switches it off and
    the tape on, whatever the modes around it say.
    """

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls, mode if callable(mode) else None)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._mode = bool(mode)
        self._inference: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(STATE.grad)
        self._inference.append(STATE.inference)
        set_inference(self._mode)
        set_grad(not self._mode)

    def __exit__(self, *exc: object) -> None:
        set_grad(self._before.pop())
        set_inference(self._inference.pop())

    def clone(self) -> inference_mode:
        return inference_mode(self._mode)


class set_multithreading_enabled(_Switch):  # noqa: N801
    """Accepted for PyTorch's sake: one thread walks the tape here, in either mode."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)
