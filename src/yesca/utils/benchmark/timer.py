"""`Timer`: measures a statement."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import perf_counter as timer
from typing import Any, NoReturn

from .measurement import Measurement, TaskSpec, set_torch_threads

_PACKAGE = __name__.partition(".")[0]
_MOST_RUNS = 10**9
_OVERHEAD = 1e-4  # the timer's own share of a measurement, at most
_SMALL = 1e-9  # no run is said to take less than this

Callback = Callable[[int, float], NoReturn]


class Timer:
    """Measures how long a statement takes, after a warm-up and with a set number of threads.

    Args:
        stmt: the statement, a text; `torch` is there.
        setup: run once before, to make what the statement needs.
        timer: gives the time in seconds.
        globals: further names that the statement may use.
        label, sub_label, description, env: what reports and tables call it: a table's title, its
            row, its column, and the setting it was measured in.
        num_threads: how many threads operators may use meanwhile.
        language: "python"; nothing else is measured here.

    >>> from yesca.utils.benchmark import Timer
    >>> made = Timer("x + y", globals={"x": torch.ones(4), "y": torch.ones(4)}, label="add")
    >>> measured = made.timeit(100)
    >>> measured.number_per_run, measured.title, measured.median < 0.1
    (100, 'add', True)
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
                 label: str | None = None, sub_label: str | None = None,
                 description: str | None = None, env: str | None = None, num_threads: int = 1,
                 language: str = "python") -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() not in ("py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this "
                             "code can simply be moved to `setup`.")
        stmt, setup = _dedented(stmt), _dedented(setup)
        names = {**(globals or {})}
        names.setdefault("torch", import_module(_PACKAGE))
        self._globals = names
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env,
                                   num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), _SMALL)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of so many runs, after a hundredth of them as a warm-up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not there, as in PyTorch: `blocked_autorange` measures repeatedly."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callback | None = None) -> None:
        """Not there, as in PyTorch: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback: Callback | None = None, min_run_time: float = 0.2
                          ) -> Measurement:
        """Measurements of blocks of runs, for `min_run_time` seconds in all.

        A block is long enough that the timer itself does not count. `callback(runs, seconds)` is
        called after each.
        """
        number = self._block(min_run_time)
        return self._repeated(number, callback, min_run_time, lambda times: True)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01,
                           max_run_time: float = 10.0, callback: Callback | None = None
                           ) -> Measurement:
        """As `blocked_autorange`, until the times agree: until their interquartile range is below
        `threshold` times the median, or `max_run_time` is over."""
        number = self._block(0.05)

        def agrees(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        return self._repeated(number, callback, min_run_time, agrees, max_run_time)

    def _block(self, min_run_time: float) -> int:
        """How many runs make a measurement in which the timer's overhead can be neglected."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = median([self._timeit(0) for _ in range(5)])
            number = 1
            while True:
                taken = self._timeit(number)
                fine = overhead / taken <= _OVERHEAD and taken >= min_run_time / 1000
                if fine or taken > min_run_time or number >= _MOST_RUNS:
                    return number
                number *= 10

    def _repeated(self, number: int, callback: Callback | None, min_run_time: float,
                  enough: Callable[[list[float]], bool], max_run_time: float = float("inf")
                  ) -> Measurement:
        times: list[float] = []
        spent = 0.0
        with set_torch_threads(self._task_spec.num_threads):
            while spent < min_run_time or not (enough(times) or spent >= max_run_time):
                taken = self._timeit(number)
                if callback is not None:
                    callback(number, taken)
                times.append(taken)
                spent += taken
        return self._measured(number, times)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)


def _dedented(text: str) -> str:
    """A text whose lines begin where a program's do, so that it may be indented in the source."""
    return textwrap.dedent(text).removeprefix("\n").rstrip()


__all__ = ["Timer", "timer"]
