"""The Chebyshev tables of `yesca.operators.bessel_tables`, computed again.

    python tools/special_tables.py            print the module
    python tools/special_tables.py --check    compare it with the package's

Needs mpmath. Each function is smooth in the variable it is expanded in; a series ends where its
coefficients fall below 2**-56 of the largest.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]
POINTS = 96
RATE = mp.mpf(5) / 16
TARGET = Path(__file__).parents[1] / "src" / "yesca" / "operators" / "bessel_tables.py"
HEAD = '''"""Chebyshev coefficients of Bessel and Airy functions, by tools/special_tables.py.

The first coefficient is halved already. The variable of each expansion stands in
`special_functions.py`, where it is used.
"""

'''


def chebyshev(function: Function, low: object, high: object) -> list[float]:
    """Coefficients of the interpolant in Chebyshev's points."""
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2  # type: ignore[operator]
    angles = [mp.pi * (k + mp.mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [function(middle + half * mp.cos(a)) for a in angles]
    found = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / POINTS
             for j in range(POINTS // 2)]
    found[0] /= 2
    largest = max(map(abs, found))
    while abs(found[-1]) < largest * mp.mpf(2) ** -56:
        found.pop()
    return [float(c) for c in found]


def rotated(order: int, part: str) -> Function:
    """P (even in 1/x) and Q (odd, times x / 8) of Hankel's expansion, in u = (8 / x)**2."""
    def function(u: mp.mpf) -> mp.mpf:
        x = 8 / mp.sqrt(u)
        angle = x - mp.pi / 4 - order * mp.pi / 2
        size = mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        if part == "P":
            return size * (j * mp.cos(angle) + y * mp.sin(angle))
        return size * (y * mp.cos(angle) - j * mp.sin(angle)) * x / 8

    return function


def second_kind(order: int) -> Function:
    """What is left of Y without its logarithm and pole, in z = x**2."""
    def function(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        whole = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return whole if order == 0 else (whole + 2 / (mp.pi * x)) / x

    return function


def modified_second_kind(order: int) -> Function:
    """What is left of K without its logarithm, times x for order 1, in z = x**2."""
    def function(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        sign = 1 if order == 0 else -1
        whole = mp.besselk(order, x) + sign * mp.log(x / 2) * mp.besseli(order, x)
        return whole if order == 0 else whole * x

    return function


def airy_wave(part: str) -> Function:
    """As `rotated`, for Ai(-x) beyond 6, in u = (9 / zeta)**2, zeta = 2/3 x**1.5."""
    def function(u: mp.mpf) -> mp.mpf:
        zeta = 9 / mp.sqrt(u)
        x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
        size = mp.sqrt(mp.pi) * x ** mp.mpf("0.25")
        a, b = mp.airyai(-x) * size, mp.airybi(-x) * size
        angle = zeta - mp.pi / 4
        if part == "P":  # Ai ~ cos, Bi ~ -sin of the angle
            return a * mp.cos(angle) - b * mp.sin(angle)
        return (a * mp.sin(angle) + b * mp.cos(angle)) * zeta / 9

    return function


def airy_tail(u: mp.mpf) -> mp.mpf:
    """Ai(x) without its exponential, in u = 1.8 / zeta."""
    zeta = mp.mpf("1.8") / u
    x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** mp.mpf("0.25") * mp.exp(zeta)


def scaled_erfc(u: mp.mpf) -> mp.mpf:
    """exp(a**2) erfc(a) (1 + RATE a), in u = 1 / (1 + RATE a)."""
    a = (1 / u - 1) / RATE
    return mp.exp(a * a) * mp.erfc(a) / u


def tables() -> dict[str, list[float]]:
    made: dict[str, list[float]] = {}
    for n in (0, 1):
        made[f"J{n}"] = chebyshev(
            lambda z, n=n: mp.besselj(n, mp.sqrt(z)) / mp.sqrt(z) ** n, 0, 64)  # type: ignore
        made[f"Y{n}"] = chebyshev(second_kind(n), 0, 64)
        made[f"P{n}"] = chebyshev(rotated(n, "P"), 0, 1)
        made[f"Q{n}"] = chebyshev(rotated(n, "Q"), 0, 1)
        made[f"I{n}"] = chebyshev(
            lambda x, n=n: mp.exp(-x) * mp.besseli(n, x) / x**n, 0, 8)  # type: ignore
        made[f"I{n}_TAIL"] = chebyshev(
            lambda v, n=n: mp.sqrt(8 / v) * mp.exp(-8 / v) * mp.besseli(n, 8 / v),  # type: ignore
            0, 1)
        made[f"K{n}"] = chebyshev(modified_second_kind(n), 0, 4)
        made[f"K{n}_TAIL"] = chebyshev(
            lambda v, n=n: mp.sqrt(2 / v) * mp.exp(2 / v) * mp.besselk(n, 2 / v),  # type: ignore
            0, 1)
    made["ERFCX"] = chebyshev(scaled_erfc, 0, 1)
    made["AIRY"] = chebyshev(mp.airyai, -6, 2)
    made["AIRY_TAIL"] = chebyshev(airy_tail, 0, 1)
    made["AIRY_P"] = chebyshev(airy_wave("P"), 0, 1)
    made["AIRY_Q"] = chebyshev(airy_wave("Q"), 0, 1)
    return made


def module() -> str:
    mp.mp.dps = 40
    lines = []
    for name, numbers in tables().items():
        inside = textwrap.wrap(", ".join(map(repr, numbers)), 96)
        lines += [f"{name} = (", *(f"    {line}" for line in inside)]
        lines[-1] += ")"
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = module()
    if "--check" in sys.argv:
        sys.exit(0 if text == TARGET.read_text(encoding="utf-8") else "the tables differ")
    print(text, end="")
