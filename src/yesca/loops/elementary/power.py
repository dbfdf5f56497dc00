"""pow and fmod.

pow: the logarithm of |x| to about 70 bits (float32: in float64), times y, then the exponential. The
special cases of C follow from an infinite logarithm of 0 and infinity, and selects at the end.
"""

from __future__ import annotations

import math

from ...core.dtypes import FLOATING, float32, float64
from ..ir import Expr, bitcast, cast, const, operate
from ..scalar import fma, where
from .exponential import exp_bounded, within
from .logarithm import decompose, exponent_of
from .support import (
    DOUBLE, SINGLE, absolute, at_least, at_most, copysign, format_of, horner, power_of_two,
    two_product, two_sum,
)

#: log2(1 + f) / f for a float32 argument in float64, error 2**-37
LOG2 = (
    1.4426950408865684, -0.7213475203276568, 0.4808983488097699, -0.36067379308412423,
    0.2885387948915755, -0.24044643918303188, 0.20610716808154056, -0.1804365459509818,
    0.16021534115846414, -0.14250118515950297, 0.1302949730371045, -0.1346298666573984,
    0.13240919905141674, -0.0696183462767412)
#: (2**r - 1) / r on |r| <= 1/2 for a float32 result, error 2**-34
EXP2 = (
    0.6931471807045407, 0.2402265106669916, 0.05550410367317984, 0.009618037753777049,
    0.0013333922110497682, 0.0001546690018454825, 1.5201280020000657e-05)
#: (log(m) / s - 2 - 2/3 z) / z**2 in z = s**2, s = (m - 1) / (m + 1); error 2**-73 of log(m)
LOG_TAIL = (
    0.3999999999999998, 0.2857142857144387, 0.22222222217778528, 0.18181818845758244,
    0.15384558288160421, 0.13336270497523156, 0.11675649214727223, 0.11982915041218684)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
#: ln 2 with a first part of 42 bits, so that its product with an exponent is exact
LN2 = (0.6931471805598903, 5.497923018708371e-14)
FMOD_DIGITS = 45  # binary digits of a float32 quotient taken by one step, in float64


def pow(x: Expr, y: Expr) -> Expr:  # noqa: A001
    """x**y for one dtype of both; integers wrap around."""
    if x.dtype.category != FLOATING:
        return _integer_power(x, y)
    fmt = format_of(x)
    magnitude = absolute(x)
    bounded = at_most(at_least(y, -(2.0**70)), 2.0**70)  # 0 * infinity does not appear
    raised = (_power_single if fmt is SINGLE else _power_double)(magnitude, bounded)
    whole = operate("trunc", y).eq(y)
    half = y * 0.5
    odd = whole & operate("trunc", half).ne(half)
    negative = bitcast(x, fmt.integer) < 0
    raised = where(negative & odd, -raised, raised)
    undefined = negative & ~whole & (magnitude < math.inf) & (magnitude > 0.0)
    raised = where(undefined, math.nan, raised)
    return where(y.eq(0.0) | x.eq(1.0), 1.0, raised)


def _logarithm_limits(a: Expr, value: Expr) -> Expr:
    """The logarithm: value, or infinite for 0 and infinity; NaN for NaN."""
    value = where(a < math.inf, value, a)
    return where(a.eq(0.0), -math.inf, value)


def _power_single(a: Expr, y: Expr) -> Expr:
    """|x|**y of float32, computed in float64: denormal numbers are normal there."""
    wide = cast(a, float64)
    shifted, bits = exponent_of(wide, DOUBLE)
    f = bitcast(bits - shifted, float64) - 1.0
    e = cast(shifted >> DOUBLE.mantissa, float64)
    z = cast(y, float64) * _logarithm_limits(wide, fma(f, horner(f, LOG2), e))

    def raised(z: Expr) -> Expr:
        offset = DOUBLE.magic + DOUBLE.bias
        moved = z + offset
        scale = bitcast(bitcast(moved, DOUBLE.integer) << DOUBLE.mantissa, float64)
        return cast(horner(z - (moved - offset), (1.0, *EXP2)) * scale, float32)

    return within(z, -160.0, 160.0, raised)


def _power_double(a: Expr, y: Expr) -> Expr:
    high, low = _long_logarithm(a)
    high = _logarithm_limits(a, high)
    product, error = two_product(y, high)
    rest = fma(y, low, error)
    rest = where(absolute(product) < 1024.0, rest, 0.0)
    return within(product, -746.0, 710.0, lambda z: exp_bounded(z, rest, 0))


