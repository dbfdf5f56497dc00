"""DLPack under PyTorch's module name; see `yesca.dispatch.dlpack`."""

from __future__ import annotations

from .. import _tensor  # noqa: F401 - tensors can be made from here on
from ..dispatch.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
