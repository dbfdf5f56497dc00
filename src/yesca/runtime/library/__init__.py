"""Implementations that are no loop nests: functions that records ask for by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def address(name: str) -> int:
    """The address of the machine function `name(words, low, high)`."""
    from .. import units
    from ..native import drawing
    from . import quantiles, sorting

    module = next(m for m in (sorting, quantiles, drawing) if name in vars(m))
    return units.address(getattr(module, name))


def host_function(name: str) -> Callable[..., Any]:
    """The function of NumPy arrays of this name."""
    from . import fourier, lapack, polynomials, symmetric

    rooms = (lapack, symmetric, fourier, polynomials)
    module = next(m for m in rooms if name in vars(m))
    return getattr(module, name)  # type: ignore[no-any-return]
