"""`torch.autograd.profiler.profile`: one stretch of recording, and its reports."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from ..base.frames import warn
from . import trace
from .actions import ProfilerActivity
from .assembly import Taken, assemble
from .collector import COLLECTOR, Options
from .event_list import EventList
from .events import FunctionEventAvg


class profile:  # noqa: N801 - PyTorch's name
    """Records the operators, tape nodes and marked ranges of a block, in all threads.

    Args:
        enabled: whether it does anything.
        record_shapes: keep the shapes of the operators' arguments.
        with_flops: count the operations of products, convolutions, additions and multiplications.
        profile_memory: count what the allocator gives and takes back.
        with_stack: keep the lines of the program that the operators were called from.
        with_modules, use_kineto, experimental_config: change nothing here.
        use_cuda, use_device: there is no such device; a warning says so.
        use_cpu: whether what runs on the CPU, which is everything, is recorded.
        acc_events: keep the events of earlier stretches.

    >>> import yesca as torch
    >>> with torch.autograd.profiler.profile(record_shapes=True) as prof:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> prof.function_events[-1].input_shapes
    [[2, 3], [3, 4]]
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False,
                 use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False,
                 use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None,
                 activity_filters: Any = None) -> None:
        self.enabled = enabled
        if use_cuda:
            warn("The attribute `use_cuda` will be deprecated soon, please use "
                 "``use_device = 'cuda'`` instead.", FutureWarning)
            use_device = "cuda"
        if use_device is not None:
            name = use_device.upper()
            warn(f"{name} is not available, disabling {name} profiling")
        self.use_device: str | None = None
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self.with_modules, self.use_cpu = with_modules, use_cpu
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.trace_id = ""
        self.entered = False
        self.profiling_start_time_ns = 0
        self._options = Options(record_shapes, profile_memory, with_stack, with_flops)
        self._events: EventList | None = None
        self._on = False
        self._began = self._resumed = self._ended = 0  # nanoseconds of the collector's clock
        self._taken: Taken = []

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled and self.entered:
            self._stop()

    def _start(self) -> None:
        self.entered = True
        self.trace_id = self._new_trace_id()
        if not (self._began and self.acc_events):
            self.profiling_start_time_ns = time.time_ns()
            self._began = 0
        self._switch(self.use_cpu)

    def _stop(self) -> None:
        self._switch(False)
        earlier = list(self._events or ()) if self.acc_events else []
        made = assemble(self._taken, self._options, self._began, self._ended, len(earlier) + 1)
        self._events = self._list([*earlier, *made])
        self._taken = []

    def _switch(self, on: bool) -> None:
        """Record from here on, or take what was recorded and pause."""
        if on and not self._on:
            self._resumed = COLLECTOR.begin(self._options)
            self._began = self._began or self._resumed
        elif self._on and not on:
            self._ended = COLLECTOR.finish(self._options)
            self._taken += COLLECTOR.taken(self._resumed, self._ended)
        self._on = on

    def _list(self, events: list[Any]) -> EventList:
        return EventList(events, profile_memory=self.profile_memory, with_flops=self.with_flops)

    def _new_trace_id(self) -> str:
        if self.custom_trace_id_callback is not None:
            return self.custom_trace_id_callback()
        return uuid.uuid4().hex.upper()

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]
                                  ) -> None:
        """Pause the recording, or go on with it."""
        if self.entered and ProfilerActivity.CPU in set(activities):
            self._switch(enabled)

    @property
    def function_events(self) -> EventList:
        """The events, ordered by their starts; none as long as the profile goes on."""
        return self._list([]) if self._events is None else self._events

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds."""
        return self.function_events.self_cpu_time_total

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None \
            else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None \
            else self._events.table()

    def table(self, sort_by: str | None = None, row_limit: int = 100,
              max_src_column_width: int = 75, max_name_column_width: int | None = 55,
              max_shapes_column_width: int | None = 80, header: str | None = None,
              top_level_events_only: bool = False) -> str:
        """All events as text; see `EventList.table`."""
        return self.function_events.table(
            sort_by, row_limit, max_src_column_width, max_name_column_width,
            max_shapes_column_width, header, top_level_events_only)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events of one name taken together; see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n,
                                                 group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events taken together."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str, metadata: dict[str, Any] | None = None,
                            use_python_export: bool = False) -> None:
        """Write a trace for chrome://tracing or Perfetto (compressed: `name.json.gz`)."""
        flags = {name: 1 for name in ("record_shapes", "profile_memory", "with_stack",
                                      "with_flops") if getattr(self, name)}
        trace.write(path, self.function_events, self.profiling_start_time_ns,
                    {"trace_id": self.trace_id, **flags, **(metadata or {})})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with times, for flame graphs; see `EventList.export_stacks`."""
        assert self._events is not None, "Expected profiling results"
        assert self.with_stack, "export_stacks() requires with_stack=True"
        self._events.export_stacks(path, metric)


__all__ = ["profile"]
