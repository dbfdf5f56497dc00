"""Conversions of half types by integer arithmetic, for CPUs without the instructions.

LLVM calls these by name (`__truncsfhf2` and so on). A compiler's support library may have them,
but which ones depends on the system, so the engine binds its own. All round to nearest, ties to
even, keep NaNs and signs, and overflow to infinity.
"""

from ...targets.native import (
    Unit, bf16, bf16_from_bits, bits_of_f16, bits_of_f64, f16, f16_from_bits, f32, f32_from_bits,
    f64, i64, u16, u32, u64,
)  # fmt: skip

unit = Unit("halves")


_HALF_MANTISSA, _HALF_BIAS = 10, 15
_BFLOAT_MANTISSA, _BFLOAT_BIAS = 7, 127


@unit.function
def narrow(bits: u64, mantissa: i64, bias: i64) -> u16:
    """The bits of a float64 rounded to a 16-bit format."""
    sign = (bits >> 63) << 15
    exponent = i64((bits >> 52) & 2047)
    fraction = bits & 0xFFFFFFFFFFFFF
    infinity = u64(2 * bias + 1) << mantissa
    if exponent == 2047:
        if fraction != 0:
            infinity |= (u64(1) << (mantissa - 1)) | (fraction >> (52 - mantissa))
        return u16(sign | infinity)
    shift = 52 - mantissa
    target = exponent - 1023 + bias
    below = max(1 - target, 0)  # a subnormal result has that many bits less
    shift += below
    if exponent == 0 or shift > 54:
        return u16(sign)
    whole = fraction | (u64(1) << 52)
    kept = whole >> shift
    rest = whole & ((u64(1) << shift) - 1)
    middle = u64(1) << (shift - 1)
    if rest > middle or (rest == middle and (kept & 1) != 0):
        kept += 1
    # The implicit bit, and a carry out of the mantissa, add to the exponent.
    result = kept if below > 0 else kept + (u64(target - 1) << mantissa)
    return u16(sign | min(result, infinity))


@unit.function
def extendhfsf2(value: f16) -> f32:
    """float16 to float32."""
    bits = u32(bits_of_f16(value))
    sign = (bits & 0x8000) << 16
    exponent = (bits >> 10) & 31
    fraction = bits & 1023
    if exponent == 31:
        quiet = u32(0x400000) if fraction != 0 else u32(0)
        return f32_from_bits(sign | 0x7F800000 | quiet | (fraction << 13))
    if exponent == 0:
        small = f32(fraction) * 5.9604644775390625e-08  # 2 ** -24, exact
        return -small if sign != 0 else small
    return f32_from_bits(sign | ((exponent + 112) << 23) | (fraction << 13))


@unit.function
def truncdfhf2(value: f64) -> f16:
    """float64 to float16."""
    return f16_from_bits(narrow(bits_of_f64(value), _HALF_MANTISSA, _HALF_BIAS))


@unit.function
def truncsfhf2(value: f32) -> f16:
    """float32 to float16."""
    return f16_from_bits(narrow(bits_of_f64(f64(value)), _HALF_MANTISSA, _HALF_BIAS))


@unit.function
def truncdfbf2(value: f64) -> bf16:
    """float64 to bfloat16."""
    return bf16_from_bits(narrow(bits_of_f64(value), _BFLOAT_MANTISSA, _BFLOAT_BIAS))


@unit.function
def truncsfbf2(value: f32) -> bf16:
    """float32 to bfloat16."""
    return bf16_from_bits(narrow(bits_of_f64(f64(value)), _BFLOAT_MANTISSA, _BFLOAT_BIAS))


PROVIDED = {
    "__extendhfsf2": extendhfsf2,
    "__truncdfhf2": truncdfhf2,
    "__truncsfhf2": truncsfhf2,
    "__truncdfbf2": truncdfbf2,
    "__truncsfbf2": truncsfbf2,
}
