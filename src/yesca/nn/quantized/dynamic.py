"""`torch.nn.quantized.dynamic`: the old name of `torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from ...ao.nn.quantized.dynamic import Linear
from ...base import absent

__all__ = ["Linear"]

__getattr__ = absent.names_of(__name__)
