"""Which lines of a program an event came from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from ..base.frames import PACKAGE, WRITTEN

Place = tuple[CodeType, int]

#: Below the program's own calls: what the package does inside an operator is no place of interest.
_INSIDE = tuple(os.path.join(PACKAGE, room) for room in (
    "profiler", "dispatch", "autograd", "runtime", "operators", "graph", "_runner", "_tensor",
    "base", "__main__"))


@cache
def _shown(code: CodeType) -> bool:
    return not code.co_filename.startswith((*_INSIDE, *WRITTEN, "<frozen"))


def frames(frame: FrameType | None) -> tuple[Place, ...]:
    """The places from here outwards."""
    found = []
    while frame is not None:
        code = frame.f_code
        if _shown(code):
            found.append((code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


@cache
def _short(path: str) -> str:
    """A path without the folder that Python found it in."""
    folders = sorted((str(Path(p).resolve()) for p in sys.path if p), key=len, reverse=True)
    for folder in folders:
        if path.startswith(folder + "/"):
            return path[len(folder) + 1:]
    return path


def texts(places: tuple[Place, ...]) -> list[str]:
    """The places as PyTorch writes them, the innermost first: `train.py(12): main`."""
    return list(_texts(places))


def _texts(places: tuple[Place, ...]) -> Iterator[str]:
    for code, line in places:
        yield f"{_short(code.co_filename)}({line}): {code.co_name}"
