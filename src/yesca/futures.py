"""`torch.futures`: results that come later, from other threads or callbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .core.devices import Device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that somebody sets once, and others wait for.

    >>> future = Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(4)
    >>> doubled.wait()
    8
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._devices = [Device(d) for d in devices or ()]
        self._changed = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._done

    def wait(self) -> T:
        """The result, once it is there; raises the exception that was set."""
        with self._changed:
            while not self._done:
                self._changed.wait()
        return self.value()

    def value(self) -> T:
        """The result, which must be there."""
        if not self._done:
            raise RuntimeError("value() called on a future that is not completed")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of `callback(self)`, which runs once this one is done.

        Where the callback raises, that future holds a RuntimeError of the same text.
        """
        made: Future[Any] = Future(devices=self._devices)

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                wrapped = RuntimeError(f"{type(error).__name__}: {error}")
                wrapped.__cause__ = error
                made.set_exception(wrapped)
            else:
                made.set_result(result)

        self._when_done(run)
        return made

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback(self)` once this is done: now, if it is."""
        self.then(callback)

    def _when_done(self, callback: Callable[[Any], Any]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: Any) -> None:
        """Complete it with a result; raises RuntimeError the second time."""
        self._complete(result, None)

    def set_exception(self, result: Any) -> None:
        """Complete it with an exception, which `wait` and `value` raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: Exception | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note "
                                   "that a Future can only be marked completed once.")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list itself, done once all of them are.

    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(0); second.set_result(1)
    >>> [future.wait() for future in both.wait()]
    [0, 1]
    """
    made: Future[list[Future[Any]]] = Future()
    lock, left = threading.Lock(), [len(futures)]

    def count(done: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            made.set_result(futures)

    for future in futures:
        future._when_done(count)
    if not futures:
        made.set_result(futures)
    return made


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all; raises the first exception."""
    return [future.wait() for future in collect_all(futures).wait()]
