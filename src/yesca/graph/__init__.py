"""Recording and replay: `compile`. See README.md."""

from __future__ import annotations

from .public import compile

__all__ = ["compile"]
