"""`torch.cpu`: the device interface of accelerators, answered for the CPU."""

from __future__ import annotations

from typing import Any

from ..base import absent
from ..base.naming import lives_in

__all__ = [
    "is_available", "is_initialized", "synchronize", "current_device", "current_stream", "stream",
    "set_device", "device_count", "Stream", "StreamContext", "Event",
]


@lives_in("torch.cpu")
class Stream:
    """The CPU has one queue, in program order: a stream has nothing to do."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Stream) -> None:
        """Wait for the work of another stream: it is done already."""

    def record_event(self) -> Event:
        """An event that has happened already."""
        return Event()

    def wait_event(self, event: Event) -> None:
        """Wait for an event: it has happened already."""


@lives_in("torch.cpu")
class Event:
    """A mark in a stream; on the CPU it has always happened."""

    def query(self) -> bool:
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing to record."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to wait for."""


_stream = Stream()


@lives_in("torch.cpu")
class StreamContext:
    """Context manager that selects a stream; None selects nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        global _stream
        self.before = _stream
        if self.stream is not None:
            _stream = self.stream

    def __exit__(self, *exc: object) -> None:
        global _stream
        _stream = self.before


def stream(stream: Stream | None) -> StreamContext:
    """A context in which `stream` is the current one."""
    return StreamContext(stream)


def is_available() -> bool:
    """True: there is always a CPU."""
    return True


def is_initialized() -> bool:
    """True: the CPU needs no initialisation."""
    return True


def device_count() -> int:
    """1: all cores are one device."""
    return 1


def current_device() -> str:
    """`"cpu"`."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing to choose."""


def current_stream(device: Any = None) -> Stream:
    """The stream that `stream` has selected, or the only one there is."""
    return _stream


def synchronize(device: Any = None) -> None:
    """Operators are done when they return: nothing to wait for."""


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __package__)
    raise absent.error(__name__, name)
