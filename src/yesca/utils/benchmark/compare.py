"""`Compare`: measurements side by side, one table for each label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

_SEPARATOR = "  |  "
_BEST, _GOOD, _BAD, _WORST = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", \
    "\033[31m\033[1m"
_END = "\033[0m\033[0m"
_SAME = 100e-9  # seconds: differences below this are noise
_NOTE = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."

Row = tuple[int, str | None, str]  # threads, environment, name


class Colorize(Enum):
    """Against what a time is compared when it gets its colour."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


@dataclass(frozen=True)
class Style:
    """How a table shows its times."""

    colorize: Colorize = Colorize.NONE
    trim: bool = False
    warn: bool = False


class Compare:
    """Measurements as tables: labels are titles, sub-labels rows, descriptions columns.

    >>> from yesca.utils.benchmark import Compare, Measurement, TaskSpec
    >>> def measured(seconds, row, column):
    ...     return Measurement(1, [seconds] * 4, TaskSpec("x", "", "", "add", row, column))
    >>> print(Compare([measured(1e-6, "small", "old"), measured(5e-6, "large", "old"),
    ...                measured(5e-7, "small", "new"), measured(4e-6, "large", "new")]))
    [------------- add -------------]
                 |   old    |   new
    1 threads: ----------------------
          small  |  1000.0  |   500.0
          large  |  5000.0  |  4000.0
    <BLANKLINE>
    Times are in nanoseconds (ns).
    <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._style = Style()
        self.extend_results(results)

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for one in Measurement.merge(self._results):
            groups.setdefault(one.task_spec.label, []).append(one)
        return "\n".join(_Table(group, self._style).render() for group in groups.values())

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Take more measurements in."""
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError("Expected an instance of `Measurement`, "
                                 f"got {type(one)} instead.")
            self._results.append(one)

    def trim_significant_figures(self) -> None:
        """Show no more digits than the measurements bear."""
        self._style = Style(self._style.colorize, True, self._style.warn)

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the times by how they compare with the best of their column, or row."""
        kind = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE
        self._style = Style(kind, self._style.trim, self._style.warn)

    def highlight_warnings(self) -> None:
        """Mark the times that are spread too far."""
        self._style = Style(self._style.colorize, self._style.trim, True)

    def print(self) -> None:
        """Print the tables."""
        print(self)


class _Table:
    """The measurements of one label."""

    def __init__(self, results: Sequence[Measurement], style: Style) -> None:
        self.style = style
        self.label = results[0].task_spec.label or ""
        rows = ordered_unique(_row(one) for one in results)
        self.rows: list[Row] = sorted(rows, key=lambda row: (row[0], row[1] or ""))
        self.heads = ordered_unique(one.task_spec.description or "" for one in results)
        self.cells = {(_row(one), one.task_spec.description or ""): one for one in results}
        self.unit, self.size = select_unit(min(one.median for one in results))

    def render(self) -> str:
        names = self._names()
        columns = [self._column(head) for head in self.heads]
        rows = [_SEPARATOR.join([name, *cells])
                for name, *cells in zip(names, *columns, strict=True)]
        width = len(rows[0])  # of the heads, which are never coloured
        lines = [f"[{f' {self.label} '.center(width - 2, '-')}]", rows[0]]
        threads = 0
        for row, text in zip(self.rows, rows[1:], strict=True):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(width, "-"))
            lines.append(text)
        lines += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit})."]
        if self.style.warn and any(one.has_warnings for one in self.cells.values()):
            lines.append(_NOTE)
        return "\n".join(lines) + "\n"

    def _names(self) -> list[str]:
        """The first column: nothing above it; an environment is named once."""
        environments = [f"({row[1]})" if row[1] else "" for row in self.rows]
        wide = max(map(len, environments))
        named = []
        before: tuple[int, str] | None = None
        for row, shown in zip(self.rows, environments, strict=True):
            again = before == (row[0], shown)
            before = (row[0], shown)
            lead = f"  {'' if again else shown:<{wide}}  " if wide else " " * 6
            named.append(lead + row[2])
        width = max(map(len, named))
        return [" " * width, *(name.ljust(width) for name in named)]

    def _column(self, head: str) -> list[str]:
        """A head and its cells, all of one width."""
        found = [self.cells.get((row, head)) for row in self.rows]
        numbers = self._numbers(found)
        notes = [self._note(one) for one in found]
        widest = max(map(len, numbers)), max(map(len, notes))
        texts = [f"{number:>{widest[0]}}{note:<{widest[1]}}"
                 for number, note in zip(numbers, notes, strict=True)]
        width = max(len(head), sum(widest))
        made = [head.center(width)]
        for row, one, text in zip(self.rows, found, texts, strict=True):
            text = text.center(width)
            made.append(text if one is None else self._coloured(text, one, row, head))
        return made

    def _numbers(self, found: Sequence[Measurement | None]) -> list[str]:
        """Times in the table's unit, all of a column with as many decimals."""
        times = [None if one is None else one.median / self.size for one in found]
        decimals = 1
        if self.style.trim:
            digits = min(one.significant_figures for one in found if one is not None)
            whole = max(math.ceil(math.log10(time)) for time in times if time is not None)
            decimals = max(digits - whole, 0)
            times = [None if time is None else trim_sigfig(time, digits) for time in times]
        return ["" if time is None else f"{time:.{decimals}f}" for time in times]

    def _note(self, one: Measurement | None) -> str:
        if one is None or not self.style.warn or not one.has_warnings:
            return ""
        return f" (! {one.iqr / one.median * 100:.0f}%)"

    def _coloured(self, text: str, one: Measurement, row: Row, head: str) -> str:
        kind = self.style.colorize
        if kind is Colorize.NONE:
            return text
        best = min(other.median for (r, h), other in self.cells.items()
                   if (h == head if kind is Colorize.COLUMNWISE else r == row))
        time = one.median
        if time <= best * 1.01 or time <= best + _SAME:
            return f"{_BEST}{text}{_END}"
        if time <= best * 1.1:
            return f"{_GOOD}{text}{_END}"
        if time >= best * 5:
            return f"{_WORST}{text}{_END}"
        return f"{_BAD}{text}{_END}" if time >= best * 2 else text


def _row(one: Measurement) -> Row:
    spec = one.task_spec
    return spec.num_threads, spec.env, one.as_row_name


__all__ = ["Colorize", "Compare"]
