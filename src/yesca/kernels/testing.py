"""Measuring kernels: `triton.testing.do_bench`, and tables of it: `perf_report`."""

from __future__ import annotations

import csv
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..graph.figures import lined_up

_MODES = ("min", "max", "mean", "median", "all")


def do_bench(fn: Callable[[], Any], warmup: float = 25, rep: float = 100,
             grad_to_none: Any = None, quantiles: Sequence[float] | None = None,
             return_mode: str = "mean") -> Any:
    """Milliseconds that a call takes.

    Args:
        warmup, rep: milliseconds to call it before, and while, time is taken.
        grad_to_none: tensors whose gradients are dropped before each call.
        quantiles: which quantiles to give, as a list, instead of `return_mode`.
        return_mode: "min", "max", "mean", "median" or "all" (a list).

    >>> from yesca.kernels import testing
    >>> testing.do_bench(lambda: sum(range(1000)), warmup=1, rep=2, return_mode="min") > 0
    True
    """
    if return_mode not in _MODES:
        raise ValueError(f"[do_bench] return_mode is one of {', '.join(_MODES)}, not "
                         f"{return_mode!r}")
    end = time.perf_counter() + warmup / 1000
    fn()
    while time.perf_counter() < end:
        fn()
    taken: list[float] = []
    end = time.perf_counter() + rep / 1000
    while not taken or time.perf_counter() < end:
        for tensor in grad_to_none or ():
            tensor.grad = None
        start = time.perf_counter()
        fn()
        taken.append((time.perf_counter() - start) * 1000)
    ordered = sorted(taken)
    if quantiles is not None:
        made = [_quantile(ordered, q) for q in quantiles]
        return made[0] if len(made) == 1 else made
    if return_mode == "all":
        return taken
    return {"min": ordered[0], "max": ordered[-1], "mean": sum(taken) / len(taken),
            "median": _quantile(ordered, 0.5)}[return_mode]


def _quantile(ordered: list[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None,
                 err_msg: str = "") -> None:
    """Raise AssertionError unless two tensors agree (to 1e-2 by default)."""
    import numpy as np

    a, b = (np.asarray(v.detach().float().numpy() if hasattr(v, "detach") else v)
            for v in (x, y))
    np.testing.assert_allclose(a, b, atol=1e-2 if atol is None else atol,
                               rtol=0.0 if rtol is None else rtol, err_msg=err_msg)


@dataclass
class Benchmark:
    """A table of measurements: a row for each of `x_vals`, a column for each of `line_vals`.

    Args:
        x_names: the arguments that take the values of `x_vals` (a value, or one for each name).
        line_arg, line_vals, line_names: the argument of the columns, its values, their titles.
        plot_name: the title, and the name of the file that `run` writes.
        args: further arguments of the measured function.

    The looks of a plot (xlabel, ylabel, x_log, y_log, styles) are kept and not used.
    """

    x_names: list[str]
    x_vals: list[Any]
    line_arg: str
    line_vals: list[Any]
    line_names: list[str]
    plot_name: str
    args: dict[str, Any]
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Any = field(default=None)


class Mark:
    """A function with its benchmarks, as `perf_report` gives it."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | list[Benchmark]) -> None:
        self.fn, self.benchmarks = fn, benchmarks

    def run(self, show_plots: bool = False, print_data: bool = False, save_path: str = "",
            return_df: bool = False, **kwargs: Any) -> Any:
        """Measure all rows and columns.

        Args:
            show_plots: has no effect: numbers are printed, or saved.
            print_data: print the tables.
            save_path: a folder; each table is written there as `plot_name.csv`.
            return_df: give the tables as pandas' DataFrames (one, or a list of them).
        """
        one = isinstance(self.benchmarks, Benchmark)
        tables = [self._measured(b, kwargs) for b in ([self.benchmarks] if one else
                                                      self.benchmarks)]
        for bench, (titles, rows) in tables:
            if print_data:
                print(f"{bench.plot_name}:", *_lines([titles, *rows]), sep="\n")
            if save_path:
                folder = Path(save_path)
                folder.mkdir(parents=True, exist_ok=True)
                with open(folder / f"{bench.plot_name}.csv", "w", newline="",
                          encoding="utf-8") as file:
                    csv.writer(file).writerows([titles, *rows])
        if not return_df:
            return None
        import pandas

        frames = [pandas.DataFrame(rows, columns=titles) for _, (titles, rows) in tables]
        return frames[0] if one else frames

    def _measured(self, bench: Benchmark, kwargs: dict[str, Any]
                  ) -> tuple[Benchmark, tuple[list[str], list[list[Any]]]]:
        rows = []
        for x in bench.x_vals:
            values = list(x) if isinstance(x, (list, tuple)) else \
                list(itertools.repeat(x, len(bench.x_names)))
            if len(values) != len(bench.x_names):
                raise ValueError(f"Expected {len(bench.x_names)} values, got {x}")
            given = dict(zip(bench.x_names, values, strict=True))
            row: list[Any] = list(values)
            for line in bench.line_vals:
                made = self.fn(**given, **{bench.line_arg: line}, **bench.args, **kwargs)
                row.append(made[0] if isinstance(made, (list, tuple)) else made)
            rows.append(row)
        return bench, ([*bench.x_names, *bench.line_names], rows)


def _lines(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows as lines of a table of numbers."""
    texts = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
             for row in rows]
    width = max(len(row[-1]) for row in texts)
    return lined_up([[*row[:-1], row[-1].rjust(width)] for row in texts])


def perf_report(benchmarks: Benchmark | list[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Decorator: a function that measures one case becomes a table of many.

    >>> from yesca.kernels import testing
    >>> @testing.perf_report(testing.Benchmark(
    ...     x_names=["n"], x_vals=[2, 3], line_arg="way", line_vals=[1, 2],
    ...     line_names=["once", "twice"], plot_name="powers", args={}))
    ... def power(n, way):
    ...     return float(n ** way)
    >>> power.run(print_data=True)
    powers:
    n  once  twice
    2     2      4
    3     3      9
    """
    return lambda fn: Mark(fn, benchmarks)
