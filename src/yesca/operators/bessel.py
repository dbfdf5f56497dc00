"""Bessel functions of order 0 and 1, modified ones, the Airy function: bodies and records.

Near the origin: a Chebyshev series, for the functions of the second kind of what is left without
logarithm and pole. Beyond: Hankel's expansion, sqrt(2 / (pi x)) (P cos - Q sin), whose P and Q are
Chebyshev series too (Abramowitz and Stegun, chapters 9 and 10). All is computed in float64.
"""

# Names: i0 special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
# Names: special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1
# Names: special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0
# Names: special_scaled_modified_bessel_k1 special_spherical_bessel_j0

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..core.dtypes import (
    FLOATING, SCALAR_NAMES, DType, bfloat16, default_for, float16, float64,
)
from ..loops.ir import Expr, cast, const
from ..loops.scalar import absolute, cos, exp, isnan, log, maximum, minimum, sin, sqrt, where
from . import bessel_tables as tables
from .kinds import elementwise

Body = Callable[..., Expr]


def widened(body: Body) -> Body:
    """The body in float64, its result in the dtype that came."""
    @functools.wraps(body)
    def function(*values: Expr) -> Expr:
        return cast(body(*(cast(v, float64) for v in values)), values[0].dtype)
    return function


def series(table: tuple[float, ...], t: Expr) -> Expr:
    """A Chebyshev series at t in [-1, 1], by Clenshaw's recurrence."""
    before: Expr = const(0.0, t.dtype)
    last: Expr = const(0.0, t.dtype)
    double = t + t
    for c in reversed(table[1:]):
        before, last = last, double * last - before + c
    return t * last - before + table[0]


def _on(x: Expr, low: float, high: float) -> Expr:
    """x in [low, high] (and what lies outside, at the ends) as t in [-1, 1]."""
    inside = minimum(maximum(x, low), high)
    return (inside - (low + high) / 2) * (2 / (high - low))


# ---- J and Y -----------------------------------------------------------------------------------

def _hankel(order: int, a: Expr) -> tuple[Expr, Expr]:
    """J and Y for a >= 8; the angle is a - pi / 4, less pi / 2 for order 1."""
    share = 8.0 / a
    u = _on(share * share, 0.0, 1.0)
    p = series((tables.P0, tables.P1)[order], u)
    q = series((tables.Q0, tables.Q1)[order], u) * share
    sine, cosine = sin(a), cos(a)
    size = sqrt(1.0 / (math.pi * a))
    down, up = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)
    return size * (p * down - q * up), size * (p * up + q * down)


def _bessel_j(order: int) -> Body:
    @widened
    def body(x: Expr) -> Expr:
        a = absolute(x)
        near = series((tables.J0, tables.J1)[order], _on(a * a, 0.0, 64.0))
        far = where(a.eq(math.inf), 0.0, _hankel(order, maximum(a, 8.0))[0])
        if order == 1:
            near, far = near * x, where(x < 0, -far, far)
        return where(isnan(x), x, where(a <= 8.0, near, far))
    return body


def _bessel_y(order: int) -> Body:
    first = _bessel_j(order)

    @widened
    def body(x: Expr) -> Expr:
        near = series((tables.Y0, tables.Y1)[order], _on(x * x, 0.0, 64.0))
        logarithm = (2 / math.pi) * log(x) * first(x)
        near = near + logarithm if order == 0 else near * x + (logarithm - (2 / math.pi) / x)
        far = where(x.eq(math.inf), 0.0, _hankel(order, maximum(x, 8.0))[1])
        made = where(x <= 8.0, near, far)
        return where(x.eq(0), -math.inf, where(x < 0, math.nan, made))
    return body


bessel_j0, bessel_j1 = _bessel_j(0), _bessel_j(1)
bessel_y0, bessel_y1 = _bessel_y(0), _bessel_y(1)


# ---- I and K -----------------------------------------------------------------------------------

def _scaled_i(order: int) -> Body:
    """exp(-|x|) I(x)."""
    @widened
    def body(x: Expr) -> Expr:
        a = absolute(x)
        near = series((tables.I0, tables.I1)[order], _on(a, 0.0, 8.0))
        beyond = maximum(a, 8.0)
        far = series((tables.I0_TAIL, tables.I1_TAIL)[order], _on(8.0 / beyond, 0.0, 1.0)) \
            / sqrt(beyond)
        if order == 1:
            near, far = near * x, where(x < 0, -far, far)
        return where(isnan(x), x, where(a <= 8.0, near, far))
    return body


def _unscaled(scaled: Body) -> Body:
    """Times exp(|x|), in two steps so that it overflows no sooner than the product."""
    @widened
    def body(x: Expr) -> Expr:
        half = exp(absolute(x) * 0.5)
        return scaled(x) * half * half
    return body


i0e, i1e = _scaled_i(0), _scaled_i(1)
i0, i1 = _unscaled(i0e), _unscaled(i1e)


