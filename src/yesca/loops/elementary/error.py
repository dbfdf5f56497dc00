"""erf, erfc, erfinv."""

from __future__ import annotations

from ..ir import Expr
from ..scalar import fma
from .exponential import negative_expm1
from .support import absolute, at_most, by_format, copysign, format_of, horner

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


def erf(x: Expr) -> Expr:
    """1 - exp(-t(|x|)), where t = -log(erfc) is smooth and grows by x**2 only.

    The error in t counts for t / (exp(t) - 1) < 1 of itself.
    """
    fmt = format_of(x)
    a = at_most(absolute(x), 3.93 if fmt.mantissa == 23 else 5.95)
    first, *rest = by_format(x, ERF_SINGLE, ERF_DOUBLE)
    t = fma(a, first, a * horner(a, rest))
    return copysign(negative_expm1(t), x)
