"""The layers of `torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from ......base import absent
from .linear import Linear

__all__ = ["Linear"]

__getattr__ = absent.names_of(__name__)
