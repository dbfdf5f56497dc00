"""`torch.quantization`: the old name of `torch.ao.quantization`."""

from __future__ import annotations

from typing import Any

from .ao import quantization as _own

__all__ = list(_own.__all__)


def __getattr__(name: str) -> Any:
    return getattr(_own, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_own)})
