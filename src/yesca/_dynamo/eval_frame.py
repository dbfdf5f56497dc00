"""The class of compiled modules, under the name by which libraries look for it."""

from __future__ import annotations

from ..nn.modules.optimized import OptimizedModule

__all__ = ["OptimizedModule"]
