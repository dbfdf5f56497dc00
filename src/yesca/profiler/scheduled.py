"""`torch.profiler.profile`: recording by a schedule, and what is done with each recording."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..base.frames import warn
from . import actions, session
from .actions import ProfilerAction, ProfilerActivity
from .event_list import EventList
from .ranges import record_function

_warned: list[bool] = []
_NONE, _WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
_RECORD, _SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


class profile:  # noqa: N801 - PyTorch's name
    """Records what a program does: operators, backward nodes, marked ranges, in all threads.

    Args:
        activities: where work is recorded; None: everywhere.
        schedule: what to do at which step, see `torch.profiler.schedule`; `step()` tells when a
            step ends. None: everything is recorded.
        on_trace_ready: called with the profile whenever a recording is complete.
        record_shapes: keep the shapes of the operators' arguments.
        profile_memory: count what the allocator gives and takes back.
        with_stack: keep the lines of the program that the operators were called from.
        with_flops: count the operations of products, convolutions, additions and multiplications.
        with_modules, experimental_config: change nothing here.
        acc_events: keep the events of earlier cycles of the schedule.

    While it is on, calls take the portable path, a few microseconds longer; off, nothing is
    slower.

    >>> import yesca as torch
    >>> with torch.profiler.profile(record_shapes=True) as prof:
    ...     x = torch.ones(3, requires_grad=True)
    ...     (x * 2).sum().backward()
    >>> [average.key for average in prof.key_averages() if "Mul" in average.key]
    ['autograd::engine::evaluate_function: MulBackward0', 'MulBackward0']
    >>> table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
    >>> table.splitlines()[1].split()[:3]
    ['Name', 'Self', 'CPU']
    """

    def __init__(self, *, activities: Iterable[Any] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: Any = None,
                 acc_events: bool = False, use_cuda: bool | None = None,
                 custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None) -> None:
        self.activities = _chosen(activities)
        if use_cuda is not None:
            warn("`use_cuda` is deprecated, use `activities` argument instead",
                 FutureWarning)
            (self.activities.add if use_cuda else self.activities.discard)(ProfilerActivity.CUDA)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or actions.always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.with_modules, self.experimental_config = with_modules, experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: record_function | None = None
        self.profiler: session.profile | None = None
        self.preset_metadata: dict[str, Any] = {}
        self._metadata: dict[str, Any] = {}

    # ---- starting, steps, stopping -----------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        self._transit(_NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step; what is recorded is complete."""
        self._end_step()
        self._transit(self.current_action, None)

    def step(self) -> None:
        """Tell that a step of the schedule has ended and the next one begins."""
        self._end_step()
        previous = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._transit(previous, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _transit(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Go from what one step does to what the next one does (None: there is no next)."""
        recorded = before in (_RECORD, _SAVE)
        goes_on = before is _RECORD and after in (_RECORD, _SAVE)
        if (before, after) in ((_WARMUP, _NONE), (_RECORD, _NONE), (_RECORD, _WARMUP)):
            assert after is not None
            warn(f"Incorrect schedule: {before.name} followed by {after.name}")
        if recorded and not goes_on:
            self.stop_trace()
            if (before is _SAVE or after is None) and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if before is not _WARMUP and after is _WARMUP:
            self.prepare_trace()
        if after in (_RECORD, _SAVE) and not goes_on:
            if before is not _WARMUP:
                self.prepare_trace()
            self.start_trace()

    def prepare_trace(self) -> None:
        """Make the next recording ready to start."""
        if self.profiler is not None and self.acc_events:
            return
        if self.profiler is not None and self.record_steps and not _warned:
            _warned.append(True)
            warn("Warning: Profiler clears events at the end of each cycle. Only events "
                 "from the current cycle will be reported. To keep events across "
                 "cycles, set acc_events=True.")
        self.profiler = session.profile(
            use_cpu=ProfilerActivity.CPU in self.activities, record_shapes=self.record_shapes,
            with_flops=self.with_flops, profile_memory=self.profile_memory,
            with_stack=self.with_stack, with_modules=self.with_modules,
            acc_events=self.acc_events, custom_trace_id_callback=self.custom_trace_id_callback)

    def start_trace(self) -> None:
        """Record from here on."""
        assert self.profiler is not None, "Profiler must be initialized before starting trace"
        self.profiler._start()
        self._metadata = dict(self.preset_metadata)

    def stop_trace(self) -> None:
        """End the recording."""
        assert self.profiler is not None, "Profiler must be initialized before stopping trace"
        self.profiler._stop()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]
                                  ) -> None:
        """Pause the recording, or go on with it."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # ---- reports -----------------------------------------------------------------------------

    def _finished(self, purpose: str) -> session.profile:
        assert self.profiler is not None, f"Profiler must be initialized before {purpose}"
        return self.profiler

    def events(self) -> EventList:
        """The recorded events, ordered by their starts."""
        return self._finished("accessing events").function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events of one name taken together, with `table()` as the usual report.

        Args:
            group_by_input_shape: keep calls of different shapes apart (`record_shapes=True`).
            group_by_stack_n: keep calls from different lines apart (`with_stack=True`).
            group_by_overload_name: as in PyTorch; operators have one form here.
        """
        return self._finished("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write a trace for chrome://tracing or Perfetto (compressed: `name.json.gz`)."""
        self._finished("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with times, for flame graphs (`with_stack=True`)."""
        self._finished("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the next trace that is written."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the next trace that is written."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the traces of all recordings that start later."""
        self.preset_metadata[key] = json.loads(value)

    def get_trace_id(self) -> str | None:
        """The name of the current recording."""
        return None if self.profiler is None else self.profiler.trace_id

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let a function name the recordings."""
        self.custom_trace_id_callback = callback


def _chosen(activities: Iterable[Any] | None) -> set[ProfilerActivity]:
    if activities is None:
        return set(actions.supported_activities())
    found: set[ProfilerActivity] = set()
    for one in activities:
        found.update(a for a in (one if isinstance(one, dict) else (one,))
                     if isinstance(a, ProfilerActivity))
    return found


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None,
                              use_gzip: bool = False, use_python_export: bool = False
                              ) -> Callable[[profile], None]:
    """What `on_trace_ready` takes to write each recording into a folder of trace files.

    >>> import os, tempfile, yesca as torch
    >>> folder = tempfile.mkdtemp()
    >>> ready = torch.profiler.tensorboard_trace_handler(folder, worker_name="worker0")
    >>> with torch.profiler.profile(on_trace_ready=ready):
    ...     _ = torch.ones(2) * 3
    >>> [name.split(".")[0] for name in os.listdir(folder)]
    ['worker0']
    """

    def handler_fn(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        # Nanoseconds, so that two recordings that end together get files of their own.
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler_fn


__all__ = ["profile", "tensorboard_trace_handler"]
