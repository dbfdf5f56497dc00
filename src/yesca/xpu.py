"""`torch.xpu` on a machine without it: programs ask, and go on with the CPU."""

from __future__ import annotations

from typing import Any, NoReturn

from .base import absent

__all__ = [
    "current_device", "device", "device_count", "empty_cache", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "init", "is_available",
    "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats", "seed", "set_device", "set_rng_state", "synchronize",
]


def is_available() -> bool:
    """False: there is no XPU device."""
    return False


def _no() -> bool:
    """False: there is no XPU device."""
    return False


is_initialized = is_bf16_supported = _no


def device_count() -> int:
    """0: there is no XPU device."""
    return 0


def _nothing(device: Any = None) -> int:
    """0: there is no memory."""
    return 0


memory_allocated = memory_reserved = max_memory_allocated = max_memory_reserved = _nothing


def empty_cache() -> None:
    """Nothing to empty."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing to reset."""


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to seed."""


class device:  # noqa: N801 - PyTorch's name
    """A context that selects a device; there is none, so it does nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        pass

    def __exit__(self, *problem: object) -> None:
        pass


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises AssertionError: there is no XPU device."""
    raise AssertionError("Torch not compiled with XPU enabled")


current_device = get_device_capability = get_device_name = get_device_properties = _refuse
get_rng_state = init = mem_get_info = set_device = set_rng_state = synchronize = _refuse


__path__: list[str] = []  # a package: what asks for its modules is told which lack
__getattr__ = absent.names_of(__name__)
