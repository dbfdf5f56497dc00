"""From the seconds of many runs to a verdict.

A *round* is one run of every side, one after the other, each in a fresh process. What is judged is
the ratio (or the difference) of two sides within a round: whatever slows the machine for a while
slows both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MINIMUM_PAIRS = 9
CONTROL_RANGE = (0.95, 1.05)

Round = dict[str, dict[str, float]]  # side -> case -> seconds


@dataclass(frozen=True)
class Spread:
    """A median between its quartiles."""

    lower: float
    median: float
    upper: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Quartiles by linear interpolation between the sorted values."""
        ordered = sorted(values)
        if not ordered:
            raise ValueError("a spread needs at least one value")
        return cls(*(_quantile(ordered, share) for share in (0.25, 0.5, 0.75)))


def _quantile(ordered: list[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


@dataclass(frozen=True)
class Result:
    """One row of the report."""

    case: str
    seconds: dict[str, float]  # side -> median seconds
    figure: Spread  # what the limit is for: ratios, or seconds
    control: float | None  # PyTorch against PyTorch
    limit: float | None
    pairs: int
    figure_is: str = "ratio"  # or "later", "own": as in `suites.Case`
    shares: dict[str, float] | None = None  # side -> share of the machine's limit

    @property
    def verdict(self) -> str:
        """"met", "missed", "void" (the machine was not quiet), "few pairs", or "-" (no limit)."""
        low, high = CONTROL_RANGE
        if self.control is not None and not low <= self.control <= high:
            return "void"
        if self.limit is None:
            return "-"
        if self.pairs < MINIMUM_PAIRS:
            return "few pairs"
        return "met" if self.figure.upper <= self.limit else "missed"


def ratios(rounds: list[Round], case: str, side: str, base: str = "torch") -> list[float]:
    """`side` against `base` in each round; below 1 is faster."""
    return [found[side][case] / found[base][case] for found in rounds]


def mean_ratios(rounds: list[Round], cases: list[str], side: str) -> list[float]:
    """The geometric mean over the cases of each round's ratios."""
    by_case = [ratios(rounds, case, side) for case in cases]
    return [geometric_mean(one_round) for one_round in zip(*by_case, strict=True)]


def differences(rounds: list[Round], case: str, side: str, base: str) -> list[float]:
    """How many seconds later than `base` the side is, in each round."""
    return [found[side][case] - found[base][case] for found in rounds]


def median_seconds(rounds: list[Round], case: str) -> dict[str, float]:
    sides = [side for side in rounds[0] if case in rounds[0][side]]
    return {side: Spread.of(found[side][case] for found in rounds).median for side in sides}
