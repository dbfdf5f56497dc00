"""`torch.accelerator` on a machine without one: questions are answered, work is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from .base import absent
from .base.naming import lives_in
from .core.devices import Device

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_cache", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
    "set_device_idx", "set_device_index", "set_stream", "synchronize",
]


def _refuse() -> NoReturn:
    raise RuntimeError("Cannot access accelerator device when none is available.")


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def is_available() -> bool:
    """Whether there is an accelerator: False."""
    return False


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device type of the accelerator: None."""
    return None


def current_device_index() -> int:
    """Raises RuntimeError, as all functions below do."""
    _refuse()


def set_device_index(device: Any, /) -> None:
    _refuse()


current_device_idx = current_device_index
set_device_idx = set_device_index


def current_stream(device: Any = None, /) -> Any:
    _refuse()


def set_stream(stream: Any) -> None:
    _refuse()


def synchronize(device: Any = None, /) -> None:
    _refuse()


def empty_cache() -> None:
    _refuse()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    _refuse()


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    _refuse()


def memory_allocated(device_index: Any = None, /) -> int:
    _refuse()


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    _refuse()


reset_accumulated_memory_stats = reset_peak_memory_stats


@lives_in("torch.accelerator")
class device_index:
    """Context manager that selects an accelerator; `device_index(None)` selects nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


__path__: list[str] = []  # a package: what asks for its modules is told which lack
__getattr__ = absent.names_of(__name__)
