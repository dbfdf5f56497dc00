"""Settings of saving and loading, and the per-thread modes."""

from __future__ import annotations

import mmap
import threading
from enum import Enum
from typing import Any


class LoadEndianness(Enum):
    """Byte order to assume for files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


#: The settings by name, as `torch.utils.serialization.config` has them.
VALUES: dict[str, Any] = {
    "save.compute_crc32": True,
    "save.storage_alignment": 64,
    "save.use_pinned_memory_for_d2h": False,
    "load.mmap": False,
    "load.endianness": None,
    "load.mmap_flags": getattr(mmap, "MAP_PRIVATE", None),  # none on Windows
    "load.calculate_storage_offsets": False,
}


class _Section:
    """Settings whose names begin alike, as attributes."""

    __slots__ = ("_start",)

    def __init__(self, start: str) -> None:
        object.__setattr__(self, "_start", start)

    def __getattr__(self, name: str) -> Any:
        return VALUES[f"{self._start}.{name}"]

    def __setattr__(self, name: str, value: Any) -> None:
        VALUES[f"{self._start}.{name}"] = value


class Config:
    """All settings; one object a process."""

    save = _Section("save")
    load = _Section("load")


class ThreadModes(threading.local):
    """Modes that context managers switch for their own thread."""

    def __init__(self) -> None:
        self.skip_data = False


config = Config()
modes = ThreadModes()
