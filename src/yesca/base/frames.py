"""Which lines are the package's own, and warnings that name the program's line instead."""

from __future__ import annotations

import os
import sys
import warnings
from types import TracebackType

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: How the names of files begin whose functions the package writes while it runs.
WRITTEN = ("<schema", "<derivative")
#: How the names of all files of the package begin.
OWN = (PACKAGE + os.sep, *WRITTEN)


def without_own(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the package's own lines."""
    places = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(OWN):
            places.append((traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    found = None
    for place in reversed(places):
        found = TracebackType(found, *place)
    return found


#: How many warnings there were: what has warned once may have to warn again.
issued = [0]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn in the name of the innermost line outside the package."""
    issued[0] += 1
    level, frame = 2, sys._getframe(1)
    while frame.f_code.co_filename.startswith(OWN) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


#: Texts that were warned of, once a process; and whether they are warned of each time.
told: set[str] = set()
always = [False]


def warn_once(message: str, about: str = "") -> None:
    """Warn the first time in this process, as PyTorch does of some things.

    about: what the text is about, where it tells of values as well.
    """
    if always[0] or (about or message) not in told:
        told.add(about or message)
        warn(message)
