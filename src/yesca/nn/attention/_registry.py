"""Implementations of attention that programs bring along, by name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)

_known: dict[str, Callable[[], Any]] = {}
_active: tuple[str, Any] | None = None  # name, and what undoes it


def register_flash_attention_impl(impl: str, *, register_fn: Callable[[], Any]) -> None:
    """Enter an implementation: `register_fn()` puts it in place.

    It returns an object whose `remove()` takes it away again, or None if nothing is to be undone.
    """
    _known[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Put a registered implementation in place of the present one. Raises ValueError if unknown."""
    global _active
    restore_flash_attention_impl(_raise_warn=False)
    if impl not in _known:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: "
            f"{list_flash_attention_impls()}"
        )
    handle = _known[impl]()
    if handle is not None:
        _active = (impl, handle)


def list_flash_attention_impls() -> list[str]:
    """The names of the registered implementations; the engine's own has none."""
    return sorted(_known)


def current_flash_attention_impl() -> str | None:
    """The name of the implementation that was put in place, or None."""
    return None if _active is None else _active[0]


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Take the implementation away that was put in place; logs a warning if there is none."""
    global _active
    if _active is not None:
        _active[1].remove()
    elif _raise_warn:
        _log.warning("Trying to restore default FA2 impl when no custom impl was activated")
    _active = None
