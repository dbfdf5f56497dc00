"""Functions of complex expressions, by name of the operation: what `loops.scalar` dispatches to.

Each follows the textbook formula that stays accurate next to its branch cuts: inverse functions
are Kahan's, which never subtract what cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.dtypes import DType
from . import ir
from .complexes import Complex, abs_of
from .ir import Expr


def _real(name: str) -> Callable[..., Expr]:
    return lambda *x: ir.operate(name, *x)


exp, expm1, log, log1p, sin, cos, tan, sinh, cosh, tanh, sqrt, asinh = map(_real, (
    "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "asinh"))
atan2, copysign, maximum, minimum, where = map(_real, (
    "atan2", "copysign", "maximum", "minimum", "where"))


def hypot(x: Expr, y: Expr) -> Expr:
    """sqrt(x * x + y * y) without overflow; infinite where either is."""
    a, b = abs_of(x), abs_of(y)
    big, small = maximum(a, b), minimum(a, b)
    ratio = where(big.eq(0), 0.0, small / big)
    infinite = a.eq(math.inf) | b.eq(math.inf)
    return where(infinite, math.inf, big * sqrt(ratio * ratio + 1.0))


def magnitude(z: Complex) -> Expr:
    """|z|."""
    return hypot(z.re, z.im)


def angle(z: Complex) -> Expr:
    """The argument of z, in radians."""
    return atan2(z.im, z.re)


def _neg(z: Complex) -> Complex:
    return Complex(-z.re, -z.im, z.dtype)


def _eq(x: Complex, y: Complex) -> Expr:
    return x.re.eq(y.re) & x.im.eq(y.im)


def _ne(x: Complex, y: Complex) -> Expr:
    return x.re.ne(y.re) | x.im.ne(y.im)


def _exp(z: Complex) -> Complex:
    return _polar(exp(z.re), z.im, z.dtype)


def _polar(size: Expr, turn: Expr, dtype: DType) -> Complex:
    """size * e ** (i turn), as C has it where these are zero or infinite."""
    flat = turn.eq(0)  # a real number stays real
    lost = ~(abs_of(turn) < math.inf)
    zero, infinite = lost & size.eq(0), lost & size.eq(math.inf)
    re = where(flat | zero | infinite, size, size * cos(turn))
    im = where(flat, turn, where(zero, size, size * sin(turn)))
    return Complex(re, im, dtype)


def _exp2(z: Complex) -> Complex:
    return _exp(z * math.log(2))


def _expm1(z: Complex) -> Complex:
    half = sin(z.im * 0.5)
    return Complex(expm1(z.re) * cos(z.im) - half * half * 2.0, exp(z.re) * sin(z.im), z.dtype)


def _log(z: Complex) -> Complex:
    return Complex(log(magnitude(z)), angle(z), z.dtype)


def _log2(z: Complex) -> Complex:
    made = _log(z)
    return Complex(ir.operate("log2", magnitude(z)), made.im * (1.0 / math.log(2)), z.dtype)


def _log10(z: Complex) -> Complex:
    made = _log(z)
    return Complex(ir.operate("log10", magnitude(z)), made.im * (1.0 / math.log(10)), z.dtype)


def _log1p(z: Complex) -> Complex:
    x, y = z.re, z.im
    small = magnitude(z) < 0.5
    square = x * (x + 2.0) + y * y
    near = where(square.eq(0), x, log1p(square) * 0.5)
    return Complex(where(small, near, log(hypot(x + 1.0, y))), atan2(y, x + 1.0), z.dtype)


def _sqrt(z: Complex) -> Complex:
    x, y = z.re, z.im
    root = sqrt(abs_of(x) * 0.5 + magnitude(z) * 0.5)
    other = where(root.eq(0), y, y / (root * 2.0))
    right = ~(x < 0)
    re = where(right, root, abs_of(other))
    im = where(right, other, copysign(root, y))
    infinite = abs_of(y).eq(math.inf)
    return Complex(where(infinite, math.inf, re), where(infinite, y, im), z.dtype)


def _sin(z: Complex) -> Complex:
    return Complex(sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im), z.dtype)


def _cos(z: Complex) -> Complex:
    return Complex(cos(z.re) * cosh(z.im), -(sin(z.re) * sinh(z.im)), z.dtype)


def _sinh(z: Complex) -> Complex:
    return Complex(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im), z.dtype)


def _cosh(z: Complex) -> Complex:
    return Complex(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im), z.dtype)


def _tanh(z: Complex) -> Complex:
    x, y = z.re, z.im
    far = abs_of(x) > 22.0  # sinh squared would overflow, and tanh is 1 here
    slope = tan(y)
    beta = slope * slope + 1.0
    s = sinh(where(far, 0.0, x))
    below = beta * s * s + 1.0
    re = where(far, copysign(ir.const(1, x.dtype), x), beta * sqrt(s * s + 1.0) * s / below)
    im = where(far, sin(y) * cos(y) * exp(abs_of(x) * -2.0) * 4.0, slope / below)
    return Complex(re, im, z.dtype)


def _turned(z: Complex) -> Complex:
    """i z."""
    return Complex(-z.im, z.re, z.dtype)


def _turned_back(z: Complex) -> Complex:
    """-i z."""
    return Complex(z.im, -z.re, z.dtype)


def _tan(z: Complex) -> Complex:
    return _turned_back(_tanh(_turned(z)))


def _one_minus(z: Complex) -> Complex:
    return Complex(1.0 - z.re, -z.im, z.dtype)


def _one_plus(z: Complex) -> Complex:
    return Complex(z.re + 1.0, z.im, z.dtype)


def _asin(z: Complex) -> Complex:
    a, b = _sqrt(_one_minus(z)), _sqrt(_one_plus(z))
    return Complex(atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re),
                   z.dtype)


def _acos(z: Complex) -> Complex:
    a, b = _sqrt(_one_minus(z)), _sqrt(_one_plus(z))
    return Complex(atan2(a.re, b.re) * 2.0, asinh(b.re * a.im - b.im * a.re), z.dtype)


def _acosh(z: Complex) -> Complex:
    a = _sqrt(Complex(z.re - 1.0, z.im, z.dtype))
    b = _sqrt(_one_plus(z))
    return Complex(asinh(a.re * b.re + a.im * b.im), atan2(a.im, b.re) * 2.0, z.dtype)


def _asinh(z: Complex) -> Complex:
    return _turned_back(_asin(_turned(z)))


def _atanh(z: Complex) -> Complex:
    x, y = z.re, z.im
    size = abs_of(x)  # next to -1 the logarithm's argument would cancel
    near = 1.0 - size
    re = copysign(log1p(size * 4.0 / (near * near + y * y)) * 0.25, x)
    apart = 1.0 - x
    im = atan2(y * 2.0, apart * (x + 1.0) - y * y) * 0.5
    return Complex(re, im, z.dtype)


def _atan(z: Complex) -> Complex:
    return _turned_back(_atanh(_turned(z)))


def _pow(z: Complex, w: Complex) -> Complex:
    size, turn = magnitude(z), angle(z)
    length = ir.operate("pow", size, w.re) * exp(-(w.im * turn))
    around = w.re * turn + w.im * log(size)
    return _polar(length, around, z.dtype)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "neg": _neg, "eq": _eq, "ne": _ne, "abs": magnitude, "sqrt": _sqrt, "exp": _exp,
    "exp2": _exp2, "expm1": _expm1, "log": _log, "log2": _log2, "log10": _log10, "log1p": _log1p,
    "sin": _sin, "cos": _cos, "tan": _tan, "sinh": _sinh, "cosh": _cosh, "tanh": _tanh,
    "asin": _asin, "acos": _acos, "atan": _atan, "asinh": _asinh, "acosh": _acosh,
    "atanh": _atanh, "pow": _pow,
}

__all__ = ["FUNCTIONS", "angle", "hypot", "magnitude"]
