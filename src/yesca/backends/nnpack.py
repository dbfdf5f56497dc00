"""`torch.backends.nnpack`: NNPACK is not used."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from . import _switches

enabled = True


def is_available() -> bool:
    """Whether NNPACK is used: False."""
    return False


def set_flags(_enabled: bool) -> tuple[Any, ...]:
    """Set the switch; its former value."""
    return _switches.set_all("yesca.backends.nnpack", enabled=_enabled)


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """A context with this switch."""
    return _switches.changed("yesca.backends.nnpack", enabled=enabled)
