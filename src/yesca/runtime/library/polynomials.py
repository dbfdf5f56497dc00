"""Orthogonal polynomials, zeta and the incomplete gamma functions on NumPy arrays.

The result comes first, for the operands may be numbers.

Polynomials go by their three-term recurrences (DLMF 18.9), as far as the largest degree asks.
The incomplete gamma functions are a series below and a continued fraction above x = a + 1
(DLMF 8.7.1, 8.9.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

#: Degree from which Hermite polynomials are NaN, by item size: they would overflow.
_HERMITE_LIMIT = {4: 128, 8: 512}
_STEPS = 4000

#: first(x), and next(k, x, p[k], p[k - 1]) = p[k + 1]
RULES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "chebyshev_t": (lambda x: x, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_u": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_v": (lambda x: 2 * x - 1, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_w": (lambda x: 2 * x + 1, lambda k, x, p, q: 2 * x * p - q),
    "hermite_h": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
    "hermite_he": (lambda x: x, lambda k, x, p, q: x * p - k * q),
    "laguerre_l": (lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_p": (lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}


def polynomial(out: Any, x: Any, n: Any, *, kind: str, shifted: bool) -> None:
    """The polynomial of degree n (cut to an integer; below 0: 0) at x."""
    kept = out.dtype.itemsize
    wide = np.broadcast_to(np.asarray(x, np.float64), out.shape)
    wide = 2 * wide - 1 if shifted else wide
    degree = np.broadcast_to(np.trunc(np.asarray(n, np.float64)), out.shape)
    first, following = RULES[kind]
    before, now = np.ones(out.shape), first(wide)
    made = np.where(degree == 0, before, np.where(degree == 1, now, 0.0))
    with np.errstate(all="ignore"):
        for k in range(1, int(np.max(degree, initial=0))):
            before, now = now, following(k, wide, now, before)
            made = np.where(degree == k + 1, now, made)
        if kind.startswith("hermite"):
            made = np.where(degree > _HERMITE_LIMIT[max(kept, 4)], np.nan, made)
        out[...] = made


def incomplete_gamma(out: Any, a: Any, x: Any, lead: Any, *, upper: bool) -> None:
    """P(a, x), or Q(a, x) = 1 - P. lead: x^a exp(-x) / gamma(a + 1)."""
    a, x, lead = (np.broadcast_to(np.asarray(v, np.float64), out.shape) for v in (a, x, lead))
    with np.errstate(all="ignore"):
        valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        below = x < a + 1
        low = lead * _series(np.where(valid & below, a, 1), np.where(valid & below, x, 0))
        high = lead * a * _fraction(np.where(valid & ~below, a, 1),
                                    np.where(valid & ~below, x, 3))
        share = np.where(below, low, 1 - high)
        rest = np.where(below, 1 - low, high)
        made = rest if upper else share
        made = np.where(valid, made, _limits(a, x, upper))
    out[...] = made


def _limits(a: Any, x: Any, upper: bool) -> Any:
    """At the ends of the domain; NaN outside of it."""
    share = np.where((a == 0) & (x > 0) | (x == np.inf) & (a < np.inf), 1.0, np.where(
        (x == 0) & (a > 0) | (a == np.inf) & (x < np.inf), 0.0, np.nan))
    share = np.where((a < 0) | (x < 0), np.nan, share)
    return 1 - share if upper else share


def _series(a: Any, x: Any) -> Any:
    """1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..."""
    term = total = np.ones_like(x)
    for k in range(1, _STEPS):
        term = term * x / (a + k)
        total = total + term
        if not (term > total * 1e-17).any():
            break
    return total


def _fraction(a: Any, x: Any) -> Any:
    """Lentz's evaluation of 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))."""
    b = x + 1 - a
    c = np.full_like(x, 1e300)
    d = 1 / b
    made = d
    for k in range(1, _STEPS):
        factor = -k * (k - a)
        b = b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        made = made * c * d
        if not (np.abs(c * d - 1) > 1e-16).any():
            break
    return made



# ---- zeta --------------------------------------------------------------------------------------

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
              43867 / 798, -174611 / 330)


def zeta(out: Any, x: Any, q: Any) -> None:
    """Hurwitz's zeta function by Euler and Maclaurin's formula (DLMF 25.11.43)."""
    x, q = (np.broadcast_to(np.asarray(v, np.float64), out.shape) for v in (x, q))
    with np.errstate(all="ignore"):
        valid = (x > 1) & ((q > 0) | (q != np.floor(q)) & (x == np.floor(x)))
        s, a = np.where(valid, x, 2.0), np.where(valid, q, 1.0)
        least = np.min(a, initial=1.0, where=np.isfinite(a))
        count = min(_STEPS, max(12, 12 - int(np.floor(least))))
        total = np.zeros(out.shape)
        for k in range(count):
            total = total + (a + k) ** -s
        end = a + count
        last = end ** -s
        total = total + last * end / (s - 1) + 0.5 * last
        factor, down = s, last / end
        for j, number in enumerate(_BERNOULLI, start=1):
            total = total + factor * down * (number / math.factorial(2 * j))
            factor = factor * (s + 2 * j - 1) * (s + 2 * j)
            down = down / (end * end)
        made = np.where(valid, total, np.nan)
        made = np.where((x > 1) & (q <= 0) & (q == np.floor(q)), np.inf, made)
        out[...] = np.where(x == 1, np.inf, made)


def second_first(out: Any, second: Any, first: Any, *, function: str, **options: Any) -> None:
    """A function whose first operand is the number."""
    globals()[function](out, first, second, **options)
