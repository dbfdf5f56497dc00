"""erf, erfc, erfinv, ndtr."""

from __future__ import annotations

import math

from ..ir import Expr, bitcast, const, operate
from ..scalar import fma, where
from .exponential import EXP2_SINGLE, expm1_reduced, negative_expm1, reduce, scale
from .logarithm import log_positive
from .support import (
    SINGLE, absolute, at_most, by_format, copysign, format_of, horner, two_product, two_sum,
)

#: -log(1 - erf(a)) / a less 2 / sqrt(pi), which stands first; on [0, 3.93] and [0, 5.95];
#: errors 2**-27.8 and 2**-57.5 of erf
ERF_SINGLE = (
    1.128379225730896, -5.411099834873312e-08, 0.6366193890571594, 0.10277777910232544,
    -0.01915295422077179, -0.00016044281073845923, 0.0016669421456754208, -0.0006327333976514637,
    0.00011760009510908276, -9.250630682799965e-06)
ERF_DOUBLE = (
    1.1283791670955126, 9.731637154929157e-18, 0.6366197723675836, 0.10277260330178908,
    -0.019128447005076304, -0.00020919469478294385, 0.0016962063853775077, -0.000590125551368522,
    2.5878599775170808e-05, 6.449187070678594e-05, -2.972406262188017e-05, 3.4072869133588877e-06,
    2.8351183235947288e-06, -1.7415298802127687e-06, 3.3635364948668387e-07, 1.371873679329268e-07,
    -1.417638119603409e-07, 6.573394829302335e-08, -2.0962716530330805e-08, 4.997702550287577e-09,
    -9.082194450023183e-10, 1.2484015620897505e-10, -1.2610881020873985e-11, 8.845471194576989e-13,
    -3.850474260209444e-14, 7.834068645067855e-16)

#: exp(a**2) erfc(a) (1 + RATE a) in u - 1/2, u = 1 / (1 + RATE a); its value at 1/2 stands first,
#: the rest is added to it; errors 2**-28 and 2**-57.6
RATE = 0.3125
ERFC_SINGLE = (
    0.33745619654655457, -2.993750802815498e-09, 0.5671828985214233, 0.7940430641174316,
    0.9064439535140991, 0.8067233562469482, 0.5018662214279175, 0.13751700520515442,
    -0.09423397481441498, -0.10849443823099136, 0.003779963357374072, 0.03736552596092224)
ERFC_DOUBLE = (
    0.3374561936237686, 2.3939560425454863e-17, 0.5671829087384583, 0.794043030282965,
    0.9064441930692253, 0.8067286037688405, 0.5018176903798227, 0.13738786069213732,
    -0.09292699427844035, -0.10841047247525727, -0.007565097193910924, 0.0503423272468223,
    0.018033610727518863, -0.024510468433782462, -0.013729239388195978, 0.014405050871104033,
    0.00877738010831255, -0.010294100104928355, -0.0048075108839542935, 0.008126203552639176,
    0.0015816059988598443, -0.005901084070714409, 0.0007786360688848492, 0.002710058808322678,
    -0.001249684281151507)
#: erfinv(x) / x with w = -log(1 - x**2), the first number apart as above: in w - 2.5 up to w = 5
#: (errors 2**-26, 2**-27), beyond it in sqrt(w) - TAIL_CENTER (errors 2**-25, 2**-22)
ERFINV_SINGLE = (
    1.5014092922210693, 6.707050914656065e-08, 0.24664027988910675, -0.004177391994744539,
    -0.0012527280487120152, 0.0002183533797506243, -4.970103873347398e-06, -3.4652773592824815e-06,
    4.676497269429092e-07, 2.3440069440994193e-08, -8.90865603508928e-09)
ERFINV_TAIL_SINGLE = (
    2.832976818084717, -2.2410826971963616e-08, 1.0016751289367676, 0.009445772506296635,
    -0.007641105446964502, 0.005681226961314678, -0.0035766365472227335, 0.0015035001561045647,
    -9.792346827453002e-05, -0.00032642221776768565, 0.00014357779582496732)
ERFINV_DOUBLE = (
    1.5014093567320799, 0.0, 0.24664029271834936, -0.0041773678488996185, -0.0012527611474733196,
    0.00021832346588835025, -4.948327967013246e-06, -3.4554919846478772e-06,
    4.6189617960518157e-07, 2.24740342301634e-08, -8.390112375142788e-09, 0.0, 0.0)
ERFINV_TAIL_DOUBLE = (
    3.8397843293697527, 0.0, 1.0094935679858912, 0.001249227039365297, -0.0008719264426533345,
    0.00035564061831084215, -0.00011331046846511049, 1.368563941333887e-05,
    -3.2807475045083185e-05, 4.179845345133336e-05, -1.165294368748261e-05,
    -2.6100698817639243e-06, 1.1314215557947643e-06)
TAIL_CENTER = (3.0, 4.0)
#: erfinv(x) / x in x**2 up to |x| = 1/2, error 2**-57
ERFINV_CENTER = (
    0.886226925452758, -4.1579314098510054e-17, 0.23201366653465952, 0.12755617530430968,
    0.08655212937145774, 0.06495961092253018, 0.05173149608160858, 0.04283238340250742,
    0.03652528469297651, 0.03112675093285418, 0.03169546492526269, 0.00806533050919033,
    0.07436497018319456, -0.07735316829072804, 0.1139331790372362)

