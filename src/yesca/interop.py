"""Threads between operators: a setting of PyTorch's that has nothing to act on here.

Operators run one after another, each on the threads of `set_num_threads`; the number is kept.
"""

from __future__ import annotations

from .runtime.threads import checked_count

__all__ = ["set_num_interop_threads", "get_num_interop_threads"]

_count: int | None = None


def set_num_interop_threads(count: int, /) -> None:
    """Set the number, once in a process; a second time is a RuntimeError.

    >>> import yesca as torch
    >>> torch.set_num_interop_threads(0)
    Traceback (most recent call last):
        ...
    RuntimeError: set_num_interop_threads expects a positive integer, got 0
    """
    global _count
    checked_count("set_num_interop_threads", count)
    if _count is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    _count = count


def get_num_interop_threads() -> int:
    """The number that was set, or the number of cores."""
    import os

    return _count or os.cpu_count() or 1
