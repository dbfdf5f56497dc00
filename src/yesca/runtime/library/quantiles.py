"""How quantiles of the gamma and the beta distribution move with a parameter, on NumPy arrays.

A quantile x(a) of the distribution function F obeys dx/da = -(dF/da) / (dF/dx). F over its density
is a series below the mean, and what is left of F is one above (for gamma numbers a continued
fraction); both are differentiated term by term, where all terms have one sign (DLMF 8.7.1, 8.9.2,
8.17.8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_STEPS = 4000
_LARGE = 1000.0  # shapes from which the quantile is expanded about the normal distribution's


def gamma_slope(out: Any, a: Any, x: Any, psi: Any) -> None:
    """dx/da for gamma numbers x of shape a; psi: digamma(a)."""
    a, x, psi = (np.broadcast_to(np.asarray(v, np.float64), out.shape) for v in (a, x, psi))
    with np.errstate(all="ignore"):
        valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        large = valid & (a > _LARGE) & (np.abs(x - a) < 12 * np.sqrt(a))
        below = valid & ~large & (x <= a)
        above = valid & ~large & (x > a)
        made = np.where((a > 0) & (x == 0), 0.0, np.nan)
        for chosen, function in ((large, _by_normal), (below, _below), (above, _above)):
            if chosen.any():
                made[chosen] = function(a[chosen], x[chosen], psi[chosen])
    out[...] = made


def _sums(first: Any, following: Callable[[int], tuple[Any, Any]]) -> tuple[Any, Any]:
    """The sums of t(k) and of t(k) h(k). `following(k)`: t(k) / t(k - 1), and what h gains."""
    term, total = first, first
    weight = following(0)[1]
    weighted = term * weight
    for k in range(1, _STEPS):
        ratio, gained = following(k)
        term = term * ratio
        weight = weight + gained
        total, weighted = total + term, weighted + term * weight
        if not (np.abs(term * weight) > np.abs(weighted) * 1e-17).any():
            break
    return total, weighted


def _below(a: Any, x: Any, psi: Any) -> Any:
    total, weighted = _sums(1 / a, lambda k: (x / (a + k), 1 / (a + k)))
    return x * (weighted - total * (np.log(x) - psi))


def _above(a: Any, x: Any, psi: Any) -> Any:
    """Lentz's evaluation of 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), and of d/da of it."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    slope_c, slope_d = np.zeros_like(x), d * d
    made, slope = d, slope_d
    for k in range(1, _STEPS):
        factor = -k * (k - a)
        b = b + 2
        slope_c = (k - factor * slope_c / c) / c - 1
        c = b + factor / c
        inner = -1 + k * d + factor * slope_d
        d = 1 / (factor * d + b)
        slope_d = -d * d * inner
        step, moved = c * d, slope_c * d + c * slope_d
        slope = slope * step + made * moved
        made = made * step
        if not (np.abs(step - 1) > 1e-15).any() \
                and not (np.abs(made * moved) > np.abs(slope) * 1e-15).any():
            break
    return x * (made * (np.log(x) - psi) + slope)


def _by_normal(a: Any, x: Any, psi: Any) -> Any:
    """Cornish and Fisher's expansion x(a, z) of the quantile, at the z that gives x."""
    root = np.sqrt(a)
    third, fourth = root / (36 * a), 1 / (810 * a)
    z = (x - a) / root
    for _ in range(8):
        found = a + root * z + (z * z - 1) / 3 + third * (z**3 - 7 * z) \
            - fourth * (3 * z**4 + 7 * z * z - 16)
        slope = root + 2 * z / 3 + third * (3 * z * z - 7) - fourth * (12 * z**3 + 14 * z)
        z = z - (found - x) / slope
    return 1 + z / (2 * root) - third * (z**3 - 7 * z) / (2 * a) \
        + fourth * (3 * z**4 + 7 * z * z - 16) / a


def beta_slope(out: Any, x: Any, a: Any, total: Any, psi: Any) -> None:
    """dx/da / (1 - x) for beta numbers of the parameters a and total - a, the latter held fixed.

    psi: digamma(a) - digamma(total)
    """
    x, a, total, psi = (np.broadcast_to(np.asarray(v, np.float64), out.shape)
                        for v in (x, a, total, psi))
    b = total - a
    with np.errstate(all="ignore"):
        valid = (a > 0) & (b > 0) & (x > 0) & (x < 1)
        # With little on the other side the series below converges slowly near 1.
        below = valid & (x * total <= a) & ((x < 0.9) | (b >= 1))
        made = np.where(x == 0, 0.0, np.where(x == 1, 1 / b, np.nan))
        for chosen, function in ((below, _beta_below), (valid & ~below, _beta_above)):
            if chosen.any():
                made[chosen] = function(x[chosen], a[chosen], b[chosen], psi[chosen])
    out[...] = made


def _beta_below(x: Any, a: Any, b: Any, psi: Any) -> Any:
    whole, weighted = _sums(1 / a, lambda k: (
        x * (a + b + k - 1) / (a + k), 1 / (a + k) - (0 if not k else 1 / (a + b + k - 1))))
    return x * (weighted - whole * (np.log(x) - psi))


def _beta_above(x: Any, a: Any, b: Any, psi: Any) -> Any:
    y = 1 - x
    whole, weighted = _sums(1 / b, lambda k: (
        y * (a + b + k - 1) / (b + k), 0 * y if not k else 1 / (a + b + k - 1)))
    return x * (weighted + whole * (np.log(x) - psi))


__all__ = ["beta_slope", "gamma_slope"]
