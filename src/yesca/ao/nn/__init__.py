"""`torch.ao.nn`: layers with quantized weights."""

from __future__ import annotations

from ..._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, {}, ("quantized",))
