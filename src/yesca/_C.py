"""The few names of PyTorch's compiled module that programs and libraries use directly.

Everything else in `torch._C` is the inside of another implementation. Public names are found here
as in the package.
"""

from __future__ import annotations

import importlib
from typing import Any

from .base import absent
from .base.errors import LinAlgError as _LinAlgError  # noqa: F401

_FROM_PACKAGE = frozenset(
    "Generator default_generator Size device dtype layout memory_format finfo iinfo "
    "get_default_dtype get_num_threads set_num_threads get_num_interop_threads "
    "set_num_interop_threads set_flush_denormal is_grad_enabled is_inference_mode_enabled "
    "is_autocast_enabled get_autocast_dtype is_autocast_cache_enabled OutOfMemoryError "
    "AcceleratorError Stream Event".split()
)

has_lapack = True
has_mkl = False
has_openmp = False
has_spectral = True


def _log_api_usage_once(event: str) -> None:
    """Libraries report their use to PyTorch's operators of a data centre: nothing to do."""


def _cuda_getDeviceCount() -> int:
    """0: there is no CUDA device."""
    return 0


def _get_privateuse1_backend_name() -> str:
    """The name of a device that a library may register."""
    return "privateuseone"


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """A switch of TorchScript, which is not there; what it was before."""
    return enabled


_jit_set_profiling_mode = _jit_set_profiling_executor


#: PyTorch's name -> (module below the package, its name there).
_ELSEWHERE = {
    "DisableTorchFunctionSubclass": ("dispatch.protocol", "DisableSubclasses"),
    "DisableTorchFunction": ("dispatch.protocol", "DisableSubclasses"),
    "_disabled_torch_function_impl": ("dispatch.protocol", "disabled"),
    "_disabled_torch_dispatch_impl": ("dispatch.handlers", "disabled"),
    "DispatchKey": ("aten.keys", "DispatchKey"),
    "DispatchKeySet": ("aten.keys", "DispatchKeySet"),
    "_dispatch_keys": ("aten.keys", "keys_of"),
    "_dispatch_has_kernel": ("aten.keys", "has_kernel"),
    "_dispatch_has_kernel_for_dispatch_key": ("aten.keys", "has_kernel_for"),
    "_dispatch_get_all_op_names": ("aten.keys", "all_names"),
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        module, own = _ELSEWHERE[name]
        return getattr(importlib.import_module(f".{module}", __package__), own)
    if name in _FROM_PACKAGE:
        return getattr(importlib.import_module(__package__ or "yesca"), name)
    raise absent.error(__name__, name)