def _long_logarithm(a: Expr) -> tuple[Expr, Expr]:
    """log(a) as an unevaluated sum of two float64, for finite a > 0.

    log(m) = 2 s + 2/3 s z + s z**2 P(z); the first two terms are carried in two parts.
    """
    e, f = decompose(a)
    sum_, sum_error = two_sum(const(2.0, a.dtype), f)
    reciprocal = operate("div", const(1.0, a.dtype), sum_)
    s = f * reciprocal
    s_low = (fma(-s, sum_, f) - s * sum_error) * reciprocal
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    third, third_low = two_product(z, TWO_THIRDS[0])
    third_low = fma(z, TWO_THIRDS[1], fma(z_low, TWO_THIRDS[0], third_low))
    factor, factor_low = two_sum(const(2.0, a.dtype), third)
    factor_low = factor_low + fma(z * z, horner(z, LOG_TAIL), third_low)
    main, main_low = two_product(s, factor)
    main_low = main_low + fma(s, factor_low, s_low * factor)
    total, error = two_sum(e * LN2[0], main)
    return two_sum(total, error + fma(e, LN2[1], main_low))


def _integer_power(x: Expr, y: Expr) -> Expr:
    """By repeated squaring over all bits of y; negative y gives 0 but for x = 1 and -1."""
    bits = 8 * x.dtype.itemsize - (1 if x.dtype.is_signed else 0)
    result, base = const(1, x.dtype), x
    for k in range(bits):
        result = result * where((y & (1 << k)).ne(0), base, 1)
        base = base * base
    if x.dtype.is_signed:
        inverse = where(x.eq(-1), where((y & 1).ne(0), x, 1), where(x.eq(1), x, 0))
        result = where(y < 0, inverse, result)
    return result


def fmod(x: Expr, y: Expr) -> Expr:
    """x - trunc(x / y) y, exact; the sign of x."""
    if x.dtype.category != FLOATING:
        return operate("irem", x, y)
    a, b = absolute(x), absolute(y)
    if x.dtype is float32:
        rest = cast(_long_division(cast(a, float64), cast(b, float64)), float32)
    else:
        rest = _modular_power(a, b)
    defined = (a < math.inf) & (b > 0.0)
    rest = where(a < b, a, where(defined, rest, math.nan))  # right for an infinite y too
    return where(b.ne(b), b, copysign(rest, x))


def _long_division(a: Expr, b: Expr) -> Expr:
    """a modulo b of float32 values in float64, in base 2**FMOD_DIGITS.

    Each digit is rounded to nearest, which keeps the remainder within b / 2 and so exact (a
    truncated digit may be wrong by 1).
    """
    inverse = operate("div", const(1.0, a.dtype), b)
    for k in reversed(range(7)):
        unit = 2.0 ** (FMOD_DIGITS * k)
        digit = fma(a, inverse * (1 / unit), DOUBLE.magic) - DOUBLE.magic
        a = fma(-digit, b * unit, a)
    return where(a < 0.0, a + b, a)


def _modular_power(a: Expr, b: Expr) -> Expr:
    """a modulo b of float64 values.

    With integers A and B of 53 bits, a = A 2**D u and b = B u, so the result is u times A 2**D
    modulo B. 2**D comes from 2**(D // 64) by six squarings modulo B, doubled for each bit of D.
    """
    top, a_exponent = _integer_mantissa(a)
    modulus, b_exponent = _integer_mantissa(b)
    inverse = operate("div", const(1.0, a.dtype), modulus)
    distance = a_exponent - b_exponent
    distance = where(distance < 0, 0, distance)
    power = bitcast((distance >> 6) + DOUBLE.bias << DOUBLE.mantissa, float64)
    for k in reversed(range(6)):
        power = _multiply_modulo(power, power, modulus, inverse)
        doubled = where((distance & (1 << k)).ne(0), const(2.0, a.dtype), 1.0)
        power = _reduce_modulo(power * doubled, modulus, inverse)
    rest = _multiply_modulo(_reduce_modulo(top, modulus, inverse), power, modulus, inverse)
    rest = _reduce_modulo(rest, modulus, inverse)
    rest = where(rest < 0.0, rest + modulus, rest)
    half = b_exponent >> 1  # u may be below the range: two factors
    return rest * power_of_two(half, DOUBLE) * power_of_two(b_exponent - half, DOUBLE)


def _integer_mantissa(a: Expr) -> tuple[Expr, Expr]:
    """(m, e) with a = m 2**e and m an integer of 53 bits, for finite a > 0."""
    small = a < DOUBLE.smallest_normal
    bits = bitcast(where(small, a * 2.0**54, a), DOUBLE.integer)
    place = DOUBLE.bias + DOUBLE.mantissa
    mantissa = bits & ((1 << DOUBLE.mantissa) - 1) | (place << DOUBLE.mantissa)
    exponent = (bits >> DOUBLE.mantissa) - where(small, const(place + 54, DOUBLE.integer), place)
    return bitcast(mantissa, float64), exponent


def _multiply_modulo(a: Expr, b: Expr, modulus: Expr, inverse: Expr) -> Expr:
    """a b modulo `modulus`, of less than its size, for integers within half of it."""
    product, error = two_product(a, b)
    return fma(-operate("round", product * inverse), modulus, product) + error


def _reduce_modulo(a: Expr, modulus: Expr, inverse: Expr) -> Expr:
    """a modulo `modulus`, within half of it, for integers of a few times its size."""
    return fma(-operate("round", a * inverse), modulus, a)
