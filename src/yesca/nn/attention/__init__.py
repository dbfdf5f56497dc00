"""`torch.nn.attention`: which implementation of attention may run.

There is one here, tiled, and every choice gives its result; choices are kept and told.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ...backends import cuda as switches
from ...base import absent
from ...base.naming import lives_in
from ._registry import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

__all__ = [
    "SDPBackend",
    "sdpa_kernel",
    "WARN_FOR_UNFUSED_KERNELS",
    "register_flash_attention_impl",
    "activate_flash_attention_impl",
    "list_flash_attention_impls",
    "current_flash_attention_impl",
    "restore_flash_attention_impl",
]

WARN_FOR_UNFUSED_KERNELS = False


@lives_in("torch.nn.attention")
class SDPBackend(enum.IntEnum):
    """The implementations that PyTorch chooses from."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_SWITCHES = {
    SDPBackend.MATH: (switches.math_sdp_enabled, switches.enable_math_sdp),
    SDPBackend.FLASH_ATTENTION: (switches.flash_sdp_enabled, switches.enable_flash_sdp),
    SDPBackend.EFFICIENT_ATTENTION: (switches.mem_efficient_sdp_enabled,
                                     switches.enable_mem_efficient_sdp),
    SDPBackend.CUDNN_ATTENTION: (switches.cudnn_sdp_enabled, switches.enable_cudnn_sdp),
}


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Within it only these implementations are switched on (see `torch.backends.cuda`).

    >>> import yesca as torch
    >>> from yesca.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for backend in chosen:
        if not isinstance(backend, SDPBackend):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of "
                                 f"SDPBackend instances, but got {backend!r}")
    before = {backend: told() for backend, (told, _) in _SWITCHES.items()}
    try:
        for backend, (_, switch) in _SWITCHES.items():
            switch(backend in chosen)
        yield {}
    finally:
        for backend, (_, switch) in _SWITCHES.items():
            switch(before[backend])


def __getattr__(name: str) -> Any:
    if name in ("bias", "flex_attention", "varlen"):
        # On first use: they need the functions, which need this module's switches.
        return import_module(f".{name}", __package__)
    raise absent.error(__name__, name)
