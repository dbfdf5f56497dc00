"""Settings of saving and loading, and the per-thread modes."""

from __future__ import annotations

import mmap
import threading
from dataclasses import dataclass, field
from enum import Enum

_MAP_PRIVATE: int | None = getattr(mmap, "MAP_PRIVATE", None)  # none on Windows


class LoadEndianness(Enum):
    """Byte order to assume for files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


@dataclass
class SaveOptions:
    """`torch.utils.serialization.config.save`."""

    compute_crc32: bool = True
    storage_alignment: int = 64
    use_pinned_memory_for_d2h: bool = False


@dataclass
class LoadOptions:
    """`torch.utils.serialization.config.load`."""

    mmap: bool = False
    endianness: LoadEndianness | None = None
    mmap_flags: int | None = _MAP_PRIVATE
    calculate_storage_offsets: bool = False


@dataclass
class Config:
    """All settings; one object a process."""

    save: SaveOptions = field(default_factory=SaveOptions)
    load: LoadOptions = field(default_factory=LoadOptions)


class ThreadModes(threading.local):
    """Modes that context managers switch for their own thread."""

    def __init__(self) -> None:
        self.skip_data = False


config = Config()
modes = ThreadModes()
