"""`torch.nn.quantized`: the old name of `torch.ao.nn.quantized`."""

from __future__ import annotations

from ..._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, {}, ("dynamic",))
