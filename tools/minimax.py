"""Minimax polynomials for `yesca.loops.elementary`, by Remez exchange in mpmath.

`remez(g, degree, a, b, weight)` gives coefficients (lowest first) with the smallest maximum of
|weight(x) * (P(x) - g(x))| on [a, b]. `rounded(...)` makes every coefficient a float of `bits`
bits: one is rounded, the ones above it are fitted again to what is left, and so on; coefficients
given in `fixed` are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.prec = 240
Function = Callable[[mp.mpf], mp.mpf]


def _solve(g: Function, weight: Function, powers: list[int], points: list[mp.mpf]
           ) -> list[mp.mpf]:
    rows, right = mp.matrix(len(points), len(points)), mp.matrix(len(points), 1)
    for i, x in enumerate(points):
        for j, power in enumerate(powers):
            rows[i, j] = x ** power
        rows[i, len(powers)] = (-1) ** i / weight(x)
        right[i] = g(x)
    return list(mp.lu_solve(rows, right))[:len(powers)]


def _value(coefficients: list[mp.mpf], powers: list[int], x: mp.mpf) -> mp.mpf:
    return mp.fsum(c * x ** p for c, p in zip(coefficients, powers, strict=True))


def remez(g: Function, powers: list[int], a: float, b: float, weight: Function,
          rounds: int = 20, grid: int = 24) -> tuple[list[mp.mpf], mp.mpf]:
    """Best coefficients of the given powers of x, and the largest weighted error."""
    count = len(powers) + 1
    a, b = mp.mpf(a), mp.mpf(b) * (1 + mp.mpf('1e-4'))  # no point at a weight of zero
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count))
              for i in range(count)]
    fine = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count * grid))
            for i in range(count * grid)]
    exact = [(x, g(x), weight(x)) for x in fine]
    best: tuple[list[mp.mpf], mp.mpf] = ([], mp.inf)
    for _ in range(rounds):
        coefficients = _solve(g, weight, powers, points)
        errors = [w * (_value(coefficients, powers, x) - y) for x, y, w in exact]
        largest = max(abs(e) for e in errors)
        if largest < best[1]:
            best = (coefficients, largest)
        peaks: list[tuple[mp.mpf, mp.mpf]] = []
        for (x, _, _), error in zip(exact, errors, strict=True):
            if peaks and (error > 0) == (peaks[-1][1] > 0):
                if abs(error) > abs(peaks[-1][1]):
                    peaks[-1] = (x, error)
            else:
                peaks.append((x, error))
        while len(peaks) > count:
            del peaks[0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1]
        if len(peaks) < count:
            break
        points = [x for x, _ in peaks]
        if largest < min(abs(e) for _, e in peaks) * mp.mpf("1.01"):
            break
    return best


def round_to(value: mp.mpf, bits: int) -> mp.mpf:
    """The nearest number of `bits` significant bits."""
    with mp.workprec(bits):
        return +value


def rounded(g: Function, degree: int, a: float, b: float, weight: Function | None = None,
            bits: int = 24, fixed: tuple[float, ...] = (), keep: int = 3
            ) -> tuple[list[mp.mpf], mp.mpf]:
    """Coefficients 0..degree as floats of `bits` bits; the first `keep` are refitted one by one."""
    weight = weight or (lambda x: 1 / abs(g(x)))
    done = [mp.mpf(c) for c in fixed]
    error = mp.inf
    while len(done) <= degree:
        powers = list(range(len(done), degree + 1))
        rest = lambda x: g(x) - _value(done, list(range(len(done))), x)  # noqa: B023, E731
        new, error = remez(rest, powers, a, b, weight)
        if len(done) >= keep + len(fixed):
            done += [round_to(c, bits) for c in new]
        else:
            done.append(round_to(new[0], bits))
    return done, error
