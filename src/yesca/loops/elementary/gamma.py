"""lgamma, digamma, and trigamma for the derivative of digamma.

float32 is computed in float64. Negative arguments go by reflection; sin(pi x) needs only the exact
distance of x from an integer. Away from its zeros at 1 and 2, which it meets with small relative
error, lgamma has small absolute error near zeros (negative arguments); so has digamma.
"""

from __future__ import annotations

import math

from ...core.dtypes import float32, float64
from ..ir import Expr, cast, const, operate
from ..scalar import fma, where
from .logarithm import log
from .support import absolute, at_most, copysign, horner

#: lgamma(2 + d) / d on |d| <= 1/2, error 2**-57
LGAMMA = (
    0.42278433509846713, 0.3224670334241133, -0.06735230105319491, 0.02058080842776586,
    -0.007385551029010712, 0.002890510331818284, -0.0011927538980369664, 0.0005096694964130572,
    -0.0002231550354913786, 9.945791759558291e-05, -4.492309289913783e-05, 2.050381335166218e-05,
    -9.460341328088531e-06, 4.392073534780444e-06, -1.9593182156502203e-06, 9.038497625439607e-07,
    -6.1084926208358e-07, 2.9340249410302156e-07, 2.43860771287106e-08)
#: sin(pi f) / f in f**2 on |f| <= 1/2, error 2**-57
SIN_PI = (
    3.141592653589793, -5.167712780049894, 2.5501640398695073, -0.5992645290083412,
    0.08214588034237344, -0.007370360034455838, 0.0004658302317912982, -2.00755012074361e-05,
    -3.075071766594318e-06, 3.3749974178527184e-06)
#: B(2k) / (2k (2k - 1)), B(2k) / (2k) and B(2k), B the Bernoulli numbers, from k = 1
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
TRIGAMMA_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
SHIFT = 10


def _widened(body):  # type: ignore[no-untyped-def]
    def function(x: Expr) -> Expr:
        return cast(body(cast(x, float64)), float32) if x.dtype is float32 else body(x)

    function.__name__, function.__doc__ = body.__name__, body.__doc__
    return function


def _sin_pi(f: Expr) -> Expr:
    """sin(pi f) for |f| <= 1/2."""
    return f * horner(f * f, SIN_PI)


def _from_integer(x: Expr) -> Expr:
    """x less the nearest integer, exactly."""
    return x - operate("round", x)


def _reciprocal(x: Expr) -> Expr:
    return operate("div", const(1.0, x.dtype), x)


@_widened
def lgamma(x: Expr) -> Expr:
    """log |gamma(x)|.

    Up to 8: from 2 + d, |d| <= 1/2, by the recurrence, with the logarithm of one product; above, by
    Stirling's series.
    """
    a = absolute(x)
    large = a >= 8.0
    low, middle = a < 0.5, a < 1.5
    product = a * where(low, a + 1.0, 1.0)
    upper: Expr = const(1.0, x.dtype)
    steps = operate("round", at_most(a, 8.0)) - 2.0
    for j in range(1, 7):
        upper = upper * where(steps >= float(j), a - float(j), 1.0)
    d = where(low, a, where(middle, a - 1.0, (a - 2.0) - steps))
    near = d * horner(d, LGAMMA)
    logarithm = log(where(large, a, where(middle, product, upper)))
    tail = _reciprocal(a)
    series = fma(tail, horner(tail * tail, STIRLING), 0.5 * math.log(2 * math.pi) - 0.5)
    stirling = fma(a - 0.5, logarithm - 1.0, series)
    value = where(large, stirling, near + where(middle, -logarithm, logarithm))
    # gamma(x) gamma(-x) = -pi / (x sin(pi x)), the product cancelled where it can be
    sine = absolute(_sin_pi(_from_integer(a)))
    ratio = where(low, a + 1.0, where(middle, 1.0, _reciprocal(a * where(large, 1.0, upper))))
    mirrored = log(math.pi * ratio / sine) - where(large, stirling, near)
    value = where(x < -(2.0**-200), mirrored, value)  # -log(a) on both sides of zero
    return where(a < math.inf, value, a)


def _shifted(x: Expr) -> tuple[Expr, Expr, Expr]:
    """(y, small, z): y = x or 1 - x, positive; small: y < SHIFT; z = y, shifted if small."""
    y = where(x < 0.0, 1.0 - x, x)
    small = y < float(SHIFT)
    return y, small, where(small, y + float(SHIFT), y)


@_widened
def digamma(x: Expr) -> Expr:
    """The asymptotic series from 10 on; below, ten steps of the recurrence."""
    y, small, z = _shifted(x)
    steps: Expr = const(0.0, x.dtype)
    for j in reversed(range(SHIFT)):  # the smallest first
        steps = steps + _reciprocal(y + float(j))
    inverse = _reciprocal(z)
    square = inverse * inverse
    value = log(z) - fma(square, horner(square, DIGAMMA_SERIES), 0.5 * inverse)
    value = value - where(small, steps, 0.0)
    f = _from_integer(x)
    cosine = _sin_pi(0.5 - absolute(f))
    mirrored = value - math.pi * (cosine / where(f.eq(0.0), math.nan, _sin_pi(f)))
    value = where(x < 0.0, mirrored, value)
    return where(x.eq(0.0), copysign(const(-math.inf, x.dtype), -x), value)


@_widened
def trigamma(x: Expr) -> Expr:
    """The derivative of digamma."""
    y, small, z = _shifted(x)
    total: Expr = const(0.0, x.dtype)
    for j in reversed(range(SHIFT)):
        inverse = _reciprocal(y + float(j))
        total = fma(inverse, inverse, total)
    inverse = _reciprocal(z)
    square = inverse * inverse
    value = inverse + square * fma(inverse, horner(square, TRIGAMMA_SERIES), 0.5)
    value = value + where(small, total, 0.0)
    sine = _sin_pi(_from_integer(x))
    root = math.pi / sine
    return where(x < 0.0, root * root - value, value)
