"""The errors of compiling, as PyTorch names them."""

from __future__ import annotations

from ..graph.breaks import InvalidBackend, TorchDynamoException, Unsupported

__all__ = ["InvalidBackend", "TorchDynamoException", "Unsupported"]
