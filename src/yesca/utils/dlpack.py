"""DLPack under PyTorch's module name; see `yesca._dlpack`."""

from __future__ import annotations

import enum

from .._dlpack import from_dlpack, to_dlpack
from ..base.naming import lives_in

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


@lives_in("torch.utils.dlpack")
class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by DLPack's numbers."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
