"""Per device: whether autocast is on and its lower precision; one state a thread."""

from __future__ import annotations

import threading
from typing import Any

from ..base.errors import argument_error
from ..base.frames import warn
from ..core.devices import Device
from ..core.dtypes import DType, bfloat16, float16
from ..dispatch.autocast import CACHE
from ..dispatch.state import set_autocast

#: Devices that autocast knows, and their lower precision from the start.
LOWER = {
    "cpu": bfloat16, "cuda": float16, "xpu": float16, "mps": float16, "mtia": float16,
    "maia": float16, "privateuseone": float16, "hpu": bfloat16, "xla": bfloat16, "ipu": float16,
}


class _Settings(threading.local):
    """Per thread: which devices are on, and the dtypes that differ from `LOWER`."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, DType] = {}


_settings = _Settings()


def _known(function: str, device_type: Any,
           problem: str = "unknown device type for autocast in "
                          "get_autocast_dispatch_key_from_device_type") -> str:
    """The device's type; an error for what is no name of a device, or of one without autocast."""
    if not isinstance(device_type, str):
        raise argument_error(function, "device_type", 1, "str", device_type)
    if device_type in LOWER:
        return device_type
    kind = Device(device_type).type
    if kind not in LOWER:
        raise RuntimeError(f"{problem}: there is no autocast for the device "
                           f"{kind!r}; it exists for {', '.join(LOWER)}")
    return kind


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast exists for a type of device.

    >>> import yesca as torch
    >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
    (True, False)
    """
    return Device(device_type).type in LOWER


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a type of device, in this thread."""
    return _settings.enabled.get(_known("is_autocast_enabled", device_type), False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast of a type of device on or off; with one argument, that of CUDA."""
    if enabled is None:
        if not isinstance(device_type, bool):
            raise argument_error("set_autocast_enabled", "enabled", 1, "bool", device_type)
        device_type, enabled = "cuda", device_type
    if not isinstance(enabled, bool):
        raise argument_error("set_autocast_enabled", "enabled", 2, "bool", enabled)
    kind = _known("set_autocast_enabled", device_type)
    _settings.enabled[kind] = enabled
    if kind == "cpu":
        _apply()


def get_autocast_dtype(device_type: str) -> DType:
    """The lower precision of autocast on a type of device.

    >>> import yesca as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = _known("get_autocast_dtype", device_type, "unsupported scalarType")
    return _settings.dtypes.get(kind, LOWER[kind])


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Choose the lower precision of autocast on a type of device."""
    if not isinstance(dtype, DType):
        raise argument_error("set_autocast_dtype", "dtype", 2, "torch.dtype", dtype)
    kind = _known("set_autocast_dtype", device_type)
    _settings.dtypes[kind] = dtype
    if kind == "cpu":
        _apply()


def _apply() -> None:
    """Tell the calls: only what runs on the CPU is computed here."""
    set_autocast(get_autocast_dtype("cpu") if _settings.enabled.get("cpu") else None)


# ---- the cache -------------------------------------------------------------------------------

def is_autocast_cache_enabled() -> bool:
    """Whether autocast keeps the casts of weights until its region ends."""
    return CACHE.enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether autocast keeps the casts of weights."""
    CACHE.keep(bool(enabled))


def clear_autocast_cache() -> None:
    """Forget all casts of weights."""
    CACHE.clear()


def autocast_increment_nesting() -> int:
    """Enter a region; gives how many are open."""
    CACHE.nesting += 1
    return CACHE.nesting


def autocast_decrement_nesting() -> int:
    """Leave a region; gives how many are still open."""
    CACHE.nesting -= 1
    return CACHE.nesting


# ---- former names ----------------------------------------------------------------------------

def _former(old: str, new: str) -> None:
    warn(f"torch.{old} is deprecated. Please use torch.{new} instead.",
         DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`."""
    _former("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
    _former("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """`get_autocast_dtype("cpu")`."""
    _former("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
    _former("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """`get_autocast_dtype("cuda")`."""
    _former("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """`set_autocast_dtype("cuda", dtype)`."""
    _former("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
