"""Streams and events of a CUDA device that is not there."""

from __future__ import annotations

from typing import Any

from ..base.errors import raise_no_cuda
from ..base.naming import lives_in


@lives_in("torch.cuda.streams")
class Stream:
    """A CUDA stream; making one raises RuntimeError."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


@lives_in("torch.cuda.streams")
class ExternalStream(Stream):
    """A CUDA stream that another library made."""


@lives_in("torch.cuda.streams")
class Event:
    """A CUDA event; making one raises RuntimeError."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False, external: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")


@lives_in("torch.cuda")
class StreamContext:
    """Context manager that selects a stream: nothing where the stream is None."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """Nothing to select."""

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


def stream(stream: Stream | None) -> StreamContext:
    """A context in which `stream` is the current one."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Select a stream; None selects nothing."""
    if stream is not None:
        raise_no_cuda()


def current_stream(device: Any = None) -> Stream:
    """Raises AssertionError, as `default_stream` does."""
    raise_no_cuda()


def default_stream(device: Any = None) -> Stream:
    raise_no_cuda()
