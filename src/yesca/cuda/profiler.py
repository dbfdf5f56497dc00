"""`torch.cuda.profiler`: switches of NVIDIA's profiler, which has nothing to watch here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..base.errors import raise_no_cuda

__all__ = ["start", "stop", "profile"]


def start() -> None:
    """Raises AssertionError, as all functions here do."""
    raise_no_cuda()


def stop() -> None:
    """Raises AssertionError."""
    raise_no_cuda()


@contextmanager
def profile() -> Iterator[None]:
    """Raises AssertionError; `torch.profiler.profile` records what runs on the CPU."""
    raise_no_cuda()
    yield
