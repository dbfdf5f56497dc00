"""`torch.autograd.profiler`: the names programs use, with times of the ranges they mark.

Whole kernels are reported by the debug setting of the engine; here only `record_function` ranges
and the block itself are timed.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

_active: list[profile] = []


class FunctionEvent:
    """One timed range: its name and its time in microseconds."""

    def __init__(self, name: str, start: float, end: float) -> None:
        self.name = self.key = name
        self.cpu_time_total = (end - start) * 1e6
        self.count = 1

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time:.3f}us>"


class EventList(list):  # type: ignore[type-arg]
    """The timed ranges of a profile."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The ranges as text, one a line."""
        rows = sorted(self, key=lambda e: -e.cpu_time_total) if sort_by else list(self)
        width = max([len(e.name) for e in rows] + [4])
        lines = [f"{'Name':{width}}  {'CPU total':>12}  {'# of Calls':>10}"]
        lines += [f"{e.name:{width}}  {e.cpu_time_total:>10.3f}us  {e.count:>10}"
                  for e in rows[:row_limit]]
        return "\n".join(lines)

    def total_average(self) -> FunctionEvent:
        """All ranges as one."""
        made = FunctionEvent("Total", 0.0, sum(e.cpu_time_total for e in self) / 1e6)
        made.count = max(len(self), 1)
        return made


class profile:  # noqa: N801 - PyTorch's name
    """Collects the `record_function` ranges inside."""

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        self.enabled = enabled
        self.function_events = EventList()

    def __enter__(self) -> profile:
        if self.enabled:
            _active.append(self)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        self.self_cpu_time_total = (time.perf_counter() - self._start) * 1e6
        if self.enabled:
            _active.remove(self)

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """The ranges, those of one name taken together."""
        found: dict[str, FunctionEvent] = {}
        for event in self.function_events:
            if event.name in found:
                found[event.name].cpu_time_total += event.cpu_time_total
                found[event.name].count += 1
            else:
                found[event.name] = FunctionEvent(event.name, 0.0, event.cpu_time_total / 1e6)
        return EventList(found.values())

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        return self.function_events.table(sort_by, row_limit)

    def total_average(self) -> FunctionEvent:
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write the ranges in the form that trace viewers read."""
        import json

        events = [{"name": e.name, "ph": "X", "ts": 0, "dur": e.cpu_time_total, "pid": 0, "tid": 0}
                  for e in self.function_events]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)


class record_function:  # noqa: N801
    """Marks a range by name: a context manager and a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        end = time.perf_counter()
        for one in _active:
            one.function_events.append(FunctionEvent(self.name, self._start, end))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapped


class emit_nvtx:  # noqa: N801
    """There is no GPU timeline to mark: does nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class emit_itt(emit_nvtx):  # noqa: N801
    """There is no such timeline to mark: does nothing."""


__all__ = ["profile", "record_function", "emit_itt", "emit_nvtx", "EventList", "FunctionEvent"]
