"""The events of a profile, or the sums of them, as a list with reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import table
from .events import FunctionEvent, FunctionEventAvg

_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total",
            "self_privateuse1_time_total"]
_SEPARATORS = str.maketrans({" ": "_", ";": "_"})


class EventList(list):  # type: ignore[type-arg]
    """A list of `FunctionEvent` or `FunctionEventAvg`.

    >>> import yesca as torch
    >>> x = torch.ones(2)
    >>> with torch.profiler.profile() as prof:
    ...     _ = (x + x) * x * x
    >>> [(average.key, average.count) for average in prof.key_averages()]
    [('aten::add', 1), ('aten::mul', 2)]
    """

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False,
                 with_flops: bool = False, averages: bool = False) -> None:
        super().__init__(events)
        self._profile_memory, self._with_flops = profile_memory, with_flops
        self._averages = averages

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, that of events inside others counted once, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100,
              max_src_column_width: int = 75, max_name_column_width: int | None = 55,
              max_shapes_column_width: int | None = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """The events as text, one a row.

        Args:
            sort_by: an attribute of the events, such as "self_cpu_time_total", "cpu_time_total",
                "cpu_memory_usage", "count" or "bytes_moved"; the largest comes first. None:
                in the order of the list.
            row_limit: how many rows; -1 for all.
            header: a line above the table.
            top_level_events_only: leave out what happened inside of another event.
            time_unit: "s", "ms" or "us" for all times, instead of what fits each.

        "Bytes Moved" are those of the buffers that the events' own kernels read and write;
        "Memory BW %" is their share, in the events' own time, of a bandwidth that is measured by
        copying once a process.
        """
        events: list[Any] = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            events.sort(key=lambda event: getattr(event, name), reverse=True)
        style = table.Style(max_src_column_width, max_name_column_width, max_shapes_column_width,
                            time_unit)
        return table.render(events, self.self_cpu_time_total, style, row_limit, header,
                            top_level_events_only, self._profile_memory, self._with_flops)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events of one name taken together.

        Args:
            group_by_input_shapes: keep calls of different shapes apart.
            group_by_stack_n: keep calls apart that come from different lines, going by this many
                of the innermost places.
            group_by_overload_name: as in PyTorch; operators have one form here.
        """
        assert not self._averages, "Expected tree to be built before calling key_averages"
        found: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key = (event.key, event.is_user_annotation,
                   str(event.input_shapes) if group_by_input_shapes else "",
                   tuple(event.stack[:group_by_stack_n]))
            found.setdefault(key, FunctionEventAvg()).add(event)
        for average in found.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return EventList(found.values(), profile_memory=self._profile_memory,
                         with_flops=self._with_flops, averages=True)

    def total_average(self) -> FunctionEventAvg:
        """All events taken together."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can count."""
        return list(_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line for each event with a stack: its places, the outermost first, and a time.

        Tools that draw flame graphs read such files.
        """
        if metric not in _METRICS:
            raise ValueError(f"metric should be one of: {_METRICS}")
        name = metric.replace("cuda", "device").replace("xpu", "device").replace(
            "privateuse1", "device")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                amount = int(getattr(event, name))
                if event.stack and amount > 0:
                    places = [place.translate(_SEPARATORS) for place in reversed(event.stack)]
                    file.write(f"{';'.join(places)} {amount}\n")

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace for chrome://tracing or Perfetto."""
        from .trace import write

        write(path, self)


def nested(events: list[FunctionEvent]) -> None:
    """Tell each event of the events directly inside it, from the parents noted."""
    for event in events:
        if event.cpu_parent is not None:
            event.cpu_parent.append_cpu_child(event)


__all__ = ["EventList", "nested"]
