"""Graph breaks: what made a recording run early, and where. YESCA_LOGS=graph_breaks prints them."""

from __future__ import annotations

import sys
from types import FrameType

from ..base import settings
from ..base.frames import OWN

#: Functions by which a program reads values; the frames between them and the storage don't count.
READERS = frozenset({
    "item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__", "__index__",
    "__complex__", "__repr__", "__str__", "__format__", "__contains__", "data_ptr", "equal",
    "allclose", "__dlpack__",
})


class GraphBreak(RuntimeError):
    """A function compiled with fullgraph=True reads a value that it has computed."""


def wanted() -> bool:
    """Whether breaks are reported."""
    return "graph_breaks" in settings.LOGS.get()


def reader(depth: int) -> str:
    """The name of what reads a value: the outermost known reader on the stack, else the innermost
    function of the package."""
    frame: FrameType | None = sys._getframe(depth + 1)
    found = frame.f_code.co_name if frame is not None else ""
    known = ""
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        if frame.f_code.co_name in READERS:
            known = frame.f_code.co_name
        frame = frame.f_back
    return known or found


def note(kind: str, what: str, calls: int) -> None:
    """Report one break: why, how many recorded calls ran, at which line of the program."""
    if not wanted():
        return
    why = f"{what} needs a value" if kind == "read" else \
        f"{what} checks values while it runs"
    print(f"[graph_breaks] {why}: ran {calls} recorded calls ({_place()})", file=sys.stderr)


def _place() -> str:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    if frame is None:
        return "unknown place"
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
