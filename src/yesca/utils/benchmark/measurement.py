"""What was measured, and what the numbers say about it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

from ...runtime.threads import get_num_threads, set_num_threads

_MOST_DIGITS = 4
#: No interval of times is known better than this: one tick of the clock, or so.
_LEAST_INTERVAL = 25e-9
_WARNS, _WARNS_LOUDLY = 0.1, 0.25  # interquartile range as a share of the median
_NORMAL_90 = 1.645  # standard deviations on either side that hold 90 per cent
_UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"),
          "s": (1, "second")}


@dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What a measurement is a measurement of."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement, and the sub-label."""
        more = f": {self.sub_label}" if self.sub_label else ""
        if self.label is not None:
            return self.label + more
        if "\n" not in self.stmt:
            return self.stmt + more
        more = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{more}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup as reports show it; nothing if there is none."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup \
            else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join([f"{part}\n" if "\n" in part else part for part in parts if part])


@dataclass(init=True, repr=False)
class Measurement:
    """The times of one or more runs of a task.

    raw_times: seconds, each for `number_per_run` runs.

    >>> import yesca as torch
    >>> from yesca.utils.benchmark import Measurement, TaskSpec
    >>> made = Measurement(100, [1e-4, 1.2e-4, 1.1e-4], TaskSpec("x + 1", "pass"))
    >>> round(made.median * 1e6, 3), round(made.mean * 1e6, 3), len(made.times)
    (1.1, 1.1, 3)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__ and "task_spec" in self.__dict__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds for one run, in the order of the measurements."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        return fmean(self.times) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The interquartile range: how far the middle half of the times is spread."""
        return self._quantile(0.75) - self._quantile(0.25)

    def _quantile(self, share: float) -> float:
        if not self.raw_times:
            return -1.0
        ordered = sorted(self.times)
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be relied on.

        From the middle half of the times, whose mean lies with 90 per cent probability within an
        interval; at least one, at most four.
        """
        ordered = sorted(self.times)
        count = len(ordered)
        middle = ordered[count // 4:math.ceil(3 * count / 4)]
        interval = _NORMAL_90 * pstdev(middle) / math.sqrt(len(middle))
        digits = math.log10(self.median / max(interval, _LEAST_INTERVAL))
        return min(max(math.floor(digits), 1), _MOST_DIGITS)

    @property
    def has_warnings(self) -> bool:
        """Whether the times are spread too far."""
        return bool(self._warning())

    def meets_confidence(self, threshold: float = _WARNS) -> bool:
        """Whether the interquartile range is below this share of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """Title of the task."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """Where it was measured, as the task says."""
        return "Unspecified env" if self.task_spec.env is None else str(self.task_spec.env)

    @property
    def as_row_name(self) -> str:
        """What the row of a `Compare` is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    def _warning(self) -> str:
        if not self.raw_times or self.meets_confidence():
            return ""
        spread = self.iqr / self.median
        advice = "This suggests significant environmental influence." \
            if spread > _WARNS_LOUDLY else "This could indicate system fluctuation."
        return (f"  WARNING: Interquartile range is {spread * 100:.1f}% of the median "
                f"measurement.\n           {advice}")

    def __repr__(self) -> str:
        count = len(self.raw_times)
        lines = [super().__repr__(), self.task_spec.summarize()]
        unit, size = select_unit(self.median)
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / size:.2f} {unit}")
        if count >= 4:
            quarters = [self._quantile(share) / size for share in (0.25, 0.75)]
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} "
                         f"({quarters[0]:.2f} to {quarters[1]:.2f})")
        threads = self.task_spec.num_threads
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement' if count > 1 else ''}, "
            f"{threads} thread{'s' if threads > 1 else ''}")
        warning = self._warning()
        return "\n".join([*lines, warning] if warning else lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task as one each, their times brought to one number of runs."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).append(one)
        return [_merged(spec, group) for spec, group in groups.items()]


def _merged(spec: TaskSpec, group: list[Measurement]) -> Measurement:
    runs = group[0].number_per_run
    if any(one.number_per_run != runs for one in group):
        group = [replace(one, number_per_run=1, raw_times=one.times) for one in group]
        runs = 1
    return Measurement(runs, [time for one in group for time in one.raw_times], spec)


def select_unit(t: float) -> tuple[str, float]:
    """The unit that a time in seconds is best given in, and the unit's seconds.

    >>> select_unit(2.5e-5)
    ('us', 1e-06)
    """
    place = 3 if t <= 0 else int(math.floor(math.log10(t) / 3 + 1e-12))
    name = {-1: "ms", -2: "us", -3: "ns"}.get(place, "s")
    return name, _UNITS[name][0]


def unit_to_english(u: str) -> str:
    """A unit's name in full.

    >>> unit_to_english("us")
    'microsecond'
    """
    return _UNITS[u][1]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to so many significant digits.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    assert n == int(n)
    if x == 0:
        return 0.0
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetitions, in the order in which they come first.

    >>> ordered_unique([3, 1, 3])
    [3, 1]
    """
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let operators use `n` threads inside."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)


__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads",
           "trim_sigfig", "unit_to_english"]
