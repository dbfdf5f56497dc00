"""Exceptions that cross from a worker to the main process."""

from __future__ import annotations

import sys
import traceback
from typing import Any


class KeyErrorMessage(str):
    """A KeyError shows the repr of its argument; this one's repr keeps its lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the traceback's text of the exception being handled.

    A traceback itself cannot be sent, and would keep the frames alive. `where` says in which
    process it happened, `note` what it was about: it stands below the traceback.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background",
                 note: str = "") -> None:
        info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = info[0]
        self.exc_msg = "".join(traceback.format_exception(*info))
        self.where = where
        self.note = note

    def reraise(self) -> None:
        """Raise an exception of the same type that tells the original one's traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        by_name = self.exc_type is not KeyError and getattr(self.exc_type, "message", None)
        try:
            exception = self.exc_type(message=message) if by_name else self.exc_type(message)
        except Exception:
            # Its constructor wants something else.
            exception = RuntimeError(message)
        if self.note:
            exception.add_note(self.note)
        raise exception from None

    def portable(self) -> ExceptionWrapper:
        """The same with an exception type that every process knows."""
        self.exc_msg = f"{self.exc_type.__qualname__}, which cannot be sent between processes:\n" \
                       f"{self.exc_msg}"
        self.exc_type = RuntimeError
        return self
