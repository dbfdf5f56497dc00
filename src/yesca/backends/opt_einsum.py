"""`torch.backends.opt_einsum`: how `einsum` orders three operands and more."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

from . import _switches

_MODULE = "yesca.backends.opt_einsum"

enabled = find_spec("opt_einsum") is not None
strategy: str | None = "auto" if enabled else None


def is_available() -> bool:
    """Whether the library opt_einsum is installed."""
    return find_spec("opt_einsum") is not None


def get_opt_einsum() -> Any:
    """The module opt_einsum, or None."""
    if not is_available():
        return None
    import importlib

    return importlib.import_module("opt_einsum")


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[Any, ...]:
    """Set the switches; their former values."""
    return _switches.set_all(_MODULE, enabled=_enabled, strategy=_strategy)


def flags(
    enabled: bool | None = None, strategy: str | None = None
) -> AbstractContextManager[None]:
    """A context with these switches."""
    return _switches.changed(_MODULE, enabled=enabled, strategy=strategy)
