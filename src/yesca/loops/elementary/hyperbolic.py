"""sinh, cosh, tanh and their inverses."""

from __future__ import annotations

import math

from ..ir import Expr, bitcast, const, operate
from ..scalar import fma, where
from .exponential import (
    LN2_DOUBLE, LN2_SINGLE, LOG2_E, bounds, exp_bounded, expm1_reduced,
)
from .logarithm import log1p_finite
from .support import absolute, at_most, by_format, copysign, format_of, horner, two_sum

#: (expm1(2 r) - 2 r) / r**2 on |r| <= ln 2 / 4, error 2**-26 of expm1(2 r)
TANH_SINGLE = (
    1.9999998807907104, 1.3333231210708618, 0.6666838526725769, 0.26774728298187256,
    0.08856409788131714)

#: (sinh(x) - x) / x**3 in x**2 on [0, 1]; errors 2**-29 and 2**-57
SINH_SINGLE = (
    0.1666666716337204, 0.00833331048488617, 0.00019842895562760532, 2.782212277452345e-06)
SINH_DOUBLE = (
    0.16666666666666669, 0.008333333333332912, 0.00019841269841593324, 2.7557319106821576e-06,
    2.5052130981636842e-08, 1.6056661058590383e-10, 7.776525290334134e-13)


def tanh(x: Expr) -> Expr:
    """u / (u + 1) with u = (exp(2 |x|) - 1) / 2.

    Where u is small, one step of y = u - u y damps the rounding errors of sum and quotient.
    """
    fmt = format_of(x)
    a = absolute(x)
    a = at_most(a, 9.25 if fmt.mantissa == 23 else 19.5)
    high, low = by_format(x, LN2_SINGLE, LN2_DOUBLE)
    shifted = fma(a, 2.0 * LOG2_E, fmt.magic + fmt.bias)
    n = shifted - (fmt.magic + fmt.bias)
    upper = fma(n, -high / 2, a)
    r = fma(n, -low / 2, upper)
    factor = bitcast(bitcast(shifted, fmt.integer) << fmt.mantissa, fmt.dtype)
    if fmt.mantissa == 23:
        reduced = fma(r * r, horner(r, TANH_SINGLE), r + r)
    else:
        error = fma(n, -low / 2, upper - r)
        reduced = expm1_reduced(r + r, error + error)
    e = fma(reduced, factor, factor - 1.0)
    quotient = e / (e + 2.0)
    half = e * 0.5
    return copysign(where(a < 0.35, fma(-half, quotient, half), quotient), x)


def sinh(x: Expr) -> Expr:
    """A polynomial up to 1, then H - 1 / (4 H) with H = exp(|x|) / 2."""
    half, rest = _halves(x)
    square = x * x
    small = fma(x * square, horner(square, by_format(x, SINH_SINGLE, SINH_DOUBLE)), x)
    return where(absolute(x) < 1.0, small, copysign(half - rest, x))


def _halves(x: Expr) -> tuple[Expr, Expr]:
    """exp(|x|) / 2 and exp(-|x|) / 2; the exponent is lowered before it can overflow."""
    high = bounds(format_of(x))[1] + 1.0
    half = exp_bounded(at_most(absolute(x), high), None, -1)
    return half, operate("div", const(0.25, x.dtype), half)


def cosh(x: Expr) -> Expr:
    """exp(|x|) / 2 + exp(-|x|) / 2."""
    half, rest = _halves(x)
    return half + rest


def asinh(x: Expr) -> Expr:
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))) of a = |x|; log(a) + ln 2 where a**2 is large."""
    fmt = format_of(x)
    a = absolute(x)
    large = a > 2.0 ** (fmt.mantissa + 2)
    square = a * a
    root = operate("sqrt", fma(a, a, 1.0))
    argument = where(large, a, a + square / (1.0 + root))
    inside = log1p_finite(argument, where(large, const(1.0, x.dtype), 0.0))
    return where(a < math.inf, copysign(inside, x), x)


def acosh(x: Expr) -> Expr:
    """log1p(t + sqrt(t**2 + 2 t)) of t = x - 1; log(x) + ln 2 where x is large."""
    fmt = format_of(x)
    large = x > 2.0 ** (fmt.mantissa + 2)
    t = x - 1.0
    total, error = two_sum(operate("sqrt", fma(t, t, t + t)), t)
    inside = log1p_finite(where(large, x, total), where(large, const(1.0, x.dtype), 0.0),
                          where(large, 0.0, error))
    return where(x < 1.0, math.nan, where(x < math.inf, inside, x))


def atanh(x: Expr) -> Expr:
    """log1p(2 a / (1 - a)) / 2 of a = |x|."""
    a = absolute(x)
    twice = a + a
    argument = twice / (1.0 - a)
    argument = where(a < 0.5, fma(argument, a, twice), argument)  # damps rounding errors
    inside = copysign(0.5 * log1p_finite(argument), x)
    edge = where(a.eq(1.0), copysign(const(math.inf, x.dtype), x), math.nan)
    return where(a < 1.0, inside, edge)
