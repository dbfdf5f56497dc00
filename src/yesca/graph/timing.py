"""How long each launch of a program takes: a recorder that runs them one at a time.

It stands in for the thread's own recorder while something is looked into, so that ordinary calls
know nothing of it. Each launch runs several times on the program's own values, and what it reads
and writes over is put back in between; the shortest time counts, less that of launching nothing.
"""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from . import recorder
from .program import Program
from .recorder import Recorder
from .steps import Step, launches_in

TIMES, ENOUGH = 7, 0.05  # runs of one launch, and the seconds after which there is no further one


class Timekeeper(Recorder):
    """A recorder that notes the time of each launch of the program that ran last."""

    def __init__(self) -> None:
        super().__init__()
        self.native = None
        self.program: Program | None = None
        self.seconds: tuple[float, ...] = ()

    def _launch(self, program: Program, bases: array[int], storages: list[Any]) -> None:
        table = [[0], *([1, *program.words[at:end]] for at, end in launches_in(program.words))]
        blocks = [(ctypes.c_int64 * len(words))(*words) for words in table]
        run, place = recorder.native_replay(), bases.buffer_info()[0]

        def launch(block: Any, slow: bool) -> None:
            run(ctypes.addressof(block), place, self.tape.values_address, slow)

        nothing = _shortest(partial(launch, blocks[0], False), [])
        found = []
        for step, block in zip(program.steps, blocks[1:], strict=True):
            kept = list(_overwritten(step, program, bases, storages))
            seconds = _shortest(partial(launch, block, step.total > step.grain), kept)
            found.append(max(seconds - nothing, 0.0))
        self.program, self.seconds = program, tuple(found)


def _shortest(run: Callable[[], None], kept: list[tuple[int, bytes]]) -> float:
    """The shortest time of a few runs; kept: (address, bytes) that each of them begins with."""
    best, spent = float("inf"), 0.0
    for _ in range(TIMES):
        for address, content in kept:
            ctypes.memmove(address, content, len(content))
        start = time.perf_counter()
        run()
        taken = time.perf_counter() - start
        best, spent = min(best, taken), spent + taken
        if spent > ENOUGH:
            break
    return best


def _overwritten(step: Step, program: Program, bases: array[int],
                 storages: list[Any]) -> Iterator[tuple[int, bytes]]:
    """What a step both reads and writes, as it is before the step runs: results may lie over
    operands."""
    def span(memory: int) -> tuple[int, int]:
        base, beyond, nbytes = program.memories[memory]
        start = bases[base] + beyond
        return start, start + (storages[memory].nbytes() if nbytes < 0 else nbytes)

    written = [span(memory) for memory in step.writes]
    for start, end in map(span, step.reads):
        if any(start < above and below < end for below, above in written):
            yield start, ctypes.string_at(start, end - start)


@contextmanager
def timekeeper() -> Iterator[Timekeeper]:
    """This thread's launches are timed for a while, those of compiled functions."""
    keeper = Timekeeper()
    before = recorder.choose(keeper)
    try:
        yield keeper
    finally:
        recorder.choose(before)
