"""The coefficient tables of `yesca.loops.elementary`, computed again.

    python tools/elementary_tables.py                 compare every table with the package's
    python tools/elementary_tables.py EXP_SINGLE      print one

Needs mpmath. Each entry of `FITS` gives the module, and the coefficients from `minimax.rounded`.
A *split* fit keeps the first coefficient apart: its rounded value stands first, then a polynomial
for what is left, whose own first coefficient makes up for that rounding.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import mpmath as mp
from minimax import Function, round_to, rounded

NEAR_ZERO = mp.mpf("1e-9")
LN2, SQRT2 = mp.log(2), mp.sqrt(2)
Fit = Callable[[], list[mp.mpf]]


def fit(g: Function, degree: int, a: object, b: object, weight: Function | None = None,
        bits: int = 24, keep: int = 3) -> Fit:
    return lambda: rounded(g, degree, a, b, weight, bits, keep=keep)[0]  # type: ignore[arg-type]


def split(g: Function, at: object, degree: int, a: object, b: object, weight: Function,
          bits: int = 24, keep: int = 3) -> Fit:
    def compute() -> list[mp.mpf]:
        first = round_to(g(mp.mpf(at)), bits)  # type: ignore[arg-type]
        return [first, *rounded(lambda x: g(x) - first, degree, a, b,  # type: ignore[arg-type]
                                weight, bits, keep=keep)[0]]

    return compute


def series(function: Function, order: int, terms: list[object], limit: object) -> Function:
    """(function(x) - its first terms) / x**order, `limit` near 0."""
    def g(x: mp.mpf) -> mp.mpf:
        if abs(x) < mp.mpf("1e-20"):
            return mp.mpf(limit)  # type: ignore[arg-type]
        return (function(x) - mp.fsum(t * x**k for k, t in enumerate(terms))) / x**order

    return g


def odd(function: Function, limit: object) -> tuple[Function, Function]:
    """(function(s) - s) / s**3 in z = s**2, and the weight that makes errors relative."""
    def g(z: mp.mpf) -> mp.mpf:
        s = mp.sqrt(z)
        return (function(s) - s) / s**3 if z > mp.mpf("1e-20") else mp.mpf(limit)  # type: ignore

    return g, lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)) if z else mp.mpf(0)


def exponentials() -> dict[str, Fit]:
    half = LN2 / 2 * mp.mpf("1.0001")
    g = series(mp.exp, 2, [1, 1], 0.5)
    to_exp: Function = lambda r: r**2 / mp.exp(r)
    to_expm1: Function = lambda r: r**2 / abs(mp.expm1(r)) if r else mp.mpf(0)
    two = series(lambda r: mp.mpf(2) ** r, 1, [1], LN2)
    to_two: Function = lambda r: abs(r) / mp.mpf(2) ** r
    edge = mp.mpf("0.50001")
    return {
        "EXP_SINGLE": fit(g, 4, -half, half, to_exp),
        "EXP_DOUBLE": fit(g, 9, -half, half, to_exp, 53),
        "EXPM1_SINGLE": fit(g, 4, -half, half, to_expm1),
        "EXPM1_DOUBLE": fit(g, 10, -half, half, to_expm1, 53),
        "EXP2_SINGLE": fit(two, 5, -edge, edge, to_two),
        "EXP2_DOUBLE": fit(two, 10, -edge, edge, to_two, 53),
    }


def logarithms() -> dict[str, Fit]:
    a, b = mp.sqrt(mp.mpf(0.5)) - 1 - mp.mpf("1e-6"), SQRT2 - 1

    def natural(f: mp.mpf) -> mp.mpf:
        return (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > 1e-12 else mp.mpf(1) / 3 - f / 4

    weight: Function = lambda f: abs(f**3 / mp.log1p(f)) if f else mp.mpf(0)
    found = {"LOG_SINGLE": fit(natural, 7, a, b, weight),
             "LOG_DOUBLE": fit(natural, 18, a, b, weight, 53)}
    for base in (2, 10):
        g = series(lambda f, base=base: mp.log1p(f) / mp.log(base), 1, [], 1 / mp.log(base))
        to_base: Function = lambda f, base=base: (
            abs(f / mp.log1p(f)) * mp.log(base) if f else mp.mpf(1))
        found[f"LOG{base}_SINGLE"] = split(g, 0, 8, a, b, to_base)
        found[f"LOG{base}_DOUBLE"] = split(g, 0, 20, a, b, to_base, 53)
    return found


def circular() -> dict[str, Fit]:
    edge = (mp.pi / 4 * mp.mpf("1.00002")) ** 2
    sine, to_sine = odd(mp.sin, mp.mpf(-1) / 6)
    tangent, to_tangent = odd(mp.tan, mp.mpf(1) / 3)
    arcsine, to_arcsine = odd(mp.asin, mp.mpf(1) / 6)
    arctangent, to_arctangent = odd(mp.atan, mp.mpf(-1) / 3)

    def cosine(z: mp.mpf) -> mp.mpf:
        return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > mp.mpf("1e-20") else mp.mpf(1) / 24

    to_cosine: Function = lambda z: z**2 / mp.cos(mp.sqrt(z))
    quarter = mp.mpf("0.25001")
    return {
        "SIN_SINGLE": fit(sine, 2, NEAR_ZERO, edge, to_sine),
        "SIN_DOUBLE": fit(sine, 5, NEAR_ZERO, edge, to_sine, 53),
        "COS_SINGLE": fit(cosine, 2, NEAR_ZERO, edge, to_cosine),
        "COS_DOUBLE": fit(cosine, 5, NEAR_ZERO, edge, to_cosine, 53),
        "TAN_SINGLE": fit(tangent, 6, NEAR_ZERO, edge, to_tangent),
        "TAN_DOUBLE": fit(tangent, 14, NEAR_ZERO, edge, to_tangent, 53),
        "ASIN_SINGLE": fit(arcsine, 4, NEAR_ZERO, quarter, to_arcsine),
        "ASIN_DOUBLE": fit(arcsine, 12, NEAR_ZERO, quarter, to_arcsine, 53),
        "ATAN_SINGLE": fit(arctangent, 8, NEAR_ZERO, 1, to_arctangent),
        "ATAN_DOUBLE": fit(arctangent, 20, NEAR_ZERO, 1, to_arctangent, 53),
    }


def hyperbolics() -> dict[str, Fit]:
    sine, to_sine = odd(mp.sinh, mp.mpf(1) / 6)
    half = LN2 / 4 * mp.mpf("1.0001")
    g = series(lambda r: mp.expm1(2 * r), 2, [0, 2], 2)
    weight: Function = lambda r: r**2 / abs(mp.expm1(2 * r)) if r else mp.mpf(0)
    return {
        "TANH_SINGLE": fit(g, 4, -half, half, weight),
        "SINH_SINGLE": fit(sine, 3, NEAR_ZERO, 1, to_sine),
        "SINH_DOUBLE": fit(sine, 6, NEAR_ZERO, 1, to_sine, 53),
    }


def powers() -> dict[str, Fit]:
    top = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * mp.mpf("1.001")

    def tail(z: mp.mpf) -> mp.mpf:
        if z < mp.mpf("1e-12"):
            return mp.mpf(2) / 5 + 2 * z / 7
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) / s - 2 - 2 * z / 3) / z**2

    a, b = mp.sqrt(mp.mpf(0.5)) - 1 - mp.mpf("1e-6"), SQRT2 - 1
    logarithm = series(lambda f: mp.log1p(f) / LN2, 1, [], 1 / LN2)
    two = series(lambda r: mp.mpf(2) ** r, 1, [1], LN2)
    edge = mp.mpf("0.50001")
    return {
        "LOG_TAIL": fit(tail, 7, NEAR_ZERO, top, lambda z: z * z / 2, 53),
        "LOG2": fit(logarithm, 13, a, b, lambda f: abs(f / mp.log1p(f)) if f else mp.mpf(1), 53),
        "EXP2": fit(two, 6, -edge, edge, lambda r: abs(r) / mp.mpf(2) ** r, 53),
    }


def scaled_erfc(a: mp.mpf) -> mp.mpf:
    """exp(a**2) erfc(a)."""
    if a < 25:
        return mp.exp(a * a) * mp.erfc(a)
    total = term = mp.mpf(1)
    for k in range(1, 80):
        following = -term * (2 * k - 1) / (2 * a * a)
        if abs(following) >= abs(term):
            break
        term = following
        total += term
    return total / (a * mp.sqrt(mp.pi))


def errors() -> dict[str, Fit]:
    from yesca.loops.elementary.error import RATE, TAIL_CENTER

    def minus_log(a: mp.mpf) -> mp.mpf:
        return -mp.log(mp.erfc(a)) / a if a > mp.mpf("1e-20") else 2 / mp.sqrt(mp.pi)

    to_erf: Function = lambda a: a * mp.erfc(a) / mp.erf(a)

    def complement(w: mp.mpf) -> mp.mpf:
        u = w + mp.mpf(0.5)
        return scaled_erfc((1 / u - 1) / mp.mpf(RATE)) / u

    to_complement: Function = lambda w: 1 / complement(w)
    upper = mp.mpf(0.5) / (1 + mp.mpf("1.1e-4"))

    def lower(largest: str) -> mp.mpf:
        return 1 / (1 + mp.mpf(RATE) * mp.mpf(largest)) - mp.mpf(0.5)

    def inverse(w: mp.mpf) -> mp.mpf:
        if w < mp.mpf("1e-15"):
            return mp.sqrt(mp.pi) / 2
        x = mp.sqrt(1 - mp.exp(-w))
        return mp.erfinv(x) / x

    near: Function = lambda t: inverse(t + mp.mpf(2.5))
    tails: list[Function] = [lambda t, c=c: inverse((t + c) ** 2) for c in TAIL_CENTER]

    def center(z: mp.mpf) -> mp.mpf:
        return mp.erfinv(mp.sqrt(z)) / mp.sqrt(z) if z > mp.mpf("1e-20") else mp.sqrt(mp.pi) / 2

    def padded(table: Fit, length: int) -> Fit:
        """Without a low part of the first coefficient, and as long as the other table."""
        return lambda: (lambda c: [c[0], mp.mpf(0), *c[1:]] + [mp.mpf(0)] * (length - len(c)))(
            table())

    below = mp.mpf(-2.5) + mp.mpf("1e-12")
    return {
        "ERF_SINGLE": split(minus_log, 0, 8, NEAR_ZERO, mp.mpf("3.93"), to_erf, keep=2),
        "ERF_DOUBLE": split(minus_log, 0, 24, NEAR_ZERO, mp.mpf("5.95"), to_erf, 53, keep=2),
        "ERFC_SINGLE": split(complement, 0, 10, lower("10.1"), upper, to_complement, keep=4),
        "ERFC_DOUBLE": split(complement, 0, 23, lower("27.5"), upper, to_complement, 53, keep=4),
        "ERFINV_SINGLE": split(near, 0, 9, below, 2.5, lambda t: 1 / near(t)),
        "ERFINV_TAIL_SINGLE": split(tails[0], 0, 9, mp.sqrt(5) - 3, 1, lambda t: 1 / tails[0](t)),
        "ERFINV_DOUBLE": padded(fit(near, 9, mp.mpf(-2.22), 2.5, None, 53), 12),
        "ERFINV_TAIL_DOUBLE": padded(
            fit(tails[1], 11, mp.sqrt(5) - 4, mp.mpf("2.07"), None, 53, keep=1), 12),
        "ERFINV_CENTER": split(center, 0, 13, NEAR_ZERO, mp.mpf("0.25001"),
                               lambda z: 1 / center(z), 53),
    }


def gammas() -> dict[str, Fit]:
    def log_gamma(d: mp.mpf) -> mp.mpf:
        if abs(d) > mp.mpf("1e-15"):
            return mp.loggamma(2 + d) / d
        return 1 - mp.euler + d * (mp.zeta(2) - 1) / 2

    def sine(z: mp.mpf) -> mp.mpf:
        f = mp.sqrt(z)
        return mp.sin(mp.pi * f) / f if z > mp.mpf("1e-20") else +mp.pi

    return {
        "LGAMMA": fit(log_gamma, 18, mp.mpf("-0.50001"), mp.mpf(0.5), None, 53),
        "SIN_PI": fit(sine, 9, NEAR_ZERO, mp.mpf(0.25), None, 53),
    }


FITS: dict[str, Callable[[], dict[str, Fit]]] = {
    "exponential": exponentials, "logarithm": logarithms, "trigonometric": circular,
    "hyperbolic": hyperbolics, "power": powers, "error": errors, "gamma": gammas,
}


def main() -> None:
    for module_name, family in FITS.items():
        module = importlib.import_module(f"yesca.loops.elementary.{module_name}")
        for name, compute in family().items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            table = [float(c) for c in compute()]
            if sys.argv[1:]:
                print(f"{name} = {tuple(table)}")
                continue
            present = list(getattr(module, name))
            largest = max((abs(a - b) / abs(b) for a, b in zip(present, table) if b), default=0.0)
            same = present == table
            print(f"{module_name}.{name}: {'same' if same else f'differs by up to {largest:.2g}'}")


if __name__ == "__main__":
    main()
