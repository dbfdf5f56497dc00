"""`torch._inductor`: the settings that programs assign."""

from __future__ import annotations

from . import config

__all__ = ["config"]
