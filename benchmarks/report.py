"""Results as a table that lines up, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .machine import Limits
from .statistics_of_pairs import Result, Round, Spread
from .suites import Suite

_UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0, "MB": 1e-6}


def table(suite: Suite, results: list[Result], limits: Limits | None = None) -> str:
    """The rows of one suite under its name.

    Columns: median times of the sides, the figure with its quartiles, the limit, PyTorch against
    itself, and what share of the machine's limit yesca and PyTorch reach. The limit for bytes is
    that of memory: what stays in a cache may go beyond it.
    """
    sides = list(dict.fromkeys(side for row in results for side in row.seconds))
    sides = [side for side in sides if side != "control"]
    heading = ["case", *(f"{side} {suite.unit}" for side in sides)]
    heading += ["figure", "quartiles", "limit", "control", "of the machine", "verdict"]
    rows = [heading, *(_cells(suite, sides, row) for row in results)]
    text = f"{suite.name}: {suite.about}\n{aligned(rows)}"
    if limits and any(row.shares for row in results):
        reached = f"{limits.flops / 1e9:.0f} GFLOP/s float32, {limits.bytes / 1e9:.1f} GB/s"
        text += f"\n  the machine's limit: {reached}; shares are yesca / PyTorch"
    return text


def _cells(suite: Suite, sides: list[str], row: Result) -> list[str]:
    scale = _UNITS[suite.unit]
    times = [_time(row.seconds[side] * scale) if side in row.seconds else "-" for side in sides]
    figure, limit, suffix = row.figure, row.limit, ""
    if row.figure_is != "ratio":
        suffix = f" {suite.unit}"
        figure = Spread(figure.lower * scale, figure.median * scale, figure.upper * scale)
        limit = None if limit is None else limit * scale
    reached = row.shares or {}
    shares = [f"{reached[side]:.0%}" for side in ("yesca", "torch") if side in reached]
    return [
        row.case,
        *times,
        f"{figure.median:.3f}{suffix}",
        f"{figure.lower:.3f}-{figure.upper:.3f}",
        "-" if limit is None else f"{limit:.2f}{suffix}",
        "-" if row.control is None else f"{row.control:.3f}",
        " / ".join(shares) or "-",
        row.verdict,
    ]


def _time(value: float) -> str:
    """Three digits that count: 0.214, 1.45, 41.3, 2310."""
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 1000 else 0}f}"


def aligned(rows: list[list[str]]) -> str:
    """Columns as wide as their widest cell; the first and the last to the left, others right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place in (0, last) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join("  " + line for line in lines)


def conclusion(results: Iterable[Result]) -> str:
    """How many limits were met; void results say nothing either way."""
    verdicts = [row.verdict for row in results]
    counts = ((word, verdicts.count(word)) for word in ("met", "missed", "void", "few pairs"))
    text = ", ".join(f"{count} {word}" for word, count in counts if count) or "no limits here"
    if "void" in verdicts:
        text += "; void: PyTorch against itself is outside 0.95-1.05, so the machine was not quiet"
    return text


def as_json(
    machine: dict[str, object],
    limits: Limits | None,
    judged: dict[str, list[Result]],
    measured: dict[str, list[Round]],
) -> dict[str, Any]:
    """Everything that was measured, for later comparison."""
    return {
        "machine": machine,
        "limits": asdict(limits) if limits else None,
        "suites": {
            name: {
                "results": [asdict(row) | {"verdict": row.verdict} for row in results],
                "rounds": measured[name],
            }
            for name, results in judged.items()
        },
    }
