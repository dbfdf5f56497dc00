"""Every environment variable that yesca reads; `os.environ` is used nowhere else.

A variable is read when it is first asked for, then kept, so that a program may still set it
between `import os` and the first operator. Variables that programs change while they run (the
ones of distributed jobs) are read afresh each time: `live=True`.

    from ..base import settings
    if settings.DEBUG.get() >= 2: ...
    with settings.DEBUG.override(4): ...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")

_UNREAD = object()
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TRUE = ("1", "true", "yes", "on", "y")
_FALSE = ("0", "false", "no", "off", "n", "")

#: All variables in the order in which they are declared, which is the order of the table.
ALL: list[Variable] = []


class Variable(Generic[T]):
    """One environment variable: its name, the type of its value, its default and a help text."""

    __slots__ = ("name", "aliases", "parse", "default", "help", "live", "_value")

    def __init__(
        self,
        name: str,
        parse: Callable[[str], T],
        default: Callable[[], T] | T,
        help: str,
        aliases: tuple[str, ...] = (),
        live: bool = False,
    ) -> None:
        self.name = name
        self.aliases = aliases
        self.parse = parse
        self.default = default
        self.help = help
        self.live = live
        self._value: object = _UNREAD
        ALL.append(self)

    def get(self) -> T:
        """The value: from the environment (aliases after the name itself), else the default."""
        if self._value is not _UNREAD:
            return self._value  # type: ignore[return-value]
        value = self._read()
        if not self.live:
            self._value = value
        return value

    def source(self) -> str | None:
        """The name under which the environment sets this variable, or None."""
        for name in (self.name, *self.aliases):
            if name in os.environ:
                return name
        return None

    def raw(self) -> str | None:
        """The text that the environment holds, or None."""
        name = self.source()
        return None if name is None else os.environ[name]

    def set(self, value: T) -> None:
        """Use another value from now on."""
        self._value = value

    def reset(self) -> None:
        """Forget what was read: the next `get` looks at the environment again."""
        self._value = _UNREAD

    @contextmanager
    def override(self, value: T) -> Iterator[None]:
        """Use another value inside a `with` block (for tests)."""
        before, self._value = self._value, value
        try:
            yield
        finally:
            self._value = before

    def _read(self) -> T:
        name = self.source()
        if name is None:
            return self.default() if callable(self.default) else self.default
        text = os.environ[name]
        try:
            return self.parse(text.strip())
        except ValueError as error:
            if name != self.name:  # other programs' variable: what it says to them is not our error
                return self.default() if callable(self.default) else self.default
            raise ValueError(
                f"the environment variable {name} is {text!r}: {error}; {self.help}"
            ) from None


def flag(text: str) -> bool:
    """`1 true yes on` or `0 false no off`, in any case."""
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError("expected 0 or 1")


def level(text: str) -> int:
    """A whole number that is not negative."""
    number = int(text) if text else 0
    if number < 0:
        raise ValueError("expected 0 or more")
    return number


def count(text: str) -> int | None:
    """A whole number above zero; an empty text is as good as none."""
    if not text:
        return None
    number = int(text.split(",")[0])  # OpenMP allows one number for each level of nesting
    if number < 1:
        raise ValueError("expected 1 or more")
    return number


def size(text: str) -> int:
    """A number of bytes: `500M`, `2G`, `1048576`.

    >>> size("2K")
    2048
    """
    digits = text.rstrip("bBkKmMgGtTiI")
    unit = text[len(digits):].lower().removesuffix("b").removesuffix("i")
    if unit not in _UNITS:
        raise ValueError("expected a number of bytes such as 500M or 2G")
    return int(float(digits) * _UNITS[unit])


def folders(text: str) -> tuple[str, ...]:
    """Folders with the separator of PATH between them."""
    return tuple(os.path.expanduser(part) for part in text.split(os.pathsep) if part)


def words(text: str) -> tuple[str, ...]:
    """Words with commas or spaces between them."""
    return tuple(text.replace(",", " ").split())


class Hidden(str):
    """A text that the table does not show."""


def _user_cache(name: str) -> str:
    """The user's folder for cached files; an empty text where there is no home."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return "" if base.startswith("~") else os.path.join(base, name)


