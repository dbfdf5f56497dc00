"""What folds start with."""

from __future__ import annotations

from ..core.dtypes import FLOATING, DType, bool_


def extreme(dtype: DType, largest: bool) -> object:
    """The largest or smallest value of a dtype."""
    if dtype.category == FLOATING:
        return float("inf") if largest else float("-inf")
    if dtype is bool_:
        return largest
    bits = dtype.itemsize * 8 - (1 if dtype.is_signed else 0)
    return (1 << bits) - 1 if largest else -(1 << bits) if dtype.is_signed else 0


def neutral(kind: str, dtype: DType) -> object:
    """The value that changes nothing when it is folded in."""
    if kind in ("sum", "any"):
        return 0
    if kind in ("prod", "all"):
        return 1
    return extreme(dtype, kind in ("min", "argmin"))
