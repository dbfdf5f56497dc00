"""The matrix unit of x86 machines (AMX): its registers are large, so Linux grants them on demand.

A process that uses them without having asked is killed. Leave once given holds for all threads,
and for children after a fork.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

_ARCH_PRCTL = 158  # the number of the system call on x86-64,
_REQUEST = 0x1023  # ... what asks for the use of a part of the processor's state,
_TILE_DATA = 18  # ... and that part


@functools.cache
def granted() -> bool:
    """Whether this process may use the tiles; the first call asks the system."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    return call(*map(ctypes.c_long, (_ARCH_PRCTL, _REQUEST, _TILE_DATA))) == 0


def usable(features: str) -> str:
    """LLVM's list of the host's features, without the tiles if the system refuses them."""
    if "+amx-tile" not in features or granted():
        return features
    return ",".join(f"-{word[1:]}" if word.startswith("+amx") else word
                    for word in features.split(","))
