"""Memory of a CUDA device that is not there: counters are zero, statistics empty."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..base import absent
from ..base.errors import raise_no_cuda


def empty_cache() -> None:
    """Nothing is cached."""


def memory_allocated(device: Any = None) -> int:
    """Bytes in use: 0, as for all counters here."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
memory_cached = max_memory_cached = memory_allocated  # their former names


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Statistics by name: none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Statistics as nested dictionaries: none."""
    return {}


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    """The blocks of the allocator: none."""
    return []


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of the statistics: empty."""
    return ""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing to reset."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
reset_accumulated_memory_stats = reset_peak_memory_stats


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raises AssertionError, as all functions below do."""
    raise_no_cuda()


def get_per_process_memory_fraction(device: Any = None) -> float:
    raise_no_cuda()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    raise_no_cuda()


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    raise_no_cuda()


def caching_allocator_delete(mem_ptr: int) -> None:
    raise_no_cuda()


__getattr__ = absent.names_of(__name__)
