"""`torch.ao.nn.quantized`: embeddings, and layers that quantise what they get (`dynamic`)."""

from __future__ import annotations

from ...._lazy import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__, {"modules": "Embedding EmbeddingBag"}, ("dynamic", "modules"))
