"""Traces for chrome://tracing and Perfetto: JSON, times in microseconds."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from .events import MEMORY_EVENT_NAME, FunctionEvent

_EVALUATE = "autograd::engine::evaluate_function: "


def write(path: str, events: Sequence[FunctionEvent], began: int = 0,
          metadata: dict[str, Any] | None = None) -> None:
    """Write events to a file, compressed if its name ends in `.gz`.

    Args:
        began: when the profile began, in nanoseconds since 1970.
        metadata: further entries of the file.
    """
    trace = {"schemaVersion": 1, **(metadata or {}), "displayTimeUnit": "ms",
             "baseTimeNanoseconds": began, "traceName": path,
             "traceEvents": list(_entries(events, began / 1000))}
    if str(path).endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump(trace, file)
    else:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)


def _entries(events: Sequence[FunctionEvent], base: float) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0,
           "args": {"name": os.path.basename(sys.executable) or "python"}}
    for number, native in sorted({(e.thread, e.device_resource_id) for e in events}):
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": native,
               "args": {"name": f"thread {native} ({number})"}}
    for index, event in enumerate(events):
        place = {"pid": process, "tid": event.device_resource_id,
                 "ts": base + event.time_range.start}
        if event.name == MEMORY_EVENT_NAME:
            yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": event.name, **place,
                   "args": {"Bytes": event.cpu_memory_usage, "Device Type": 0, "Device Id": -1,
                            "Ev Idx": index}}
            continue
        category = "user_annotation" if event.is_user_annotation else "cpu_op"
        yield {"ph": "X", "cat": category, "name": event.trace_name, **place,
               "dur": event.time_range.elapsed_us(), "args": _arguments(event, index)}
    yield from _flows(events, process, base)


def _arguments(event: FunctionEvent, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {"External id": event.id, "Record function id": 0, "Ev Idx": index}
    if event.sequence_nr >= 0:
        found["Sequence number"] = event.sequence_nr
        found["Fwd thread id"] = event.fwd_thread
    if event.input_dtypes:
        found["Input Dims"] = event.structured_input_shapes
        found["Input Strides"] = event.structured_input_strides
        found["Input type"] = event.input_dtypes
        found["Concrete Inputs"] = ["" if v is None else str(v) for v in event.concrete_inputs]
    if event.stack:
        found["Call stack"] = ";".join(event.stack)
    if event.cpu_memory_usage:
        found["Bytes allocated"] = event.cpu_memory_usage
    if event.bytes_moved:
        found["Bytes moved"] = event.bytes_moved
    if event.flops:
        found["FLOPs"] = event.flops
    return found


def _flows(events: Sequence[FunctionEvent], process: int, base: float
           ) -> Iterator[dict[str, Any]]:
    """An arrow from each operator to the node of the tape that it made."""
    forward = {e.sequence_nr: e for e in events if e.sequence_nr >= 0 and e.scope == 0}
    for event in events:
        origin = forward.get(event.sequence_nr)
        if origin is None or not event.name.startswith(_EVALUATE):
            continue
        common = {"cat": "fwdbwd", "name": "fwdbwd", "pid": process, "id": event.sequence_nr}
        yield {"ph": "s", **common, "tid": origin.device_resource_id,
               "ts": base + origin.time_range.start}
        yield {"ph": "f", "bp": "e", **common, "tid": event.device_resource_id,
               "ts": base + event.time_range.start}
