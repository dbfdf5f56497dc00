"""Implementations that are no loop nests: native functions that records ask for by name."""

from __future__ import annotations


def address(name: str) -> int:
    """The address of the machine function `name(words, low, high)`."""
    from .. import units
    from . import sorting

    return units.address(getattr(sorting, name))
