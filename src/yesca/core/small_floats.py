"""Floats of 8 bits: what their bits mean.

A format of sign, exponent and fraction is an IEEE format but for its end: "fn" formats have no
infinity, "uz" ones no negative zero either, whose place the only NaN takes. What is too large
becomes infinite, or NaN, or (float8_e4m3fn) the largest number. float8_e8m0fnu is a power of two.
The tables here are made number by number; kernels have `loops.elementary.float8`.

Source: Micikevicius et al., "FP8 Formats for Deep Learning" (2022); OCP Microscaling Formats 1.0.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

from .dtypes import (
    DType, float4_e2m1fn_x2, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz,
    float8_e8m0fnu,
)


@dataclass(frozen=True)
class SmallFormat:
    """A format with a sign bit; codes below are without it."""

    fraction: int  # stored bits of the fraction
    bias: int
    largest: int  # code of the largest finite number
    over: int  # what larger numbers and infinity become
    nan: int  # what NaN becomes
    unsigned_zero: bool = False  # 0x80 is the only NaN

    @property
    def smallest(self) -> float:
        """The least number above zero."""
        return 2.0 ** (1 - self.bias - self.fraction)

    def value(self, code: int) -> float:
        """The number that a byte stands for."""
        size, negative = code & 0x7F, code & 0x80
        if self.unsigned_zero and code == 0x80 or not self.unsigned_zero and size > max(
                self.over, self.largest):
            return math.nan
        if not self.unsigned_zero and size > self.largest:
            return -math.inf if negative else math.inf
        exponent, rest = divmod(size, 1 << self.fraction)
        whole = rest + (1 << self.fraction) if exponent else rest
        made = math.ldexp(whole, max(exponent, 1) - self.bias - self.fraction)
        return -made if negative else made


FORMATS = {
    float8_e4m3fn: SmallFormat(3, 7, 0x7E, 0x7E, 0x7F),
    float8_e5m2: SmallFormat(2, 15, 0x7B, 0x7C, 0x7F),
    float8_e4m3fnuz: SmallFormat(3, 8, 0x7F, 0x80, 0x80, unsigned_zero=True),
    float8_e5m2fnuz: SmallFormat(2, 16, 0x7F, 0x80, 0x80, unsigned_zero=True),
}


@cache
def values(dtype: DType) -> tuple[float, ...]:
    """The number of each byte.

    >>> values(float8_e4m3fn)[0x7E], values(float8_e8m0fnu)[127]
    (448.0, 1.0)
    """
    if dtype is float8_e8m0fnu:
        return (*(2.0 ** (code - 127) for code in range(255)), math.nan)
    return tuple(map(FORMATS[dtype].value, range(256)))


def code_of(number: float, dtype: DType) -> int:
    """The byte that a number (of float32) is rounded to, ties to even.

    >>> code_of(-1.0, float8_e5m2)
    188
    """
    if dtype is float8_e8m0fnu:
        return _exponent(abs(number))
    form = FORMATS[dtype]
    sign = 0 if math.copysign(1.0, number) > 0 else 0x80
    if number != number:
        return form.nan | sign
    size, known = abs(number), values(dtype)
    code = bisect_left(known, size, 0, form.largest + 1)
    if code:
        beyond, below = code > form.largest, code - 1
        above = 2 * known[below] - known[below - 1] if beyond else known[code]
        middle = (known[below] + above) / 2
        if size < middle or size == middle and below % 2 == 0:
            code = below
        elif beyond:
            code = form.over
    return 0 if form.unsigned_zero and not code else code | sign


def _exponent(size: float) -> int:
    """The nearest power of two; what lies in the middle goes up, but for the two least."""
    if not size < math.inf:
        return 255
    least = 2.0 ** -127
    if size <= least:  # subnormal in float32, where a power of two has no tie to even
        return 0
    mantissa, exponent = math.frexp(size)
    code = exponent + 126
    if code < 1:
        return 1
    return code + (mantissa >= 0.75)


def encode(dtype: DType, numbers: list[float]) -> bytes:
    """Numbers of float32 as bytes."""
    if dtype is float4_e2m1fn_x2:
        raise RuntimeError("store_scalar: invalid type: two numbers of float4_e2m1fn_x2 share a "
                           "byte; make bytes of uint8 and view them")
    return bytes(code_of(number, dtype) for number in numbers)


def decode(dtype: DType, raw: bytes) -> list[float]:
    """Bytes as numbers."""
    if dtype is float4_e2m1fn_x2:
        raise NotImplementedError(
            "\"_local_scalar_dense_cpu\" not implemented for 'Float4_e2m1fn_x2': two numbers share "
            "a byte; view them as uint8")
    known = values(dtype)
    return [known[byte] for byte in raw]
