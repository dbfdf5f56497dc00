"""fma with one rounding, against rational arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from elementwise import specials
from yesca.loops.exact import fma


def rounded(kind, exact):
    """A rational number rounded to float32 by way of an odd double, or to float64."""
    try:
        value = float(exact)
    except OverflowError:
        return math.copysign(math.inf, 1 if exact > 0 else -1)
    if kind is np.float32 and Fraction(value) != exact:
        bits = np.float64(value).view(np.int64)
        if bits % 2 == 0:
            outward = (Fraction(value) < exact) == (exact > 0)
            value = (bits + (1 if outward else -1)).view(np.float64)
    with np.errstate(over="ignore"):
        return float(kind(value))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_one_rounding(kind):
    random = np.random.default_rng(0)
    a, b = (random.normal(size=2000).astype(kind) for _ in range(2))
    c = (-a * b * (1 + random.choice([0, 1e-7, 1e-16, 0.5, 1e5], 2000))).astype(kind)
    got = fma(a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        assert r == rounded(kind, exact)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_special_values(kind):
    values = [v for v in specials(kind).tolist() if v == v]
    triples = np.array(list(itertools.product(values, values, values)), kind)
    with np.errstate(all="ignore"):
        got = fma(*triples.T)
    for (x, y, z), r in zip(triples.tolist(), got.tolist(), strict=True):
        if not (math.isfinite(x) and math.isfinite(y)):
            expected = x * y + z
        elif not math.isfinite(z):
            expected = z
        else:
            exact = Fraction(x) * Fraction(y) + Fraction(z)
            expected = rounded(kind, exact) if exact else x * y + z
            if exact and not expected:
                expected = math.copysign(0.0, 1 if exact > 0 else -1)
            elif not exact and x and y:
                expected = 0.0  # exact cancellation
        assert (r == expected and math.copysign(1, r) == math.copysign(1, expected)) \
            or (r != r and expected != expected), (x, y, z, r, expected)


def test_integers_wrap():
    x = np.array([2**31 - 1, -3], np.int32)
    assert fma(x, x, x).tolist() == [-2**31, 6]  # (2**31 - 1) 2**31
