"""The command `python -m benchmarks`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

from . import machine, report, runner
from .sides import SideFailed, make_sides
from .statistics_of_pairs import MINIMUM_PAIRS, Result, Round
from .suites import SUITES


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare yesca with PyTorch in interleaved pairs of fresh processes.",
        epilog="suites: " + "; ".join(f"{s.name} ({s.about})" for s in SUITES.values()),
    )
    parser.add_argument("suites", nargs="*", metavar="suite", help="default: all of them")
    parser.add_argument(
        "--torch-python", required=True, metavar="PATH", help="an interpreter that has PyTorch"
    )
    parser.add_argument("--jax-python", metavar="PATH", help="an interpreter that has JAX")
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only this case; may be said again"
    )
    parser.add_argument("--pairs", type=int, default=MINIMUM_PAIRS, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="of each side; default: 2")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    if chosen.case:
        for name in chosen.suites or SUITES:
            if not SUITES[name].only(chosen.case).cases:
                known = ", ".join(case.name for case in SUITES[name].cases)
                parser.error(f"{name} has none of these cases; it has {known}")
    if chosen.pairs < 1 or chosen.threads < 1:
        parser.error("--pairs and --threads must be at least 1")
    return chosen


def show_progress(text: str) -> None:
    """One line on the terminal, overwritten by the next; nothing in a file or a pipe."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def keep_to_cores(threads: int) -> None:
    """This process and all it starts use the same few cores, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main(arguments: list[str] | None = None) -> int:
    """Run the suites; returns 1 where a limit was missed or a side failed, else 0."""
    chosen = parse(arguments)
    about = machine.describe()
    keep_to_cores(chosen.threads)
    print(f"{about['cpu']}, {chosen.threads} threads, load {about['load'][0]}\n")
    limits: machine.Limits | None = None
    judged: dict[str, list[Result]] = {}
    measured: dict[str, list[Round]] = {}
    failed = False
    with tempfile.TemporaryDirectory(prefix="yesca-bench-cache-") as cache:
        sides = make_sides(chosen.torch_python, chosen.jax_python, cache)
        for name in chosen.suites or SUITES:
            suite = SUITES[name]
            if chosen.case:
                suite = suite.only(chosen.case)
            if any(case.flops or case.bytes for case in suite.cases):
                show_progress("measuring the machine")
                limits = machine.measure(chosen.threads).better_of(limits)
            try:
                rounds = runner.run_rounds(
                    suite, sides, chosen.pairs, chosen.threads, show_progress
                )
            except SideFailed as failure:
                failed = True
                show_progress("")
                print(f"{name}: not measured\n  {failure}\n")
                continue
            measured[name] = rounds
            judged[name] = runner.judge(suite, rounds, limits)
            show_progress("")
            print(report.table(suite, judged[name], limits) + "\n", flush=True)
    rows = [row for results in judged.values() for row in results]
    print(report.conclusion(rows))
    if chosen.json:
        everything = report.as_json(about, limits, judged, measured)
        chosen.json.write_text(json.dumps(everything, indent=1) + "\n")
    return int(failed or any(row.verdict == "missed" for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
