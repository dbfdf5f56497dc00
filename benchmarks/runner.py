"""Runs a suite: rounds of fresh processes, interleaved, and the results judged round by round."""

from __future__ import annotations

from collections.abc import Callable

from .machine import Limits
from .sides import Side, SideFailed
from .statistics_of_pairs import (
    Result,
    Round,
    Spread,
    differences,
    mean_ratios,
    median_seconds,
    ratios,
)
from .suites import Case, Suite

MEAN = "geometric mean"
Progress = Callable[[str], None]


def run_rounds(
    suite: Suite, sides: dict[str, Side], pairs: int, threads: int, progress: Progress
) -> list[Round]:
    """`pairs` rounds in which each side runs once, after one run of each that is not counted.

    The uncounted run fills disk caches (files of the packages, compiled kernels). The order turns
    by one place each round, so that no side always runs on a machine that another has warmed up.
    """
    wanted = ("yesca", "torch", "control", *suite.extra_sides)
    present = [sides[name] for name in wanted if name in sides]
    for side in present:
        if side.name != "control":
            progress(f"{suite.name}: warming up {side.name}")
            side.run(suite.task, threads)
    rounds: list[Round] = []
    for number in range(pairs):
        turn = number % len(present)
        found: Round = {}
        for side in present[turn:] + present[:turn]:
            progress(f"{suite.name}: pair {number + 1} of {pairs}, {side.name}")
            found[side.name] = side.run(suite.task, threads)
            _check_cases(suite, side, found[side.name])
        rounds.append(found)
    return rounds


def _check_cases(suite: Suite, side: Side, seconds: dict[str, float]) -> None:
    """The sides that are compared must have timed every case that names them."""
    expected = {case.name for case in suite.cases if side.name in ("torch", "control", case.side)}
    missing = expected - seconds.keys()
    if missing:
        raise SideFailed(f"{side.name}: no time for {', '.join(sorted(missing))}")


def judge(suite: Suite, rounds: list[Round], limits: Limits | None) -> list[Result]:
    """One result for each case, then the geometric mean where the suite shows one."""
    ran = rounds[0].keys()
    results = [
        _judge_case(case, rounds, limits)
        for case in suite.cases
        if case.side in ran and case.base in ran  # JAX is not there everywhere
    ]
    if suite.shows_mean:
        results.append(_judge_mean(suite, rounds))
    return results


def _judge_case(case: Case, rounds: list[Round], limits: Limits | None) -> Result:
    if case.figure == "later":
        figure = differences(rounds, case.name, case.side, case.base)
    elif case.figure == "own":
        figure = [found[case.side][case.name] for found in rounds]
    else:
        figure = ratios(rounds, case.name, case.side, case.base)
    seconds = median_seconds(rounds, case.name)
    shares = {
        side: share
        for side, median in seconds.items()
        if limits and (share := limits.share(case.flops, case.bytes, median)) is not None
    }
    return Result(
        case=case.label or case.name,
        seconds=seconds,
        figure=Spread.of(figure),
        control=Spread.of(ratios(rounds, case.name, "control")).median,
        limit=case.limit,
        pairs=len(rounds),
        figure_is=case.figure,
        shares=shares,
    )


def _judge_mean(suite: Suite, rounds: list[Round]) -> Result:
    names = [case.name for case in suite.cases]
    return Result(
        case=MEAN,
        seconds={},
        figure=Spread.of(mean_ratios(rounds, names, "yesca")),
        control=Spread.of(mean_ratios(rounds, names, "control")).median,
        limit=suite.mean_limit,
        pairs=len(rounds),
        shares={},
    )