DEBUG: Variable[int] = Variable(
    "YESCA_DEBUG", level, 0,
    "1 launches with time and bytes, 3 loop IR, 4 LLVM source, 5 LLVM after O2, 6 assembly",
)
VERIFY: Variable[bool] = Variable(
    "YESCA_VERIFY", flag, lambda: DEBUG.get() > 0,
    "1: check the loop IR of every kernel, and the order of every launch; YESCA_DEBUG does so too",
)
INTERPRET: Variable[bool] = Variable(
    "YESCA_INTERPRET", flag, False,
    "1: run kernels of programs (yesca.kernel) as Python, and check each access to memory",
    aliases=("TRITON_INTERPRET",), live=True,
)
LOGS: Variable[tuple[str, ...]] = Variable(
    "YESCA_LOGS", words, (),
    "what compile reports: graph_breaks, recompiles, fusion, output_code",
    aliases=("TORCH_LOGS",),
)
CACHE_DIR: Variable[tuple[str, ...]] = Variable(
    "YESCA_CACHE_DIR", folders, lambda: folders(_user_cache("yesca")),
    "folders of compiled kernels, searched in order; the last one is written",
)
CACHE_SIZE: Variable[int] = Variable(
    "YESCA_CACHE_SIZE", size, 1 << 30,
    "bytes that the written cache may hold before old kernels go (500M, 2G; 0: no cache)",
)
NUM_THREADS: Variable[int | None] = Variable(
    "YESCA_NUM_THREADS", count, None,
    "threads of one operator; default: the cores this process may use",
    aliases=("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
)
PORTABLE: Variable[bool] = Variable(
    "YESCA_PORTABLE", flag, False,
    "1: the eager path in Python only, and a thread pool that asks for nothing but pthreads",
)
CPU: Variable[str] = Variable(
    "YESCA_CPU", str, "",
    "compile for this CPU as LLVM names it (x86-64-v3, skylake-avx512) and not for the host",
)
CPU_FEATURES: Variable[str] = Variable(
    "YESCA_CPU_FEATURES", str, "",
    "features added or taken away, as LLVM names them: +avx2,-amx-tile,-avx512f",
)
COMPILE: Variable[bool] = Variable(
    "YESCA_COMPILE", flag, lambda: not COMPILE_DISABLED.get(),
    "0: compile gives the function back unchanged, and everything runs eagerly",
)
COMPILE_DISABLED: Variable[bool] = Variable(
    "TORCH_COMPILE_DISABLE", flag, False,
    "1: PyTorch's way to say YESCA_COMPILE=0",
    aliases=("TORCHDYNAMO_DISABLE",),
)
RECORD: Variable[bool] = Variable(
    "YESCA_RECORD", flag, False,
    "1: compiled functions are recorded at every call, also where that saves nothing",
)
VERBOSE: Variable[bool] = Variable(
    "YESCA_VERBOSE", flag, False,
    "1: errors show all lines of yesca, also inside compiled functions",
    aliases=("TORCHDYNAMO_VERBOSE",),
)
HOME: Variable[str] = Variable(
    "YESCA_HOME", os.path.expanduser, lambda: _user_cache("torch"),
    "folder of downloaded models (hub)",
    aliases=("TORCH_HOME",), live=True,
)
GITHUB_TOKEN: Variable[Hidden] = Variable(
    "GITHUB_TOKEN", Hidden, Hidden(),
    "what hub shows to GitHub, which answers more questions then", live=True,
)
FORCE_WEIGHTS_ONLY: Variable[bool] = Variable(
    "TORCH_FORCE_WEIGHTS_ONLY_LOAD", flag, False,
    "1: load reads weights only, whatever the program asks for", live=True,
)
FORCE_NO_WEIGHTS_ONLY: Variable[bool] = Variable(
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", flag, False,
    "1: load runs pickled code unless the program forbids it; only for files you trust", live=True,
)
SAVE_SYNC: Variable[bool] = Variable(
    "YESCA_SAVE_SYNC", flag, False,
    "1: save returns when the file is on the disk, so that a power failure cannot undo it",
)
RANK: Variable[int | None] = Variable(
    "RANK", int, None, "number of this process in a distributed job", live=True
)
LOCAL_RANK: Variable[int | None] = Variable(
    "LOCAL_RANK", int, None, "number of this process among those of its machine", live=True
)
WORLD_SIZE: Variable[int | None] = Variable(
    "WORLD_SIZE", int, None, "processes in a distributed job", live=True
)
MASTER_ADDR: Variable[str | None] = Variable(
    "MASTER_ADDR", str, None, "host at which a distributed job meets", live=True
)
MASTER_PORT: Variable[int | None] = Variable(
    "MASTER_PORT", int, None, "port at which a distributed job meets", live=True
)


def table() -> str:
    """The variables, their values and their meaning, lined up in columns."""
    rows = [("variable", "value", "from", "meaning")]
    for variable in ALL:
        try:
            value = _show(variable.get())
        except ValueError:
            value = f"invalid: {variable.raw()}"
        names = variable.name + "".join(f", {alias}" for alias in variable.aliases)
        rows.append((names, value, variable.source() or "default", variable.help))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ("  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _show(value: object) -> str:
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, Hidden):
        return "(set)"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        separator = os.pathsep if any(os.sep in part for part in value) else ","
        return separator.join(value)
    return str(value)
