"""Errors for names that a module has not got: what PyTorch has, unlike a slip, is said to lack.

    __getattr__ = absent.names_of(__name__)      # the last line of a module
    raise absent.error(__name__, name)           # the end of a `__getattr__` of its own

`from module import name` drops the text of an AttributeError, so that it gets an ImportError.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from opcode import opmap
from types import FrameType
from typing import Any

from .naming import answered_module, public_module

#: What stands near a name that lacks: the first pattern that matches "module.name" counts.
_NEAR = {
    r".*\b(to_dense|to_mkldnn)|mkldnn_.*|miopen_.*|cudnn_.*|fbgemm_.*":
        "the operators without a library's name do the same",
    r"nn\.parallel.*": "on one processor the module itself does what its wrapper does",
    r"distributed.*": "there is one process: torch.distributed.is_available() is False",
    r"nn\.attention\..*|nn\.attention.*flash.*":
        "nn.functional.scaled_dot_product_attention takes any mask and stores no table",
    r"nn\.functional\.scaled_.*": "nn.functional.linear on operands of another dtype is there",
    r"(Tensor\.)?(symeig|eig)": "torch.linalg.eigh and torch.linalg.eig are there",
    r"(Tensor\.)?(solve|lstsq)|matrix_rank": "the function of that name in torch.linalg is there",
    r"(Tensor\.)?(.*sparse.*|.*indices(_copy)?|values(_copy)?)|sparse\..*":
        "sparse tensors are those of torch.sparse_coo_tensor and to_sparse(), for which "
        "torch.sparse has functions",
    r".*(quant|q_|QInt|QUInt|observer|\.qat|intrinsic).*|ao\..*":
        "torch.ao.quantization.quantize_dynamic quantizes layers for inference",
    r"nested.*|.*to_padded_tensor": "nn.utils.rnn.pad_sequence joins sequences of all lengths",
    r"masked\..*": "the functions of torch.masked take a mask beside the tensor",
    r"library\..*": "torch.library.custom_op defines an operator in Python",
    r"(fx|export|package|futures|classes|cpp|nativert|monitor).*":
        "torch.save and state_dict keep a model, torch.compile joins its operators",
    r"jit\..*|.*Script.*|.*Type|(import_ir|parse)_.*|Graph|Block|Node|Use|Value|Code|Gradient":
        "Python is run as it stands; torch.compile joins its operators",
    r"(cuda|mps|xpu|mtia|accelerator|backends\.(cuda|mps|cudnn)).*|.*_vulkan.*|.*_ipu.*|.*_xla.*":
        "the devices are the CPU and meta",
    r"utils\.tensorboard.*": "torch.profiler writes traces; numbers are yours to write",
    r"utils\.(cpp_extension|cpp_backtrace|hipify|jit).*":
        "nothing is compiled from C++; torch.autograd.Function defines an operator in Python",
    r"utils\.data\..*|utils\.data": "Dataset and DataLoader are there",
    r"utils\.checkpoint\..*": "torch.utils.checkpoint.checkpoint is there, and takes a context_fn",
    r"native_norm": "it has no kernel for dense tensors; torch.linalg.vector_norm is there",
    r"(Tensor\.)?chalf": "no kernel computes in complex32; cfloat() is there",
    r"(gru|lstm|rnn_tanh|rnn_relu)(_cell)?": "the modules of torch.nn are there",
    r"_?sym_.*|Sym.*": "sizes are Python's numbers, and math has functions of these",
}
#: What torchvision has and `vision` lacks, and what stands near it.
_VISION = {
    "models.detection": "torchvision.ops has the boxes, regions and pyramids of detectors",
    "models.optical_flow": "torchvision.models.list_models() tells which models are there",
    "models.quantization": "torch.ao.quantization.quantize_dynamic quantizes linear layers",
    "models.video": "torchvision.models.list_models() tells which models are there",
    "models.feature_extraction.get_graph_node_names":
        "create_feature_extractor takes the names of model.named_modules()",
}
_IMPORT_FROM = opmap["IMPORT_FROM"]


@cache
def _known() -> dict[str, frozenset[str]]:
    from .absent_names import NAMES

    return {module: frozenset(names.split()) for module, names in NAMES.items()}


def names(module: str) -> frozenset[str]:
    """The names that a module of PyTorch's has and the one here lacks.

    >>> "fx" in names("")
    True
    """
    return _known().get(module, frozenset())


def note(module: str, name: str) -> str:
    """What the error for a name adds: nothing if PyTorch has not got it either.

    >>> note("nn", "Linaer")
    ''
    >>> note("", "fx").partition(";")[0]
    ' (PyTorch has it'
    """
    dotted = f"{module}.{name}" if module else name
    near = _VISION.get(dotted.removeprefix("vision."))
    if near is not None and module.startswith("vision."):
        return f" (torchvision has it; yesca does not have it yet: {near})"
    if name not in names(module):
        return ""
    near = next((text for pattern, text in _NEAR.items() if re.fullmatch(pattern, dotted)), "")
    return f" (PyTorch has it; yesca does not have it yet{near and ': '}{near})"


def error(module: str, name: str, added: str | None = None) -> Exception:
    """The error for `module.name`, asked for from the module's `__getattr__`.

    `added`: what it says besides; by default that PyTorch has the name, if it has it.
    """
    own = module.partition(".")[2]
    shown = public_module(answered_module(module))
    if added is None:
        added = note(own, name)
    if not added:
        return AttributeError(f"module {shown!r} has no attribute {name!r}", name=name,
                              obj=sys.modules.get(module))
    if _imports(sys._getframe(1)):
        return ImportError(f"cannot import name {name!r} from {shown!r}{added}", name=shown)
    return AttributeError(f"module {shown!r} has no attribute {name!r}{added}", name=name)


def _imports(frame: FrameType | None) -> bool:
    """Whether `from module import name` asks the `__getattr__` that a frame is, or is called by."""
    while frame is not None and frame.f_code.co_name != "__getattr__":
        frame = frame.f_back
    asker = None if frame is None else frame.f_back
    return asker is not None and asker.f_code.co_code[asker.f_lasti] == _IMPORT_FROM


def names_of(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are all there, or lack."""
    def __getattr__(name: str) -> Any:
        raise error(module, name)

    return __getattr__


def import_text(module: str) -> str:
    """The text of the error for `import torch.x`.

    >>> import_text("torch.utils.tensorbord")
    "No module named 'torch.utils.tensorbord'"
    """
    root, _, inner = module.partition(".")
    if root == "torchvision":
        inner = f"vision.{inner}"
    holder, _, name = inner.rpartition(".")
    return f"No module named {module!r}{note(holder, name)}"
