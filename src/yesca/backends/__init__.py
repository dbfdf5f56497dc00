"""`torch.backends`: switches of libraries that PyTorch may be built with.

None of these libraries is used here. The switches exist, keep what is set, and give the defaults
of PyTorch's CPU build, because programs set them before they look for a device.
"""

from __future__ import annotations

from ..base import absent
from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
from . import cusparselt as cusparselt
from . import kleidiai as kleidiai
from . import mha as mha
from . import miopen as miopen
from . import mkl as mkl
from . import mkldnn as mkldnn
from . import mps as mps
from . import nnpack as nnpack
from . import openmp as openmp
from . import opt_einsum as opt_einsum
from . import quantized as quantized

#: The precision of float32 products on accelerators ("none": each library's own).
fp32_precision = "none"


__getattr__ = absent.names_of(__name__)
