"""Graph breaks: what made a recording run early, and where. YESCA_LOGS=graph_breaks prints them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from traceback import FrameSummary
from types import FrameType
from typing import Any

from ..base.frames import OWN, PACKAGE
from . import logs

#: Functions by which a program reads values; the frames between them and the storage don't count.
READERS = frozenset({
    "item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__", "__index__",
    "__complex__", "__repr__", "__str__", "__format__", "__contains__", "data_ptr", "equal",
    "allclose", "__dlpack__",
})
#: Readers that fullgraph=True refuses: what they give decides, is printed, or leaves for good. What
#: `item`, `numpy` and operators of data-dependent shape give is PyTorch's own way to go on.
REFUSED = frozenset({
    "__bool__", "__index__", "__complex__", "__repr__", "__str__", "equal", "allclose",
    "__array__", "__dlpack__",
})
#: Operators whose result has a shape that depends on values.
SHAPED = frozenset({
    "nonzero", "nonzero_tuple", "argwhere", "masked_select", "unique", "unique_consecutive",
    "unique_dim", "_unique", "_unique2", "bincount", "repeat_interleave", "combinations",
})
#: Operators that look for places or bounds on the way to a result whose shape is known.
KNOWN = frozenset({"masked_scatter", "histc", "histogram"})
REASONS = {
    "read": "{} needs the value of a tensor",
    "inside": "{} reads or writes memory at once",
    "shape": "{} gives a shape that depends on values",
    "check": "{} checks values while it runs",
    "full": "{} calls are recorded: more run in parts",
    "disabled": "{} runs outside of compiled programs",
    "asked": "{} was called",
}


_RUNS = os.path.join(os.path.dirname(__file__), "public.py")
#: How the names of files begin that bring calls to operators, and recordings to run.
_CALLS = tuple(os.path.join(PACKAGE, room, "") for room in ("core", "dispatch", "graph", "runtime"))


class TorchDynamoException(RuntimeError):
    """What PyTorch's errors of compiling are called."""


class Unsupported(TorchDynamoException):
    """A function compiled with fullgraph=True cannot be one program."""


class InvalidBackend(TorchDynamoException):
    """`compile(backend=...)` with a name that nobody knows."""


@dataclass(frozen=True)
class Break:
    """Why recorded calls ran before the function's end; `calls`: how many ran."""

    kind: str
    what: str
    calls: int
    user_stack: tuple[FrameSummary, ...]

    graph_break = True

    @property
    def reason(self) -> str:
        return REASONS[self.kind].format(self.what)

    @property
    def place(self) -> str:
        """The line of the program, as tracebacks begin."""
        if not self.user_stack:
            return "unknown place"
        last = self.user_stack[-1]
        return f"{last.filename}:{last.lineno}"

    def __str__(self) -> str:
        return f"{self.reason} ({self.place})"


class Listener:
    """What wants to know of breaks and programs as they happen (`explain`)."""

    def broke(self, found: Break) -> None:
        """A recording runs early."""

    def ran(self, program: Any, entries: list[Any]) -> None:
        """The program of some recorded calls has run."""


listeners: list[Listener] = []


def wanted() -> bool:
    """Whether somebody wants to know of breaks."""
    return bool(listeners) or logs.on("graph_breaks")


def reader(depth: int) -> tuple[str, str]:
    """(kind, name) of what reads a value: the outermost known reader on the stack, or operator
    whose shape depends on values, else the outermost public function of the package ("inside")."""
    frame: FrameType | None = sys._getframe(depth + 1)
    kind, found = "inside", "this"
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        name = frame.f_code.co_name
        if name in READERS:
            kind, found = "read", name
        elif name in SHAPED:
            kind, found = "shape", name
        elif name in KNOWN:
            kind, found = "inside", name
        elif kind == "inside" and not frame.f_code.co_filename.startswith(_CALLS):
            found = name if name.startswith("__") else name.lstrip("_")
        frame = frame.f_back
    return kind, found


def note(kind: str, what: str, calls: int, told: set[str]) -> Break:
    """Report one break: why, how many recorded calls ran, at which line of the program.

    told: the breaks of the function that the log has; it gets each of them once
    """
    found = Break(kind, what, calls, _stack())
    if logs.on("graph_breaks") and str(found) not in told:
        told.add(str(found))
        logs.write("graph_breaks", f"{found.reason}: ran {calls} recorded calls ({found.place})")
    for listener in listeners:
        listener.broke(found)
    return found


def refused(found: Break) -> Unsupported:
    """The error of a break where none is allowed."""
    line = found.user_stack[-1].line if found.user_stack else ""
    return Unsupported(
        f"fullgraph=True, but {found.reason}\n\nfrom user code:\n  {found.place}\n    {line}\n\n"
        "Leave fullgraph out, or do this outside of the compiled function.")


def ran(program: Any, entries: list[Any]) -> None:
    """Tell the listeners of a program that has run."""
    for listener in listeners:
        listener.ran(program, entries)


def place() -> str:
    """The line of the program that runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _stack() -> tuple[FrameSummary, ...]:
    """The program's frames, outermost first: those of the package left out."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OWN):
            found.append(FrameSummary(code.co_filename, frame.f_lineno, code.co_name,
                                      lookup_line=False))
        elif code.co_filename == _RUNS and code.co_name == "run":
            break  # what called the compiled function is no part of it
        frame = frame.f_back
    found.reverse()
    return tuple(found)
