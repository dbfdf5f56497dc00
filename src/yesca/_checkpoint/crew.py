"""Threads beside the caller's, for the time of one load or save.

Reading and writing files and computing CRCs leave the interpreter alone, so a second thread
doubles what one can do: half of a storage each, or the CRC of what is being written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from io import BufferedReader, FileIO
from queue import SimpleQueue
from threading import Thread
from typing import Any

#: Fewer bytes than this are done before another thread has woken up.
WORTH_IT = 1 << 20
_MOST = 3
_PAGE = 4096
_READS_AT = "preadv" in vars(os)  # not on Windows


class Helper:
    """A thread that does one thing after another."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._thread = Thread(target=self._work, name="checkpoint", daemon=True)
        self._thread.start()

    def start(self, task: Callable[[], Any]) -> None:
        """Begin a task; `result` waits for it."""
        self._tasks.put(task)

    def result(self) -> Any:
        """What the oldest task gave, or its exception."""
        value, error = self._results.get()
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the thread, after what it has begun."""
        self._tasks.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self._results.put((task(), None))
            except BaseException as error:  # raised where the result is asked for
                self._results.put((None, error))


class Crew:
    """The helpers of one load or save; they start when there is something to do."""

    def __init__(self) -> None:
        self._helpers: list[Helper] | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *exc: object) -> None:
        for helper in self._helpers or ():
            helper.close()

    def helpers(self, nbytes: int) -> list[Helper]:
        """Who helps with so many bytes: nobody with a few, or where there is one processor."""
        if nbytes < WORTH_IT:
            return []
        if self._helpers is None:
            self._helpers = [Helper() for _ in range(min(_processors() - 1, _MOST))]
        return self._helpers


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def number_of(file: Any) -> int | None:
    """The descriptor of a plain file that can be read at any place, None for other files."""
    if type(file) not in (BufferedReader, FileIO) or not _READS_AT:
        return None
    number = file.fileno()
    return number if stat.S_ISREG(os.fstat(number).st_mode) else None


def read_at(number: int, target: memoryview, position: int) -> int:
    """Fill `target` from a file's bytes at `position`; how many there were."""
    done = 0
    while done < len(target):
        count = os.preadv(number, [target[done:]], position + done)
        if not count:
            break
        done += count
    return done


def read_together(crew: Crew, number: int, target: memoryview, position: int) -> bool:
    """Fill `target` with all threads; whether the file had that many bytes."""
    helpers = crew.helpers(len(target))
    step = -(-len(target) // (_PAGE * (len(helpers) + 1))) * _PAGE
    parts = [(target[at : at + step], position + at) for at in range(0, len(target), step)]
    for helper, (part, place) in zip(helpers, parts[1:]):
        helper.start(lambda part=part, place=place: read_at(number, part, place))
    counts = [read_at(number, *parts[0])]
    counts += [helper.result() for helper, _ in zip(helpers, parts[1:])]
    return sum(counts) == len(target)
