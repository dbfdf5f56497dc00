"""sin, cos, tan and their inverses."""

from __future__ import annotations

import math

from ..ir import Expr, bitcast, const, operate
from ..scalar import fma, where
from .reduction import HALF_PI_PARTS, reduce
from .support import SINGLE, absolute, by_format, copysign, format_of, horner

#: (sin(r) - r) / r**3 in r**2 on |r| <= pi/4; errors 2**-28 and 2**-58
SIN_SINGLE = (-0.16666655242443085, 0.008332189172506332, -0.00019518287444952875)
SIN_DOUBLE = (
    -0.1666666666666663, 0.008333333333321844, -0.00019841269829362613, 2.755731354022307e-06,
    -2.505073469144418e-08, 1.5895452433343514e-10)
#: (cos(r) - 1 + r**2 / 2) / r**4 in r**2; errors 2**-33 and 2**-64
COS_SINGLE = (0.04166664555668831, -0.0013887311797589064, 2.443277662678156e-05)
COS_DOUBLE = (
    0.041666666666666595, -0.0013888888888873342, 2.4801587289002252e-05, -2.7557314217135555e-07,
    2.0875705413456347e-09, -1.1358750250087344e-11)
#: (tan(r) - r) / r**3 in r**2; errors 2**-29.5 and 2**-60
TAN_SINGLE = (
    0.33333349227905273, 0.13332675397396088, 0.05405890941619873, 0.021286239847540855,
    0.010827350430190563, 9.835677337832749e-05, 0.0043726530857384205)
TAN_DOUBLE = (
    0.33333333333333376, 0.13333333333326078, 0.05396825397253877, 0.021869488408727326,
    0.008863237775896003, 0.0035921023706733395, 0.0014560351642902492, 0.0005889156310681753,
    0.00024357135625221131, 8.401398929107562e-05, 6.63999787011181e-05, -2.4600899623830842e-05,
    4.7778103025046463e-05, -2.3850773875057427e-05, 9.705186943365242e-06)
#: (asin(s) - s) / s**3 in s**2 on [0, 1/2]; errors 2**-27.6 and 2**-60
ASIN_SINGLE = (
    0.16666752099990845, 0.07495308667421341, 0.045469414442777634, 0.024182626977562904,
    0.04216328263282776)
ASIN_DOUBLE = (
    0.1666666666666676, 0.0749999999997085, 0.04464285717458758, 0.03038194270821359,
    0.022372214990677246, 0.01735161174612104, 0.013980825862836544, 0.01139885390996669,
    0.010780653223312753, 0.0037046447153194447, 0.021712301420125254, -0.021006672232400474,
    0.0326338171777407)
#: (atan(s) - s) / s**3 in s**2 on [0, 1]; errors 2**-28.5 and 2**-60
ATAN_SINGLE = (
    -0.33333298563957214, 0.1999852955341339, -0.1426401436328888, 0.10950861871242523,
    -0.0839921161532402, 0.057878997176885605, -0.031093724071979523, 0.010866407305002213,
    -0.0017821822548285127)
ATAN_DOUBLE = (
    -0.33333333333333287, 0.19999999999990611, -0.14285714285044407, 0.11111111086647806,
    -0.0909090855049444, 0.07692299747373099, -0.06666584003047113, 0.05881717791708496,
    -0.052594410705502276, 0.04744951183397952, -0.04286458495882666, 0.03821150047037552,
    -0.0327878427481802, 0.026154868510201556, -0.01861752868463355, 0.011320330878169336,
    -0.005614021747656848, 0.002152316938050392, -0.0005931172669872777, 0.00010391425765943777,
    -8.657917208276429e-06)
HALF_PI_SINGLE = (1.5707963705062866, -4.371139000186241e-08)


def sin_reduced(high: Expr, low: Expr, square: Expr) -> Expr:
    polynomial = horner(square, by_format(high, SIN_SINGLE, SIN_DOUBLE))
    if format_of(high) is SINGLE:
        return fma(high * square, polynomial, high)
    return high + fma(high * square, polynomial, fma(low * square, -0.5, low))


def cos_reduced(high: Expr, low: Expr, square: Expr) -> Expr:
    polynomial = horner(square, by_format(high, COS_SINGLE, COS_DOUBLE))
    if format_of(high) is SINGLE:
        return fma(square, fma(square, polynomial, -0.5), 1.0)
    half = square * 0.5
    main = 1.0 - half
    rest = (1.0 - main) - half
    return main + fma(square * square, polynomial, fma(-high, low, rest))


