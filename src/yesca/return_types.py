"""`torch.return_types`: the named tuples that operators with several results give."""

from __future__ import annotations

from typing import Any

from .base import absent
from .dispatch.overloads import OUT, TYPES, out_type

globals().update(TYPES)
__all__ = sorted(TYPES)


def __getattr__(name: str) -> Any:
    plain = name.removesuffix(OUT)
    if plain != name and plain in TYPES:
        return out_type(plain, TYPES[plain]._fields)
    raise absent.error(__name__, name)
