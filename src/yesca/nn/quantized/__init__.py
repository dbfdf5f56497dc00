"""`torch.nn.quantized`: the old name of `torch.ao.nn.quantized`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...ao.nn import quantized as _own

__all__ = list(_own.__all__)


def __getattr__(name: str) -> Any:
    return import_module(".dynamic", __name__) if name == "dynamic" else getattr(_own, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_own)})
