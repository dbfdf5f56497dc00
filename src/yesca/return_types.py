"""`torch.return_types`: the named tuples that operators with several results give."""

from __future__ import annotations

from .dispatch.overloads import TYPES

globals().update(TYPES)
__all__ = sorted(TYPES)
