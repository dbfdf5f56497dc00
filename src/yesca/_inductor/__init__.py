"""`torch._inductor`: the settings that programs assign, and what modes of `compile` stand for."""

from __future__ import annotations

from typing import Any

from ..graph.options import DEFAULTS, MODES
from . import config

__all__ = ["config", "list_mode_options", "list_options"]


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The options that a mode stands for; without a mode, those of all of them by mode."""
    return MODES[mode] if mode else MODES


def list_options() -> list[str]:
    """The names that `compile(options={...})` takes."""
    return list(DEFAULTS)
