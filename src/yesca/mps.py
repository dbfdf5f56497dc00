"""`torch.mps` on a machine without it."""

from __future__ import annotations

from typing import Any, NoReturn

from .base import absent

__all__ = [
    "is_available", "device_count", "synchronize", "empty_cache", "manual_seed", "seed",
    "current_allocated_memory", "driver_allocated_memory", "recommended_max_memory",
    "set_per_process_memory_fraction", "get_rng_state", "set_rng_state",
]


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {what}() without MPS backend.")


def is_available() -> bool:
    """False: there is no MPS device."""
    return False


def device_count() -> int:
    """0: there is no MPS device."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def seed() -> None:
    """Nothing to seed."""


def synchronize() -> None:
    """Raises RuntimeError, as all functions below do."""
    _refuse("deviceSynchronize")


def empty_cache() -> None:
    _refuse("emptyCache")


def current_allocated_memory() -> int:
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    _refuse("getDriverAllocatedMemory")


def recommended_max_memory() -> int:
    _refuse("getRecommendedMaxMemory")


def set_per_process_memory_fraction(fraction: float) -> None:
    _refuse("setMemoryFraction")


def get_rng_state(device: Any = "mps") -> Any:
    _refuse("getDefaultGenerator")


def set_rng_state(new_state: Any, device: Any = "mps") -> None:
    _refuse("getDefaultGenerator")


__path__: list[str] = []  # a package: what asks for its modules is told which lack
__getattr__ = absent.names_of(__name__)
