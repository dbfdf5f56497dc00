"""The functions that kernel bodies are written with, beside Python's operators on expressions."""

from __future__ import annotations

from ..core.dtypes import DType, bool_
from .complexes import Complex, conj, imag, real
from .ir import Expr, bitcast, cast, const, coord, fold, operate, scan

__all__ = ["bitcast", "cast", "conj", "const", "coord", "fold", "imag", "real", "scan"]


def _unary(name: str):  # type: ignore[no-untyped-def]
    def function(x: Expr) -> Expr:
        return operate(name, x)

    function.__name__ = name
    __all__.append(name)
    return function


def _binary(name: str):  # type: ignore[no-untyped-def]
    def function(x: object, y: object) -> Expr:
        return operate(name, x, y)

    function.__name__ = name
    __all__.append(name)
    return function


sqrt, floor, ceil, trunc, round_half_even = map(
    _unary, ("sqrt", "floor", "ceil", "trunc", "round"))
absolute = _unary("abs")
exp, exp2, expm1, log, log2, log10, log1p = map(
    _unary, ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"))
sin, cos, tan, asin, acos, atan, sinh, cosh, tanh = map(
    _unary, ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"))
asinh, acosh, atanh = map(_unary, ("asinh", "acosh", "atanh"))
erf, erfc, erfinv, ndtr, lgamma, digamma = map(
    _unary, ("erf", "erfc", "erfinv", "ndtr", "lgamma", "digamma"))
minimum, maximum, copysign, atan2, power, fmod = map(
    _binary, ("minimum", "maximum", "copysign", "atan2", "pow", "fmod"))
idiv, irem = map(_binary, ("idiv", "irem"))


def fma(x: object, y: object, z: object) -> Expr:
    """x * y + z with one rounding."""
    return operate("fma", x, y, z)


def where(condition: Expr, then: object, otherwise: object) -> Expr:
    """`then` where the condition holds, else `otherwise`; both are evaluated."""
    return operate("where", condition, then, otherwise)


def isnan(x: Expr) -> Expr:
    """Whether x is not a number (it differs from itself)."""
    return x.ne(x)


def fold_sum(x: Expr) -> Expr:
    """Sum over the inner axis."""
    return fold("sum", x)


def fold_max(x: Expr) -> Expr:
    """Largest value over the inner axis; a NaN wins."""
    return fold("max", x)


def like(x: Expr, value: object) -> Expr:
    """A constant of x's dtype."""
    return const(value, x.dtype)


def as_bool(x: Expr) -> Expr:
    """x != 0."""
    return x if x.dtype is bool_ else x.ne(const(0, x.dtype))


def is_complex(x: object) -> bool:
    """Whether a body's value is a complex one (see `loops.complexes`)."""
    return x.__class__ is Complex


def to(x: Expr, dtype: DType) -> Expr:
    """Alias of cast that reads well in bodies."""
    return cast(x, dtype)
