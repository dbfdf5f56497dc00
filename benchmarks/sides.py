"""The contenders: how each of them runs a program in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
PROCESS = "process"  # the case of a statement that is timed as a whole process

# The names by which libraries take their number of threads.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "YESCA_NUM_THREADS",
)


class SideFailed(RuntimeError):
    """A program ended with an error or printed no result."""


@dataclass(frozen=True)
class Side:
    """A contender: the start of its command line and what its environment adds."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    cold: bool = False  # each run gets an empty folder for compiled kernels

    def run(self, task: Task, threads: int, timeout: float = 900.0) -> dict[str, float]:
        """Run the task in fresh processes, one a part; returns seconds by the name of the case."""
        found: dict[str, float] = {}
        for part in task.parts or ("",):
            found |= self._run_part(task, part, threads, timeout)
        return found

    def _run_part(
        self, task: Task, part: str, threads: int, timeout: float
    ) -> dict[str, float]:
        environment = dict(os.environ, **{name: str(threads) for name in _THREAD_VARIABLES})
        environment.update(self.environment)
        with tempfile.TemporaryDirectory(prefix="yesca-bench-") as empty:
            if self.cold:
                environment["YESCA_CACHE_DIR"] = empty
            # What PyTorch's compiler keeps between processes is never there: only yesca has a side
            # of its own for either case.
            environment["TORCHINDUCTOR_CACHE_DIR"] = empty
            environment["BENCHMARK_SIDE"] = self.name
            # Wall-clock time: the child compares it with its own clock.
            environment["BENCHMARK_STARTED"] = repr(time.time())
            start = time.perf_counter()
            try:
                result = subprocess.run(
                    [*self.command, *task.command_for(self), *filter(None, [part])],
                    env=environment,
                    capture_output=True,
                    encoding="utf-8",
                    timeout=timeout,
                    cwd=empty,
                )
            except subprocess.TimeoutExpired:
                raise SideFailed(f"{self.name}: no result after {timeout:.0f} s") from None
            elapsed = time.perf_counter() - start
        if result.returncode != 0:
            tail = "\n".join(result.stderr.strip().splitlines()[-4:])
            who = f"{self.name}, {part}" if part else self.name
            raise SideFailed(f"{who}: exit code {result.returncode}\n{tail}")
        return task.seconds(result.stdout, elapsed)


@dataclass(frozen=True)
class Task:
    """A program of the folder `programs`, or a statement that is timed as a whole process."""

    program: str = ""
    statements: tuple[tuple[str, str], ...] = ()  # (side, statement)
    substitutes: tuple[tuple[str, str], ...] = ()  # (side, program): where a side has its own
    parts: tuple[str, ...] = ()  # the program runs once for each, in a process of its own

    def command_for(self, side: Side) -> list[str]:
        statement = dict(self.statements).get(side.name)
        if statement is not None:
            return ["-c", statement]
        program = dict(self.substitutes).get(side.name, self.program)
        runner = ["-m", "yesca"] if side.name.startswith("yesca") else []
        return [*runner, str(PROGRAMS / program)]

    def seconds(self, printed: str, elapsed: float) -> dict[str, float]:
        if self.statements:
            return {PROCESS: elapsed}
        lines = [line for line in printed.splitlines() if line.startswith("{")]
        if not lines:
            raise SideFailed(f"{self.program} printed no line of JSON:\n{printed[-400:]}")
        return {name: float(value) for name, value in json.loads(lines[-1]).items()}


def make_sides(torch_python: str, jax_python: str | None, cache: str) -> dict[str, Side]:
    """All contenders that the given interpreters allow, by name.

    `cache` is the folder for yesca's compiled kernels that its warm runs share.
    """
    own = sys.executable
    sides = [
        Side("yesca", (own,), {"YESCA_CACHE_DIR": cache}),
        Side("torch", (torch_python,)),
        Side("control", (torch_python,)),
        Side("yesca, cold", (own,), cold=True),
        Side("yesca, eager", (own,), {"YESCA_CACHE_DIR": cache}),
        Side("yesca, float32", (own,), {"YESCA_CACHE_DIR": cache}),
        Side("yesca, built-in", (own,), {"YESCA_CACHE_DIR": cache}),
        Side("python", (own,)),
    ]
    if jax_python:
        sides.append(Side("jax", (jax_python,), {"JAX_PLATFORMS": "cpu"}))
    return {side.name: side for side in sides}
