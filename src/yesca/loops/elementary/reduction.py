"""Reduction of an angle to within an eighth of a turn of a multiple of a quarter turn.

`reduce(x)` gives x = high + low + n pi / 2 with |high| <= pi / 4 or very little more.

float32, in float64: x / (2 pi) modulo 1, with 1 / (2 pi) cut into pieces of 29 bits. The product of
a float32 number with a piece is exact, so whole turns can be dropped after each, for every finite
x.

float64, below 2**40: x - n pi / 2 in steps with fma, the first of which is exact. Above: x / (2 pi)
modulo 1 again, from the five pieces of 53 bits that matter for the size of x, the products in two
parts. Bits above them give whole turns, bits below less than 2**-107 turns; so the result is as
good as for small x unless x is within about 2**-50 of a multiple of pi / 2.
"""

from __future__ import annotations

import math
from functools import cache

from ...core.dtypes import float32, float64, int32, int64
from ..ir import Expr, bitcast, cast, const, operate
from ..scalar import fma, where
from .support import SINGLE, absolute, format_of, two_product

#: 1 / (2 pi): five pieces of 29 bits, and the rest
TURN_PIECES = tuple(float.fromhex(piece) for piece in (
    "0x1.45f306d000000p-3", "0x1.9391054000000p-32", "0x1.4fe13ab000000p-61",
    "0x1.d1f534d000000p-90", "0x1.b81b6c5000000p-119", "0x1.5993c439041fep-150"))
HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
TWO_PI = (6.283185307179586, 2.4492935982947064e-16)
MAGIC = 1.5 * 2.0**52  # a number of up to 51 bits added to it stands in its lowest bits
LARGE = 40  # float64 numbers from 2**LARGE on take the long way,
SPAN = 106  # in groups of SPAN binary orders of magnitude,
COUNT = 5  # with COUNT pieces each
DOWN = 600  # x is scaled by 2**-DOWN and the pieces by 2**DOWN, to stay in range
INVERSE_BITS = 1400
#: 2**INVERSE_BITS / (2 pi)
INVERSE = int(
    "28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909374b8"
    "01924bba827464873f877ac72c4a69cfba208d7d4baed1213a671c09ad17df904e64758e60d4ce7d"
    "272117e2ef7e4a0ec7fe25fff7816603fbcbc462d6829b47db4d9fb3c9f2c26dd3d18fd9a797fa8b"
    "5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e357421580cc11bf1edaeafc33ef0826bd0d87"
    "6a78e45857b986c219666157c5281a", 16)


def _reduce_single(x: Expr) -> tuple[Expr, Expr, Expr]:
    wide = cast(x, float64)
    fraction = wide * TURN_PIECES[0]
    fraction = fraction - operate("round", fraction)
    for piece in TURN_PIECES[1:-1]:
        fraction = fma(wide, piece, fraction)
        fraction = fraction - operate("round", fraction)
    shifted = fma(fraction, 4.0, MAGIC)
    rest = fma(shifted - MAGIC, -0.25, fraction)
    r = fma(wide, TURN_PIECES[-1], rest) * (2 * math.pi)
    high = cast(r, float32)
    low = cast(r - cast(high, float64), float32)
    return high, low, cast(bitcast(shifted, int64), int32)


def _reduce_moderate(x: Expr) -> tuple[Expr, Expr, Expr]:
    first, second, third = HALF_PI_PARTS
    shifted = fma(x, 2 / math.pi, MAGIC)
    n = shifted - MAGIC
    r = fma(n, -first, x)
    product, error = two_product(n, second)
    high = r - product
    low = ((r - high) - product) - fma(n, third, error)
    return high, low, bitcast(shifted, int64)


@cache
def large_pieces() -> tuple[tuple[float, ...], ...]:
    """For each group of exponents the pieces of 2**DOWN / (2 pi)."""
    groups = []
    for lowest in range(LARGE, 1024, SPAN):
        ends = [lowest - 52 + 53 * (i + 1) for i in range(COUNT)]  # binary places
        groups.append(tuple(
            math.ldexp(INVERSE >> (INVERSE_BITS - end) & ((1 << 53) - 1), DOWN - end)
            for end in ends))
    return tuple(groups)


def _sum_of_turns(x: Expr) -> tuple[Expr, Expr]:
    """x / (2 pi) modulo 1 as a sum of two numbers, for |x| >= 2**LARGE."""
    size = absolute(x)
    groups = large_pieces()
    pieces = [const(piece, x.dtype) for piece in groups[0]]
    for k, group in enumerate(groups[1:], 1):
        above = size >= 2.0 ** (LARGE + SPAN * k)
        pieces = [where(above, new, old) for new, old in zip(group, pieces, strict=True)]
    scaled = x * 2.0**-DOWN
    total: Expr | None = None
    rest: Expr = const(0.0, x.dtype)
    for term in (part for piece in pieces for part in two_product(scaled, piece)):
        term = term - operate("round", term)
        if total is None:
            total = term
            continue
        larger = total + term
        part = larger - total
        rest = rest + ((total - (larger - part)) + (term - part))
        total = larger
    assert total is not None
    return total, rest


def _reduce_large(x: Expr) -> tuple[Expr, Expr, Expr]:
    total, rest = _sum_of_turns(x)
    shifted = fma(total, 4.0, MAGIC)
    near = fma(shifted - MAGIC, -0.25, total)
    turns = near + rest
    turns_low = rest - (turns - near)
    high, low = two_product(turns, TWO_PI[0])
    low = fma(turns, TWO_PI[1], fma(turns_low, TWO_PI[0], low))
    return high, low, bitcast(shifted, int64)


def reduce(x: Expr) -> tuple[Expr, Expr, Expr]:
    """(high, low, n) with x = high + low + n pi / 2; n modulo 4 in its lowest bits."""
    if format_of(x) is SINGLE:
        return _reduce_single(x)
    large = absolute(x) >= 2.0**LARGE
    high, low, n = (where(large, a, b) for a, b in
                    zip(_reduce_large(x), _reduce_moderate(x), strict=True))
    return high, low, n