#: -log2(2 ndtr(-a)) / a on [0, 6], error 2**-26.6 of ndtr; growing from there to 13
NDTR_SINGLE = (
    1.1511054040958855, 0.45920607623077425, 0.05250268348983822, -0.007069969285357605,
    0.0001354834799271592, 0.0001932020037776289, -4.4241396374829334e-05,
    4.214412038894441e-06, -1.4217343189260092e-07)


def erf(x: Expr) -> Expr:
    """1 - exp(-t(|x|)), where t = -log(erfc) is smooth and grows by x**2 only.

    The error in t counts for t / (exp(t) - 1) < 1 of itself.
    """
    fmt = format_of(x)
    a = at_most(absolute(x), 3.93 if fmt.mantissa == 23 else 5.95)
    first, *rest = by_format(x, ERF_SINGLE, ERF_DOUBLE)
    t = fma(a, first, a * horner(a, rest))
    return copysign(negative_expm1(t), x)


def erfc(x: Expr) -> Expr:
    """exp(-a**2) times a polynomial over 1 + RATE a, for a = |x|; 2 - that for x < 0.

    The product is carried in two parts throughout: rounding errors of the quotient are put right by
    the derivative, 2 a f - 2 / sqrt(pi) for f = exp(a**2) erfc(a).
    """
    fmt = format_of(x)
    a = at_most(absolute(x), 10.2 if fmt is SINGLE else 27.5)
    divisor = fma(a, RATE, 1.0)
    divisor_low = fma(a, RATE, 1.0 - divisor)
    u = operate("div", const(1.0, x.dtype), divisor)
    polynomial, polynomial_low = _erfc_polynomial(u - 0.5)
    f, f_low = two_product(polynomial, u)
    residue = fma(-u, divisor, 1.0) - u * divisor_low
    slope = 2 / math.sqrt(math.pi) - (a + a) * f
    f_low = fma(slope * (divisor / RATE), residue, fma(polynomial_low, u, f_low))
    square, square_low = two_product(a, a)
    _, r, bits = reduce(-square, 2 * fmt.bias)
    factor = expm1_reduced(r - square_low)  # the exponential, less 1
    result = scale(f + fma(factor, f, fma(factor, f_low, f_low)), bits, fmt)
    return where(x < 0.0, 2.0 - result, result)


def _erfc_polynomial(w: Expr) -> tuple[Expr, Expr]:
    """The fitted polynomial in two parts: its last two steps are carried in two parts."""
    first, first_low, second, *rest = by_format(w, ERFC_SINGLE, ERFC_DOUBLE)
    slope, slope_low = two_sum(const(second, w.dtype), w * horner(w, rest))
    rise, rise_low = two_product(slope, w)
    total, total_low = two_sum(const(first, w.dtype), rise)
    return total, total_low + fma(slope_low, w, rise_low + first_low)


def erfinv(x: Expr) -> Expr:
    """Two polynomials, by the size of w = -log(1 - x**2).

    In float64 they are a first guess, made exact by one step of Halley's method; up to 1/2 there is
    a polynomial in x**2.
    """
    a = absolute(x)
    w = -log_positive(where(a < 1.0, fma(-a, a, 1.0), 0.5))
    far = w > 5.0
    t = where(far, operate("sqrt", w) - by_format(x, *TAIL_CENTER), w - 2.5)
    near_table = by_format(x, ERFINV_SINGLE, ERFINV_DOUBLE)
    far_table = by_format(x, ERFINV_TAIL_SINGLE, ERFINV_TAIL_DOUBLE)
    first, *rest = (where(far, const(f, x.dtype), n)
                    for n, f in zip(near_table, far_table, strict=True))
    value = fma(a, first, a * horner(t, rest))
    if format_of(x) is not SINGLE:
        center, *others = ERFINV_CENTER
        small = fma(a, center, a * horner(a * a, others))
        value = where(a < 0.5, small, _halley(value, 1.0 - a))
    edge = where(a.eq(1.0), const(math.inf, x.dtype), math.nan)
    return copysign(where(a < 1.0, value, edge), x)


def _halley(y: Expr, wanted: Expr) -> Expr:
    """A better solution of erfc(y) = wanted."""
    square = y * y
    _, r, bits = reduce(square, 2 * format_of(y).bias)
    growth = scale(1.0 + expm1_reduced(r), bits, format_of(y))
    step = (erfc(y) - wanted) * (growth * (math.sqrt(math.pi) / 2))
    return y + step / (1.0 - y * step)


def ndtr(x: Expr) -> Expr:
    """The share of the normal distribution below x, within 2**-23.8 (absolute, not in ulp).

    What gelu needs, in two thirds of the work of erf: in float32 the tail is a power of two whose
    exponent is a polynomial in |x|; at 2**-126 it becomes 0, so that -inf * 0 is what it should be.
    """
    fmt = format_of(x)
    if fmt is not SINGLE:
        return fma(erf(x * math.sqrt(0.5)), 0.5, 0.5)
    a = at_most(absolute(x), 13.0)
    exponent = at_most(a * horner(a, NDTR_SINGLE), float(fmt.bias - 1))
    offset = fmt.magic + fmt.bias - 1  # tail = 2**(-exponent - 1)
    shifted = offset - exponent
    r = (offset - shifted) - exponent
    factor = bitcast(bitcast(shifted, fmt.integer) << fmt.mantissa, fmt.dtype)
    tail = horner(r, (1.0, *EXP2_SINGLE)) * factor
    return where(x > 0.0, 1.0 - tail, tail)
