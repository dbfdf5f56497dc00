"""The table of a profile as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import formatting
from .traffic import bandwidth

_WIDTH = 12
_GAP = 2
_PADDING = 4


@dataclass(frozen=True)
class Column:
    """One column: its head, and what it shows of an event."""

    head: str
    show: Callable[[Any], str]
    width: int = _WIDTH
    left: bool = False

    def cell(self, text: str) -> str:
        placed = text.ljust(self.width) if self.left else text.rjust(self.width)
        return placed + " " * _GAP


@dataclass(frozen=True)
class Style:
    """How wide the columns of texts may be, and the unit of times (None: as it fits)."""

    max_src_column_width: int = 75
    max_name_column_width: int | None = 55
    max_shapes_column_width: int | None = 80
    time_unit: str | None = None


def render(events: Sequence[Any], total: float, style: Style, row_limit: int = 100,
           header: str | None = None, top_level_only: bool = False, with_memory: bool = False,
           with_flops: bool = False) -> str:
    """The events as a table, one a row, with shares of `total` microseconds."""
    if not events:
        return ""
    columns = _columns(events, total, style, with_memory, with_flops)
    rule = "".join("-" * c.width + " " * _GAP for c in columns)
    lines = []
    if header is not None:
        lines += ["=" * (len(rule) - _GAP), header]
    if top_level_only:
        if header is None:
            lines.append("=" * (len(rule) - _GAP))
        lines.append("This report only display top-level ops statistics")
    lines += [rule, "".join(c.cell(c.head) for c in columns), rule]
    shown = [e for e in events if not (top_level_only and e.cpu_parent is not None)]
    for event in shown[:row_limit] if row_limit >= 0 else shown:
        lines.append("".join(c.cell(c.show(event)) for c in columns))
        if columns[-1].left:
            lines += _more_sources(event, columns)
    lines += [rule, f"Self CPU time total: {formatting.time(total, style.time_unit)}"]
    if any(event.bytes_moved for event in events):
        lines.append(f"Measured memory bandwidth: {bandwidth() / 1e9:.1f} GB/s")
    return "\n".join(lines) + "\n"


def _columns(events: Sequence[Any], total: float, style: Style, with_memory: bool,
             with_flops: bool) -> list[Column]:
    def time(value: float) -> str:
        return formatting.time(value, style.time_unit)

    width = _widest([e.key for e in events], style.max_name_column_width)
    columns = [
        Column("Name", lambda e: _cut(e.key, width, style.max_name_column_width), width),
        Column("Self CPU %", lambda e: formatting.share(e.self_cpu_time_total, total)),
        Column("Self CPU", lambda e: time(e.self_cpu_time_total)),
        Column("CPU total %", lambda e: formatting.share(e.cpu_time_total, total)),
        Column("CPU total", lambda e: time(e.cpu_time_total)),
        Column("CPU time avg", lambda e: time(e.cpu_time)),
    ]
    if with_memory:
        columns += [
            Column("CPU Mem", lambda e: formatting.memory(e.cpu_memory_usage)),
            Column("Self CPU Mem", lambda e: formatting.memory(e.self_cpu_memory_usage)),
        ]
    columns.append(Column("# of Calls", lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        shapes = _widest([str(e.input_shapes) for e in events], style.max_shapes_column_width)
        limit = style.max_shapes_column_width
        columns.append(Column("Input Shapes", lambda e: _cut(str(e.input_shapes), shapes, limit),
                              shapes))
    if with_flops:
        unit, size = formatting.flops_unit([e.flops for e in events])
        columns.append(Column(f"Total {unit}",
                              lambda e: f"{e.flops / size:.3f}" if e.flops > 0 else "--"))
    if any(e.bytes_moved for e in events):
        columns += _traffic_columns()
    if any(e.stack for e in events):
        places = _widest([line for e in events for line in e.stack], style.max_src_column_width)
        columns.append(Column("Source Location", lambda e: _tail(e.stack[0], places)
                              if e.stack else "", places, left=True))
    return columns


def _traffic_columns() -> list[Column]:
    """What PyTorch's tables lack: bytes of the calls' own stages, and how near that is to what
    the memory can do."""
    limit = bandwidth()
    return [
        Column("Bytes Moved", lambda e: formatting.memory(e.bytes_moved) if e.bytes_moved
               else "--"),
        Column("Memory BW %", lambda e: formatting.share(e.bytes_per_second, limit)
               if e.bytes_moved else "--"),
    ]


def _more_sources(event: Any, columns: list[Column]) -> list[str]:
    """The further places of an event, below the first, and an empty line."""
    empty = "".join(c.cell("") for c in columns[:-1])
    last = columns[-1]
    return [empty + last.cell(_tail(place, last.width)) for place in (*event.stack[1:], "")]


def _widest(texts: list[str], limit: int | None) -> int:
    width = max((len(text) for text in texts), default=0) + _PADDING
    return width if limit is None else min(width, limit)


def _cut(text: str, width: int, limit: int | None) -> str:
    return text if limit is None or len(text) <= width else f"{text[:width - 3]}..."


def _tail(text: str, width: int) -> str:
    return text if len(text) <= width else f"...{text[3 - width:]}"