def _scaled_k(order: int, scaled: bool) -> Body:
    """K(x), or exp(x) K(x)."""
    first = (i0, i1)[order]

    @widened
    def body(x: Expr) -> Expr:
        small = minimum(x, 2.0)
        near = series((tables.K0, tables.K1)[order], _on(small * small, 0.0, 4.0))
        logarithm = log(small * 0.5) * first(small)
        near = near - logarithm if order == 0 else near / small + logarithm
        beyond = maximum(x, 2.0)
        far = series((tables.K0_TAIL, tables.K1_TAIL)[order], _on(2.0 / beyond, 0.0, 1.0)) \
            / sqrt(beyond)
        near, far = (near * exp(small), far) if scaled else (near, far * exp(-beyond))
        made = where(x <= 2.0, near, far)
        made = where(x.eq(0), math.inf, where(x < 0, math.nan, made))
        return where(isnan(x), x, made)
    return body


# ---- Airy --------------------------------------------------------------------------------------

@widened
def airy_ai(x: Expr) -> Expr:
    """Ai: a series on [-6, 2], a wave below, exp(-zeta) above; zeta = 2/3 |x|^1.5."""
    middle = series(tables.AIRY, _on(x, -6.0, 2.0))
    above = maximum(x, 2.0)
    zeta = above * sqrt(above) * (2 / 3)
    tail = series(tables.AIRY_TAIL, _on(1.8 / zeta, 0.0, 1.0)) * exp(-zeta) \
        / (2 * math.sqrt(math.pi) * sqrt(sqrt(above)))
    below = maximum(-x, 6.0)
    phase = below * sqrt(below) * (2 / 3)
    share = 9.0 / phase
    u = _on(share * share, 0.0, 1.0)
    sine, cosine = sin(phase), cos(phase)
    p, q = series(tables.AIRY_P, u), series(tables.AIRY_Q, u) * share
    wave = (p * (cosine + sine) + q * (sine - cosine)) / (
        math.sqrt(2 * math.pi) * sqrt(sqrt(below)))
    made = where(x > 2.0, tail, where(x < -6.0, wave, middle))
    made = where(x.eq(math.inf), 0.0, made)
    return where(isnan(x) | x.eq(-math.inf), math.nan, made)


@widened
def spherical_bessel_j0(x: Expr) -> Expr:
    """sin(x) / x."""
    still = x.eq(0)
    made = where(still, 1.0, sin(x) / where(still, 1.0, x))
    return where(absolute(x).eq(math.inf), 0.0, made)


# ---- records -----------------------------------------------------------------------------------

def special(name: str, body: Body, doc: str, halves: bool = False, **options: Any) -> Any:
    """A function of one float; integers are computed in the default dtype.

    halves: whether it takes half types, as only some of PyTorch's do.
    """
    kernel = f"{name.removeprefix('special_')}_cpu"

    def dtype(promoted: DType, values: Any) -> tuple[DType, DType]:
        made = promoted if promoted.category >= FLOATING else default_for(FLOATING)
        if made in (float16, bfloat16) and not halves:
            raise NotImplementedError(f'"{kernel}" not implemented for \'{SCALAR_NAMES[made]}\'')
        return made, made

    return elementwise(f"{name}(Tensor self) -> Tensor", body, dtype=dtype, doc=doc,
                       kernel=kernel, **{"method": False, "inplace": False, **options})


def _over(value: Expr, x: Expr, limit: float) -> Expr:
    """value / x, and its limit at 0."""
    return where(x.eq(0), limit, value / where(x.eq(0), 1.0, x))


def _sign(x: Expr) -> Expr:
    return where(x < 0, const(-1.0, x.dtype), where(x > 0, const(1.0, x.dtype), 0.0))


special("i0", i0, "The modified Bessel function of order 0.", halves=True, method=True,
        inplace=True, backward={"self": lambda grad, self: grad * i1(self)})
special("special_i0e", i0e, "exp(-|self|) i0(self).", halves=True,
        backward={"self": lambda grad, self, result: grad * (
            i1e(self) - _sign(self) * result)})
special("special_i1", i1, "The modified Bessel function of order 1.", halves=True,
        backward={"self": lambda grad, self, result: grad * (
            i0(self) - _over(result, self, 0.5))})
special("special_i1e", i1e, "exp(-|self|) i1(self).", halves=True,
        backward={"self": lambda grad, self, result: grad * where(
            self.eq(0), 0.5, i0e(self) - result * (_sign(self) + _over(
                const(1.0, self.dtype), self, 0.0)))})
for _name, _body, _doc in (
        ("bessel_j0", bessel_j0, "Bessel's function of the first kind of order 0."),
        ("bessel_j1", bessel_j1, "Bessel's function of the first kind of order 1."),
        ("bessel_y0", bessel_y0, "Bessel's function of the second kind of order 0."),
        ("bessel_y1", bessel_y1, "Bessel's function of the second kind of order 1."),
        ("modified_bessel_i0", i0, "The modified function of the first kind of order 0."),
        ("modified_bessel_i1", i1, "The modified function of the first kind of order 1."),
        ("modified_bessel_k0", _scaled_k(0, False), "The second kind of order 0."),
        ("modified_bessel_k1", _scaled_k(1, False), "The second kind of order 1."),
        ("scaled_modified_bessel_k0", _scaled_k(0, True), "exp(self) times that of order 0."),
        ("scaled_modified_bessel_k1", _scaled_k(1, True), "exp(self) times that of order 1."),
        ("airy_ai", airy_ai, "The Airy function Ai."),
        ("spherical_bessel_j0", spherical_bessel_j0, "sin(self) / self.")):
    special(f"special_{_name}", _body, _doc)

__all__ = ["series", "special", "widened"]
