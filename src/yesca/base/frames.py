"""Which lines are the package's own: errors show few of them, warnings name the program's."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType, TracebackType

from . import settings

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


def shortened(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback with one line of the package's own, the last, where it has several in a row."""
    places: list[tuple[bool, FrameType, int, int]] = []
    while traceback is not None:
        own = traceback.tb_frame.f_code.co_filename.startswith(OWN)
        if own and places and places[-1][0]:
            places.pop()
        places.append((own, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    found = None
    for _, frame, instruction, line in reversed(places):
        found = TracebackType(found, frame, instruction, line)
    return found


def shorten(error: BaseException | None) -> None:
    """Shorten the tracebacks of an error, and of those that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = shortened(error.__traceback__)
        error = error.__cause__ or error.__context__


def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None
         ) -> None:
    """Show an error that ends the program with few lines of the package; `sys.last_traceback` has
    them all."""
    if not settings.VERBOSE.get():
        shorten(error)
    sys.__excepthook__(kind, error, error.__traceback__)


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
