"""How quantiles of the gamma and the beta distribution move with a parameter.

A quantile x(a) of the distribution function F obeys dx/da = -(dF/da) / (dF/dx). F over its density
is a series below the mean, and what is left of F is one above (for gamma numbers a continued
fraction); both are differentiated term by term, where all terms have one sign (DLMF 8.7.1, 8.9.2,
8.17.8). Words of a machine function (`words`, 8 bytes each), all float64:

    gamma_slope_words   results | shapes | numbers | digamma(shapes)
    beta_slope_words    results | numbers | a | totals a + b | digamma(a) - digamma(totals)
"""

from ...targets.native import (
    Unit, external, f64, fabs, i64, load_f64, load_ptr, ptr, sqrt, store_f64, void,
)  # fmt: skip

unit = Unit("quantiles")

_STEPS = 4000
_LARGE = 1000.0  # shapes from which the quantile is expanded about the normal distribution's
_MOST = (2.0 - 2.0**-52) * 2.0**1023
_NO_MORE, _SETTLED = 1e-17, 1e-15  # what terms and factors add to a result that holds

_log = external("log", [f64], f64)


@unit.function
def _nothing() -> f64:
    return sqrt(-1.0)  # NaN


# Gamma numbers x of shape a; psi: digamma(a).


@unit.function
def _gamma_below(a: f64, x: f64, psi: f64) -> f64:
    """The sums of t(k) and of t(k) h(k), h the sum of 1 / (a + k)."""
    term, weight = 1.0 / a, 1.0 / a
    total, weighted = term, term * weight
    for k in range(1, _STEPS):
        place = a + f64(k)
        term *= x / place
        weight += 1.0 / place
        total += term
        weighted += term * weight
        if not fabs(term * weight) > fabs(weighted) * _NO_MORE:
            break
    return x * (weighted - total * (_log(x) - psi))


@unit.function
def _gamma_above(a: f64, x: f64, psi: f64) -> f64:
    """Lentz's evaluation of 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), and of d/da of it."""
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    slope_c, slope_d = 0.0, d * d
    made, slope = d, slope_d
    for k in range(1, _STEPS):
        step = f64(k)
        factor = -step * (step - a)
        b += 2.0
        slope_c = (step - factor * slope_c / c) / c - 1.0
        c = b + factor / c
        inner = step * d - 1.0 + factor * slope_d
        d = 1.0 / (factor * d + b)
        slope_d = -d * d * inner
        ratio, moved = c * d, slope_c * d + c * slope_d
        gained = made * moved
        slope = slope * ratio + gained
        made *= ratio
        settled = not fabs(ratio - 1.0) > _SETTLED
        if settled and not fabs(made * moved) > fabs(slope) * _SETTLED:
            break
    return x * (made * (_log(x) - psi) + slope)


@unit.function
def _gamma_large(a: f64, x: f64) -> f64:
    """Cornish and Fisher's expansion x(a, z) of the quantile, at the z that gives x."""
    root = sqrt(a)
    third, fourth = root / (36.0 * a), 1.0 / (810.0 * a)
    z = (x - a) / root
    for _ in range(8):
        square = z * z
        found = (a + root * z + (square - 1.0) / 3.0 + third * z * (square - 7.0)
                 - fourth * (3.0 * square * square + 7.0 * square - 16.0))
        slope = (root + 2.0 * z / 3.0 + third * (3.0 * square - 7.0)
                 - fourth * z * (12.0 * square + 14.0))
        z -= (found - x) / slope
    square = z * z
    return (1.0 + z / (2.0 * root) - third * z * (square - 7.0) / (2.0 * a)
            + fourth * (3.0 * square * square + 7.0 * square - 16.0) / a)


@unit.function
def _gamma_slope(a: f64, x: f64, psi: f64) -> f64:
    if a > 0.0 and x == 0.0:
        return 0.0
    if not (a > 0.0 and x > 0.0 and a <= _MOST and x <= _MOST):
        return _nothing()
    if a > _LARGE and fabs(x - a) < 12.0 * sqrt(a):
        return _gamma_large(a, x)
    if x <= a:
        return _gamma_below(a, x, psi)
    return _gamma_above(a, x, psi)


@unit.function
def gamma_slope_words(words: ptr, low: i64, high: i64) -> void:
    """dx/da for the elements [low, high)."""
    made, shapes, numbers = load_ptr(words, 0), load_ptr(words, 8), load_ptr(words, 16)
    psi = load_ptr(words, 24)
    for at in range(low, high):
        store_f64(made, at * 8, _gamma_slope(load_f64(shapes, at * 8), load_f64(numbers, at * 8),
                                             load_f64(psi, at * 8)))


# Beta numbers x of the parameters a and b; psi: digamma(a) - digamma(a + b).


@unit.function
def _beta_below(x: f64, a: f64, b: f64, psi: f64) -> f64:
    term, weight = 1.0 / a, 1.0 / a
    total, weighted = term, term * weight
    for k in range(1, _STEPS):
        place, before = a + f64(k), a + b + f64(k) - 1.0
        term *= x * before / place
        weight += 1.0 / place - 1.0 / before
        total += term
        weighted += term * weight
        if not fabs(term * weight) > fabs(weighted) * _NO_MORE:
            break
    return x * (weighted - total * (_log(x) - psi))


@unit.function
def _beta_above(x: f64, a: f64, b: f64, psi: f64) -> f64:
    y = 1.0 - x
    term, weight = 1.0 / b, 0.0
    total, weighted = term, 0.0
    for k in range(1, _STEPS):
        before = a + b + f64(k) - 1.0
        term *= y * before / (b + f64(k))
        weight += 1.0 / before
        total += term
        weighted += term * weight
        if not fabs(term * weight) > fabs(weighted) * _NO_MORE:
            break
    return x * (weighted + total * (_log(x) - psi))


@unit.function
def _beta_slope(x: f64, a: f64, b: f64, psi: f64) -> f64:
    if x == 0.0:
        return 0.0
    if x == 1.0:
        return 1.0 / b
    if not (a > 0.0 and b > 0.0 and x > 0.0 and x < 1.0):
        return _nothing()
    # With little on the other side the series below converges slowly near 1.
    if x * (a + b) <= a and (x < 0.9 or b >= 1.0):
        return _beta_below(x, a, b, psi)
    return _beta_above(x, a, b, psi)


@unit.function
def beta_slope_words(words: ptr, low: i64, high: i64) -> void:
    """dx/da / (1 - x), b held fixed, for the elements [low, high)."""
    made, numbers, first = load_ptr(words, 0), load_ptr(words, 8), load_ptr(words, 16)
    totals, psi = load_ptr(words, 24), load_ptr(words, 32)
    for at in range(low, high):
        a = load_f64(first, at * 8)
        store_f64(made, at * 8, _beta_slope(load_f64(numbers, at * 8), a,
                                            load_f64(totals, at * 8) - a, load_f64(psi, at * 8)))
