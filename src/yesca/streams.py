"""`torch.Stream` and `torch.Event` for the CPU, where work is done in program order."""

from __future__ import annotations

from typing import Any

from .base.naming import lives_in
from .core.devices import Device

__all__ = ["Stream", "Event"]


def _cpu(device: Any) -> Device:
    found = Device("cpu" if device is None else device)
    if str(found).partition(":")[0] != "cpu":
        raise RuntimeError(f"a stream of {found} cannot be made: there is no such device here")
    return found


@lives_in("torch")
class Stream:
    """A queue of work. All work on the CPU is done when the call that asks for it returns."""

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _cpu(device)
        self.stream_id = 0
        self.device_index = -1

    def query(self) -> bool:
        """Whether all work is done: True."""
        return True

    def synchronize(self) -> None:
        """Wait for all work: it is done."""

    def wait_event(self, event: Event) -> None:
        """Wait for an event: it has happened."""

    def wait_stream(self, stream: Stream) -> None:
        """Wait for another stream: its work is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this place in the queue."""
        return Event() if event is None else event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )


@lives_in("torch")
class Event:
    """A mark in a stream; with `enable_timing` it keeps the time at which it was recorded."""

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = _cpu(device)
        self.enable_timing = enable_timing
        self.event_id = 0
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Record the event now."""
        import time

        self._time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recorded events that were made with `enable_timing`."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1000.0

    def query(self) -> bool:
        """Whether the event has happened: True."""
        return True

    def synchronize(self) -> None:
        """Wait for the event: it has happened."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for the event: it has happened."""

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type={self.device}, device_index=-1, "
            f"event_flag={int(self.enable_timing)}, event_id={self.event_id}"
        )
