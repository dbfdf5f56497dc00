"""exp, exp2, expm1 and the reduction that the hyperbolic and error functions share.

x = n ln 2 + r with |r| <= ln 2 / 2, so exp(x) = 2**n exp(r). Adding `magic` leaves n in the lowest
bits of the sum, which is also where 2**n is built from. n ln 2 is taken from x in two fma steps;
the first is exact, because the product's lowest bit is no lower than that of ln 2 itself.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Expr, bitcast
from ..scalar import fma, where
from .support import (
    Format, absolute, at_least, at_most, by_format, format_of, horner,
)

LOG2_E = 1.4426950408889634
#: ln 2 in two parts for each format.
LN2_SINGLE = (0.6931471824645996, -1.904654323148236e-09)
LN2_DOUBLE = (0.6931471805599453, 2.3190468138462996e-17)
#: (exp(r) - 1 - r) / r**2 on |r| <= ln 2 / 2, error 2**-28 and 2**-57 of exp(r)
EXP_SINGLE = (0.4999999403953552, 0.16666516661643982, 0.04166810214519501,
              0.008369173854589462, 0.001383824972435832)
EXP_DOUBLE = (
    0.5000000000000011, 0.16666666666666438, 0.04166666666652575, 0.008333333333473645,
    0.0013888888944881645, 0.00019841269561352587, 2.4801491717785045e-05, 2.7557528615727903e-06,
    2.7630767697322556e-07, 2.5021213995212158e-08)
#: the same with errors 2**-26 and 2**-60 of expm1(r)
EXPM1_SINGLE = (
    0.4999999701976776, 0.16666539013385773, 0.041667740792036057, 0.008367102593183517,
    0.0013838140293955803)
EXPM1_DOUBLE = (
    0.5, 0.16666666666666677, 0.04166666666666669, 0.008333333333321738, 0.001388888888888272,
    0.00019841269885378408, 2.4801587305617e-05, 2.755724523808897e-06, 2.7557305971591013e-07,
    2.510862265035023e-08, 2.0901081458190877e-09)
#: (2**r - 1) / r on |r| <= 1/2, errors 2**-26 and 2**-57 of 2**r
EXP2_SINGLE = (0.6931471824645996, 0.24022594094276428, 0.055503662675619125,
               0.009625455364584923, 0.0013387727085500956, 0.0001333035615971312)
EXP2_DOUBLE = (0.6931471805599453, 0.24022650695910172, 0.055504108664824574,
               0.009618129107577084, 0.001333355814556727, 0.0001540353047882364,
               1.5252734738133938e-05, 1.3215424506679816e-06, 1.0177656156828002e-07,
               7.075611204380722e-09, 4.519271051586044e-10)


def reduce(x: Expr, offset: int) -> tuple[Expr, Expr, Expr]:
    """(n, r, bits): bits hold n + offset in their lowest places."""
    fmt = format_of(x)
    high, low = by_format(x, LN2_SINGLE, LN2_DOUBLE)
    shifted = fma(x, LOG2_E, fmt.magic + offset)
    n = shifted - (fmt.magic + offset)
    r = fma(n, -low, fma(n, -high, x))
    return n, r, bitcast(shifted, fmt.integer)


def scale(value: Expr, bits: Expr, fmt: Format) -> Expr:
    """value * 2**n, right for denormal results too; `bits` from an offset of 2 * bias (+ 1...).

    2**n is applied as two factors of about 2**(n / 2): the first product is exact, so only the
    second rounds.
    """
    half = (bits >> 1) << fmt.mantissa
    other = (bits << fmt.mantissa) - half
    return value * bitcast(half, fmt.dtype) * bitcast(other, fmt.dtype)


def bounds(fmt: Format) -> tuple[float, float]:
    """Where exp is surely 0 below and surely infinite above."""
    return (-104.0, 89.0) if fmt.mantissa == 23 else (-746.0, 710.0)


def within(x: Expr, low: float, high: float, raised: Callable[[Expr], Expr]) -> Expr:
    """raised(x), which is surely 0 below `low` and surely infinite above `high`.

    Below `low`, -inf of masked scores above all, 1 is computed and replaced: a product that
    underflows takes a hundred times longer than any other.
    """
    gone = x < low
    return where(gone, 0.0, raised(at_most(where(gone, 0.0, x), high)))


def exp(x: Expr) -> Expr:
    return within(x, *bounds(format_of(x)), lambda y: exp_bounded(y, None, 0))


def exp_bounded(x: Expr, correction: Expr | None, doublings: int) -> Expr:
    """exp(x + correction) * 2**doublings for x within `bounds`, or a little beyond."""
    fmt = format_of(x)
    _, r, bits = reduce(x, 2 * fmt.bias + doublings)
    if correction is not None:
        r = r + correction
    polynomial = horner(r, (1.0, 1.0, *by_format(x, EXP_SINGLE, EXP_DOUBLE)))
    return scale(polynomial, bits, fmt)


def exp2(x: Expr) -> Expr:
    fmt = format_of(x)
    low, high = (-151.0, 129.0) if fmt.mantissa == 23 else (-1076.0, 1025.0)

    def raised(y: Expr) -> Expr:
        offset = fmt.magic + 2 * fmt.bias
        shifted = y + offset
        r = y - (shifted - offset)
        polynomial = horner(r, (1.0, *by_format(y, EXP2_SINGLE, EXP2_DOUBLE)))
        return scale(polynomial, bitcast(shifted, fmt.integer), fmt)

    return within(x, low, high, raised)


def expm1_reduced(r: Expr, low: Expr | None = None) -> Expr:
    """exp(r + low) - 1 for |r| <= ln 2 / 2, low being a rounding error of r."""
    polynomial = horner(r, by_format(r, EXPM1_SINGLE, EXPM1_DOUBLE))
    if low is None:
        return fma(r * r, polynomial, r)
    return r + fma(r * r, polynomial, low)


def expm1(x: Expr) -> Expr:
    """In units of 4, so that the exponent does not overflow before the result does."""
    fmt = format_of(x)
    low, high = (-20.0, 89.0) if fmt.mantissa == 23 else (-40.0, 710.0)
    _, r, bits = reduce(at_most(at_least(x, low), high), fmt.bias - 2)
    factor = bitcast(bits << fmt.mantissa, fmt.dtype)
    quarter = fma(expm1_reduced(r), factor, factor - 0.25)
    return where(absolute(x) < 2.0 ** -(fmt.mantissa + 2), x, quarter * 4.0)


def negative_expm1(t: Expr) -> Expr:
    """1 - exp(-t) for 0 <= t <= ln 2 times about the number of mantissa bits."""
    fmt = format_of(t)
    _, r, bits = reduce(-t, fmt.bias)
    factor = bitcast(bits << fmt.mantissa, fmt.dtype)
    return fma(-expm1_reduced(r), factor, 1.0 - factor)