def _sin_or_cos(x: Expr, quarter_turns: int) -> Expr:
    fmt = format_of(x)
    high, low, n = reduce(x)
    if quarter_turns:
        n = n + quarter_turns
    square = high * high
    odd = (n & 1).ne(0)
    value = where(odd, cos_reduced(high, low, square), sin_reduced(high, low, square))
    sign = (n & 2) << (fmt.mantissa + (7 if fmt is SINGLE else 10))
    return bitcast(bitcast(value, fmt.integer) ^ sign, fmt.dtype)


def sin(x: Expr) -> Expr:
    return where(x.eq(0.0), x, _sin_or_cos(x, 0))


def cos(x: Expr) -> Expr:
    return _sin_or_cos(x, 1)


def tan(x: Expr) -> Expr:
    """tan(r), or -1 / tan(r) an odd number of quarter turns on."""
    high, low, n = reduce(x)
    square = high * high
    polynomial = horner(square, by_format(x, TAN_SINGLE, TAN_DOUBLE))
    rest = fma(high * square, polynomial, fma(low, square, low))
    value = high + rest
    error = rest - (value - high)
    inverse = operate("div", const(-1.0, x.dtype), value)
    inverse = fma(error, inverse * inverse, inverse)
    return where(x.eq(0.0), x, where((n & 1).ne(0), inverse, value))


def _asin_parts(x: Expr) -> tuple[Expr, Expr, Expr]:
    """(a > 1/2, s, asin(s) - s) with s = sqrt((1 - a) / 2) for those a = |x|, else s = a."""
    a = absolute(x)
    large = a > 0.5
    square = where(large, (1.0 - a) * 0.5, a * a)
    s = where(large, operate("sqrt", square), a)
    polynomial = horner(square, by_format(x, ASIN_SINGLE, ASIN_DOUBLE))
    return large, s, (s * square) * polynomial


def asin(x: Expr) -> Expr:
    """s + ..., or pi/2 - 2 (s + ...)."""
    large, s, rest = _asin_parts(x)
    high, low = by_format(x, HALF_PI_SINGLE, HALF_PI_PARTS[:2])
    twice = 2.0 * s
    near = high - twice
    error = (high - near) - twice
    result = where(large, near - ((2.0 * rest - low) - error), s + rest)
    return copysign(result, x)


def acos(x: Expr) -> Expr:
    """pi/2 - asin(x) for |x| <= 1/2, else twice the asin of the half angle, from 0 or pi."""
    large, s, rest = _asin_parts(x)
    high, low = by_format(x, HALF_PI_SINGLE, HALF_PI_PARTS[:2])
    negative = x < 0.0
    signed = copysign(s, x)
    near = high - (signed + (copysign(rest, x) - low))
    twice = (s + rest) * 2.0
    far = where(negative, 2 * high - (twice - 2 * low), twice)
    return where(large, far, near)


def _atan_reduced(t: Expr) -> Expr:
    """atan(t) - t for |t| <= 1."""
    square = t * t
    return (t * square) * horner(square, by_format(t, ATAN_SINGLE, ATAN_DOUBLE))


def atan(x: Expr) -> Expr:
    """atan(a), or pi/2 - atan(1 / a) for a = |x| above 1."""
    a = absolute(x)
    large = a > 1.0
    t = where(large, operate("div", const(-1.0, x.dtype), a), a)
    rest = _atan_reduced(t)
    high, low = by_format(x, HALF_PI_SINGLE, HALF_PI_PARTS[:2])
    result = where(large, high + (t + (rest + low)), t + rest)
    return copysign(result, x)


def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of (x, y), from the atan of the smaller over the larger magnitude."""
    a, b = absolute(y), absolute(x)
    steep = a > b
    low, high = where(steep, b, a), where(steep, a, b)
    equal = low.eq(high) & low.ne(0.0)  # infinities too
    t = where(equal, 1.0, where(high.eq(0.0), low, low / high))
    angle = t + _atan_reduced(t)
    half, half_rest = by_format(x, HALF_PI_SINGLE, HALF_PI_PARTS[:2])
    angle = where(steep, half - (angle - half_rest), angle)
    bits = format_of(x)
    negative = bitcast(x, bits.integer) < 0
    angle = where(negative, 2 * half - (angle - 2 * half_rest), angle)
    return where(x.ne(x) | y.ne(y), math.nan, copysign(angle, y))
