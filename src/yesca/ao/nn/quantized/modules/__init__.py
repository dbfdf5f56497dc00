"""Where PyTorch has the parts of quantized layers: `linear` has `LinearPackedParams`."""

from __future__ import annotations

from ....._lazy import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__, {"embedding_ops": "Embedding EmbeddingBag",
               "linear": "LinearPackedParams"},
    ("embedding_ops", "linear", "packed_cells", "packed_embeddings", "packing", "script_objects",
     "utils"))
