"""Functions that PyTorch has for sizes which are not known yet: here all are Python's numbers."""

from __future__ import annotations

from typing import Any

from .base.naming import lives_in, public_module


class _Symbol:
    def __init__(self, node: Any) -> None:
        raise TypeError(f"there is no {type(self).__name__}: sizes are Python's numbers")


@lives_in("torch")
class SymInt(_Symbol):
    """The class of sizes that are not known yet; nothing is of it."""


@lives_in("torch")
class SymFloat(_Symbol):
    """The class of numbers computed from sizes that are not known yet; nothing is of it."""


@lives_in("torch")
class SymBool(_Symbol):
    """The class of comparisons of such sizes; nothing is of it."""


def sym_int(a: Any) -> int:
    """`a` as an integer, cut towards zero."""
    return int(a)


def sym_float(a: Any) -> float:
    """`a` as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """`not a`."""
    return not a


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return float(a) ** 0.5


def _pair(a: Any, b: Any) -> type:
    """The type that two numbers have in common."""
    for value in (a, b):
        if not isinstance(value, (int, float)):
            raise AssertionError(f"expected {(int, float)}, got {type(value)}")
    return float if isinstance(a, float) or isinstance(b, float) else int


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers: a float if one of them is.

    >>> sym_max(3, 1.0)
    3.0
    """
    return _pair(a, b)(max(a, b))


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers: a float if one of them is."""
    return _pair(a, b)(min(a, b))


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, or of those of a list."""
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t if b else f`, for values of one type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


for _function in (sym_int, sym_float, sym_not, sym_sqrt, sym_max, sym_min, sym_sum, sym_ite):
    _function.__module__ = public_module("torch")
