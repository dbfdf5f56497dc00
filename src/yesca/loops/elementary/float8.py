"""Conversions between float32 and floats of 8 bits, by integer arithmetic.

In kernels a float of 8 bits is its byte. `widened` and `narrowed` are what a cast from and to it
means; every other operation on it is one of float32 between the two. Rounding is to nearest, ties
to even. `core.small_floats` has the formats, and the same conversions of one number.
"""

from __future__ import annotations

import struct

from ...core.dtypes import (
    DType, float4_e2m1fn_x2, float8_e8m0fnu, float32, int32, uint8,
)
from ...core.small_floats import FORMATS, SmallFormat, code_of
from ..ir import Expr, bitcast, cast, const
from ..scalar import where

_INFINITY, _NAN = 0x7F800000, 0x7FC00000  # bits of float32
_FRACTION, _BIAS = 23, 127  # its format


def widened(x: Expr) -> Expr:
    """The float32 value of a float of 8 bits: exact."""
    _refuse_packed(x.dtype)
    code = cast(bitcast(x, uint8), int32)
    if x.dtype is float8_e8m0fnu:
        made = where(code.eq(0), 1 << (_FRACTION - 1), code << _FRACTION)  # 2**-127 is subnormal
        return bitcast(where(code.eq(0xFF), _NAN, made), float32)
    form = FORMATS[x.dtype]
    size = code & 0x7F
    normal = (size << (_FRACTION - form.fraction)) + ((_BIAS - form.bias) << _FRACTION)
    # By a multiplication, so that no subnormal of float32 comes up, which some flush to zero.
    small = bitcast(cast(size, float32) * form.smallest, int32)
    made = where(size < (1 << form.fraction), small, normal)
    if form.unsigned_zero:
        made = where(code.eq(form.nan), _NAN, made)
    else:
        made = where(size > form.largest, _NAN, made)
        if form.over > form.largest:
            made = where(size.eq(form.over), _INFINITY, made)
    return bitcast(made | ((code & 0x80) << 24), float32)


def narrowed(x: Expr, dtype: DType) -> Expr:
    """A float32 value rounded to a float of 8 bits."""
    _refuse_packed(dtype)
    bits = bitcast(x, int32)
    size = bits & 0x7FFFFFFF
    code = _power(size) if dtype is float8_e8m0fnu else _rounded(bits, size, FORMATS[dtype])
    return bitcast(cast(code, uint8), dtype)


def _rounded(bits: Expr, size: Expr, form: SmallFormat) -> Expr:
    lost = _FRACTION - form.fraction
    to_even = ((size >> lost) & 1) + ((1 << (lost - 1)) - 1 - ((_BIAS - form.bias) << _FRACTION))
    normal = (size + to_even) >> lost
    # A float32 whose last bit counts smallest numbers rounds a sum to them.
    magic = form.smallest * 2.0 ** _FRACTION
    small = bitcast(bitcast(size, float32) + magic, int32) - _bits(magic)
    least = _bits(2.0 ** (1 - form.bias))
    code = where(size < least, small, normal)
    code = where(code > form.largest, form.over, code)
    code = where(size > _INFINITY, form.nan, code)
    sign = (bits >> 24) & 0x80
    return where(code.eq(0), 0, code | sign) if form.unsigned_zero else code | sign


def _power(size: Expr) -> Expr:
    """The nearest power of two: half way is up, but for subnormal numbers."""
    exponent, rest = size >> _FRACTION, size & 0x7FFFFF
    half = 1 << (_FRACTION - 1)
    up = (rest > half) | (rest.eq(half) & (exponent > 0))
    return where(size >= _INFINITY, 0xFF, exponent + cast(up, int32))


def constant(value: float, dtype: DType) -> Expr:
    """A constant of a dtype of 8 bits, as its byte."""
    code = 0 if dtype is float4_e2m1fn_x2 and not value else code_of(value, _refuse_packed(dtype))
    return bitcast(const(code, uint8), dtype)


def _refuse_packed(dtype: DType) -> DType:
    if dtype is float4_e2m1fn_x2:
        raise NotImplementedError("\"copy_\" not implemented for 'Float4_e2m1fn_x2'")
    return dtype


def _bits(value: float) -> int:
    return struct.unpack("i", struct.pack("f", value))[0]  # type: ignore[no-any-return]


__all__ = ["constant", "narrowed", "widened"]
