"""Events as programs see them: one call, and all calls of one kind taken together."""

from __future__ import annotations

from enum import Enum
from typing import Any

from .formatting import time as format_time

MEMORY_EVENT_NAME = "[memory]"


class DeviceType(Enum):
    """Where an event ran. Here it is always the CPU."""

    CPU = 0
    CUDA = 1


class Interval:
    """A span of time in microseconds since the profile began."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class _Formatted:
    """Times as texts, and what a GPU would have taken: nothing."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    #: No kernel runs on another device; programs that print both columns find zeros.
    device_time_total = self_device_time_total = device_time = 0.0
    device_memory_usage = self_device_memory_usage = 0
    use_device: str | None = None
    device_type = DeviceType.CPU
    is_async = is_remote = is_legacy = False
    node_id = -1
    overload_name = ""
    bytes_moved: int
    flops: int

    @property
    def cpu_time(self) -> float:
        """The mean time of a call in microseconds."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)

    @property
    def bytes_per_second(self) -> float:
        """Bytes moved by the calls themselves in their own time."""
        spent = self.self_cpu_time_total
        return self.bytes_moved * 1e6 / spent if spent > 0 else 0.0


class FunctionEvent(_Formatted):
    """One call of an operator, a node of the tape, or a marked range. Times in microseconds."""

    count = 1

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float,
                 **details: Any) -> None:
        self.id, self.name, self.thread = id, name, thread
        self.trace_name = details.get("trace_name", name)
        self.time_range = Interval(start_us, end_us)
        self.fwd_thread: int | None = details.get("fwd_thread")
        self.sequence_nr: int = details.get("sequence_nr", -1)
        self.scope: int = details.get("scope", 0)
        self.is_user_annotation: bool = details.get("is_user_annotation", False)
        self.stack: list[str] = details.get("stack", [])
        self.cpu_memory_usage: int = details.get("cpu_memory_usage", 0)
        self.flops: int = details.get("flops", 0)
        self.bytes_moved: int = details.get("bytes_moved", 0)
        self.device_resource_id: int = details.get("device_resource_id", 0)
        self.input_shapes: list[Any] = details.get("input_shapes", [])
        self.concrete_inputs: list[Any] = details.get("concrete_inputs", [])
        self.structured_input_shapes: list[Any] = details.get("structured_input_shapes", [])
        self.structured_input_strides: list[Any] = details.get("structured_input_strides", [])
        self.input_dtypes: list[str] = details.get("input_dtypes", [])
        self.kwinputs: dict[str, Any] = {}
        self.kernels: list[Any] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.device_index = -1

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time of the event without that of the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated less bytes freed by the event, without the events inside."""
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Note an event inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Note the event around this one."""
        self.cpu_parent = parent

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {self.use_device}_time="
            f"{self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{self.use_device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>")


class FunctionEventAvg(_Formatted):
    """All events of one key: their number and the sums of their times, memory and bytes."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.flops = 0
        self.bytes_moved = 0
        self.input_shapes: Any = None
        self.stack: list[str] = []
        self.scope: int | None = None
        self.is_user_annotation = False
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: Any) -> FunctionEventAvg:
        """Take one more event, or sum of events, in."""
        if self.key is None:
            self.key, self.scope = other.key, other.scope
            self.cpu_parent, self.cpu_children = other.cpu_parent, []
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.is_user_annotation = other.is_user_annotation
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        self.bytes_moved += other.bytes_moved
        self.count += other.count
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_cuda_time={self.self_device_time_total_str} "
            f"cuda_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"cuda_memory_usage={self.device_memory_usage}>")


__all__ = ["MEMORY_EVENT_NAME", "DeviceType", "FunctionEvent", "FunctionEventAvg", "Interval"]
