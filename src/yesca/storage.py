"""`torch.storage`: the kinds of storage under PyTorch's module name."""

from __future__ import annotations

from .core.storage import UntypedStorage
from .typed_storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
