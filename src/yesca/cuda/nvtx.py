"""Marks for NVIDIA's profiler, without it: PyTorch's CPU build refuses them in these words."""

from __future__ import annotations

from contextlib import contextmanager
from collections.abc import Iterator
from typing import NoReturn

from ..base import absent

__all__ = ["range", "range_push", "range_pop", "mark"]


def _refuse() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> int:
    """Raises RuntimeError, as all functions here do."""
    _refuse()


def range_pop() -> int:
    _refuse()


def mark(msg: str) -> None:
    _refuse()


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    _refuse()
    yield


__getattr__ = absent.names_of(__name__)
