"""log, log2, log10, log1p.

x = 2**e m with m in [sqrt(1/2), sqrt(2)), so log(x) = e ln 2 + log1p(f), f = m - 1 exact. The
exponent comes from integer arithmetic on the bits, after denormal numbers are scaled into the
normal range.
"""

from __future__ import annotations

import math

from ..ir import Expr, bitcast, cast, const
from ..scalar import fma, where
from .support import Format, by_format, copysign, format_of, horner

#: (log1p(f) - f + f**2 / 2) / f**3, errors 2**-27 and 2**-55.6 of log1p(f)
LOG_SINGLE = (
    0.3333333134651184, -0.250008225440979, 0.2000126838684082, -0.16623282432556152,
    0.14200285077095032, -0.13159148395061493, 0.12773598730564117, -0.07654418796300888)
LOG_DOUBLE = (
    0.3333333333333314, -0.24999999999987974, 0.20000000000066936, -0.16666666669825386,
    0.14285714280061007, -0.12499999691585885, 0.11111111148812758, -0.10000015194987298,
    0.09090923905263272, -0.08332913975203647, 0.07691530094409207, -0.07149430094050904,
    0.06684585777009128, -0.06196796025265008, 0.05668445251652678, -0.056769923782615174,
    0.06502736925635229, -0.059839303829508486, 0.0261808901412777)
#: log2(1 + f) / f less its value at 0, which stands first (exact to twice the precision together
#: with the second), errors 2**-25 and 2**-56
LOG2_SINGLE = (
    1.4426950216293335, -1.795613080446401e-08, -0.7213473320007324, 0.48091065883636475,
    -0.36070552468299866, 0.2879166007041931, -0.23888856172561646, 0.21564067900180817,
    -0.20769578218460083, 0.12664346396923065)
LOG2_DOUBLE = (
    1.4426950408889634, 2.392578045218284e-17, -0.7213475204444824, 0.48089834696298184,
    -0.36067376022184117, 0.288539008179203, -0.24044917355370896, 0.20609929146281408,
    -0.1803368741386116, 0.1602994484599319, -0.14426977138866842, 0.1311543861752899,
    -0.12021767243061265, 0.11096318271216155, -0.10315278364870424, 0.09646791336348777,
    -0.08937062386157799, 0.08157329086024855, -0.08180497021627949, 0.09433932115055889,
    -0.08712924848575075, 0.03808881659031253)
LOG10_SINGLE = (
    0.4342944920063019, -2.13061106535406e-08, -0.21714718639850616, 0.14476852118968964,
    -0.10858283936977386, 0.08667203038930893, -0.07192649692296982, 0.0649297907948494,
    -0.06240452453494072, 0.037896063178777695)
LOG10_DOUBLE = (
    0.4342944819032518, 1.2058026121973998e-17, -0.2171472409516261, 0.1447648273010821,
    -0.10857362047571312, 0.08685889638112929, -0.07238241366741645, 0.062042068802207,
    -0.05428680885663524, 0.04825494355685014, -0.04342951169072823, 0.03948134357251892,
    -0.03618947990027106, 0.03340478744874901, -0.03104856148038495, 0.029018454356313953,
    -0.02691047341797643, 0.0247040377802702, -0.024755728550351363, 0.02803142342404685,
    -0.025502701047465614, 0.01111189104181892)
LN2_LOW_DOUBLE = 2.3190468138462996e-17
LOG10_2_SINGLE = (0.3010300099849701, -1.4320989520110743e-08)
LOG10_2_DOUBLE = (0.3010299956639812, -2.8037281277851704e-18)


def lowest_bits(fmt: Format) -> int:
    """The bits of sqrt(1/2), the lower end of the reduced interval."""
    return 0x3F3504F3 if fmt.mantissa == 23 else 0x3FE6A09E667F3BCD


def exponent_of(x: Expr, fmt: Format) -> tuple[Expr, Expr]:
    """For normal positive x: (e << mantissa, bits of x)."""
    bits = bitcast(x, fmt.integer)
    return (bits - lowest_bits(fmt)) & (-1 << fmt.mantissa), bits


def decompose(x: Expr) -> tuple[Expr, Expr]:
    """(e, f) with x = 2**e (1 + f) and 1 + f in [sqrt(1/2), sqrt(2)), for finite x > 0."""
    fmt = format_of(x)
    small = x < fmt.smallest_normal
    lift = fmt.mantissa + 2
    x = where(small, x * 2.0**lift, x)
    shifted, bits = exponent_of(x, fmt)
    m = bitcast(bits - shifted, fmt.dtype)
    e = cast(shifted >> fmt.mantissa, fmt.dtype)
    return e - where(small, const(float(lift), fmt.dtype), 0.0), m - 1.0


def outside(x: Expr, inside: Expr, zero: float = 0.0) -> Expr:
    """`inside` for finite x above `zero`; at it -infinity, below it NaN; infinity and NaN stay."""
    special = where(x < zero, math.nan, x)
    special = where(x.eq(zero), -math.inf, special)
    return where((x > zero) & (x < math.inf), inside, special)


def log1p_reduced(f: Expr) -> Expr:
    """log1p(f) for a reduced f, without its leading f."""
    polynomial = horner(f, (-0.5, *by_format(f, LOG_SINGLE, LOG_DOUBLE)))
    return (f * f) * polynomial


def combine(e: Expr, f: Expr, low: Expr | None = None) -> Expr:
    """e ln 2 + log1p(f + low), low being a rounding error of f."""
    rest = log1p_reduced(f)
    if low is not None:
        rest = rest + low
    if format_of(f).mantissa == 52:
        rest = fma(e, LN2_LOW_DOUBLE, rest)
    return fma(e, math.log(2.0), f + rest)


def log_positive(x: Expr) -> Expr:
    """log(x) for finite x > 0."""
    return combine(*decompose(x))


def log(x: Expr) -> Expr:
    return outside(x, log_positive(x))


def log2(x: Expr) -> Expr:
    e, f = decompose(x)
    first, *rest = by_format(x, LOG2_SINGLE, LOG2_DOUBLE)
    return outside(x, e + fma(f, first, f * horner(f, rest)))


def log10(x: Expr) -> Expr:
    e, f = decompose(x)
    first, *rest = by_format(x, LOG10_SINGLE, LOG10_DOUBLE)
    high, low = by_format(x, LOG10_2_SINGLE, LOG10_2_DOUBLE)
    tail = fma(e, low, f * horner(f, rest))
    return outside(x, fma(e, high, fma(f, first, tail)))


def log1p_finite(x: Expr, doublings: Expr | None = None, low: Expr | None = None) -> Expr:
    """log1p(x + low) + doublings ln 2 for finite x > -1, low being a rounding error of x.

    With 2**e near 1 + x, f = 2**-e x + (2**-e - 1) has one rounding only. 2**-e is
    made four times too large first, because it may be denormal.
    """
    fmt = format_of(x)
    shifted, _ = exponent_of(x + 1.0, fmt)
    factor = bitcast(((fmt.bias + 2) << fmt.mantissa) - shifted, fmt.dtype) * 0.25
    f = fma(x, factor, factor - 1.0)
    e = cast(shifted >> fmt.mantissa, fmt.dtype)
    return combine(e if doublings is None else e + doublings, f,
                   None if low is None else low * factor)


def log1p(x: Expr) -> Expr:
    return outside(x, copysign(log1p_finite(x), x), -1.0)
