"""Memory for storages: the native allocator (`native/alloc.py`) as Python sees it."""

import ctypes
import os

from ..core import registry
from . import forks, layout

# Free blocks are kept up to this share of the machine's memory.
_KEPT_SHARE = 8
_LEAST_KEPT = 64 << 20
_MOST_KEPT = 4 << 30

_the_allocator = None


class _Allocator:
    """The loaded native allocator."""

    def __init__(self):
        from . import units
        from .native import alloc

        self._alloc = alloc
        self.set_limit = units.callable_of(alloc.set_limit)
        self.empty = units.callable_of(alloc.empty)
        self.reset_peak = units.callable_of(alloc.reset_peak)
        self.owned = units.callable_of(alloc.allocate_owned, gil=True)
        self._state = units.address(alloc.state)
        self.set_limit(min(max(_machine_bytes() // _KEPT_SHARE, _LEAST_KEPT), _MOST_KEPT))
        if not forks.join_natively(units.address(alloc.lock), units.address(alloc.unlock)):
            lock, unlock = (units.callable_of(f, gil=True) for f in (alloc.lock, alloc.unlock))
            forks.join(before=lock, in_parent=unlock, in_child=unlock)

    def builtin(self):
        """`allocate` as a builtin of machine code."""
        from .builtins import builtin

        return builtin(self._alloc.python_allocate, "allocate", "allocate(nbytes)")

    def read(self, offset: int) -> int:
        return ctypes.c_int64.from_address(self._state + offset).value

    def stats(self) -> dict[str, int]:
        fields = self._alloc.State
        return {
            "allocated_bytes": self.read(fields.ALLOCATED),
            "peak_allocated_bytes": self.read(fields.PEAK),
            "reserved_bytes": self.read(fields.RESERVED),
            "free_bytes": self.read(fields.FREE),
            "free_limit_bytes": self.read(fields.LIMIT),
            "allocations": self.read(fields.COUNT),
            "live_blocks": self.read(fields.LIVE),
            "system_allocations": self.read(fields.SYSTEM_COUNT),
        }


def _machine_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def _allocator() -> _Allocator:
    global _the_allocator
    if _the_allocator is None:
        from .machine import LOCK

        with LOCK:  # a second one would take the native lock twice at a fork
            if _the_allocator is None:
                _the_allocator = _Allocator()
    return _the_allocator


def portable_allocate(nbytes: int):
    """`allocate` by ctypes."""
    if nbytes == 0:
        return 0, None
    owner = ctypes.c_void_p()
    address = _allocator().owned(nbytes, ctypes.addressof(owner))
    capsule = ctypes.cast(owner, ctypes.py_object).value  # one reference more
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(capsule))
    return address, capsule


def _load_allocate(nbytes: int):
    """The first allocation: puts the real function in its own place."""
    global allocate
    if allocate is _load_allocate:
        native = layout.uses_builtins()
        allocate = registry.allocate = _allocator().builtin() if native else portable_allocate
    return allocate(nbytes)


def prepare() -> None:
    """Load the allocator, for native code that allocates by itself."""
    _allocator()


#: `allocate(nbytes) -> (address, owner)`: memory aligned to 64 bytes that lives as long as the
#: owner, a capsule; (0, None) for no bytes. Its contents are arbitrary. Raises RuntimeError, in
#: PyTorch's words, when the memory cannot be had. Call it as `memory.allocate`: the first call
#: puts the real function in its place.
allocate = registry.allocate = _load_allocate


def memory_stats() -> dict[str, int]:
    """What the allocator holds, in bytes and numbers of blocks; PyTorch tells it of GPUs only.

    allocated_bytes       what tensors and temporaries asked for and have now
    peak_allocated_bytes  the most of it since the start, or since `reset_peak_memory_stats()`
    reserved_bytes        taken from the system
    free_bytes            kept for later requests, up to free_limit_bytes
    allocations           requests so far
    live_blocks           of them still held
    system_allocations    requests that the system had to serve

    >>> import yesca as torch
    >>> before = torch.memory_stats()["allocated_bytes"]
    >>> torch.reset_peak_memory_stats()
    >>> x = torch.zeros(1000) + 1  # the zeros are free again
    >>> after = torch.memory_stats()
    >>> after["allocated_bytes"] - before, after["peak_allocated_bytes"] - before
    (4000, 8000)
    """
    return _allocator().stats()


def allocated_cell() -> ctypes.c_int64:
    """Where the allocator counts the bytes that are allocated now."""
    allocator = _allocator()
    return ctypes.c_int64.from_address(allocator._state + allocator._alloc.State.ALLOCATED)


def reset_peak() -> None:
    """Start the peak of `memory_stats` again from what is allocated now.

    >>> import yesca as torch
    >>> torch.reset_peak_memory_stats()
    >>> found = torch.memory_stats()
    >>> found["peak_allocated_bytes"] == found["allocated_bytes"]
    True
    """
    _allocator().reset_peak()


def empty_cache() -> None:
    """Return the free large blocks to the system."""
    _allocator().empty()


def set_free_limit(nbytes: int) -> None:
    """How many bytes of free large blocks are kept for reuse."""
    _allocator().set_limit(nbytes)
