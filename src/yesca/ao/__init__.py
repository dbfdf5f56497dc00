"""`torch.ao`: quantisation of models (`torch.ao.quantization`) and its layers (`torch.ao.nn`)."""

from __future__ import annotations

from .._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, {}, ("nn", "quantization"))
