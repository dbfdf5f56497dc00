"""Normal numbers: PyTorch's Box-Muller transformations, equal to its results bit for bit.

Below 16 elements, and for targets that are not contiguous, numbers come one at a time in float64
and the second of each pair is kept in the state. From 16 on the target is filled with uniform
numbers, and each block of 16 is transformed in place: the first eight give radii, the last eight
angles. When the size is no multiple of 16 the last 16 elements are drawn once more.

float32 blocks use the logarithm, sine and cosine of the Cephes library in single precision, with
the multiplications and additions joined as PyTorch's compiled code joins them; half types round
its results. float64 blocks call the C library.
"""

import math

from ...targets.native import (
    Unit, bf16, bits_of_f32, external, f16, f32, f32_from_bits, f64, fma, i32, i64, load_f32,
    load_f64, load_i64, ptr, sqrt, stack, store, store_f32, store_f64, store_i64, u32, void,
)  # fmt: skip
from .random import State, uniform_f32, uniform_f64, uniform_of

unit = Unit("normal")

_log = external("log", [f64], f64)
_log1p = external("log1p", [f64], f64)
_sin = external("sin", [f64], f64)
_cos = external("cos", [f64], f64)

BLOCK = 16
_HALF = 8
_FULL_TURN = 2 * math.pi
_ROUND_BLOCKS = 64  # blocks filled and transformed together: they stay in the nearest cache


# One at a time.


@unit.function
def normal_of(state: ptr, mean: f64, deviation: f64) -> f64:
    """One number; every second one was computed with the one before."""
    if load_i64(state, State.HAS_SECOND) != 0:
        store_i64(state, State.HAS_SECOND, 0)
        kept = load_f64(state, State.SECOND)
        store_f64(state, State.SECOND, 0.0)
        return fma(kept, deviation, mean)
    angle = uniform_of(state) * _FULL_TURN
    radius = sqrt(-2.0 * _log1p(-uniform_of(state)))
    store_f64(state, State.SECOND, radius * _sin(angle))
    store_i64(state, State.HAS_SECOND, 1)
    return fma(radius * _cos(angle), deviation, mean)


@unit.function
def normals(state: ptr, target: ptr, count: i64, mean: f64, deviation: f64) -> void:
    """float64 numbers drawn one at a time."""
    for index in range(count):
        store_f64(target, index * 8, normal_of(state, mean, deviation))


# float32 blocks. Cephes: log(x) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)).

_LOG_0, _LOG_1, _LOG_2 = 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1
_LOG_3, _LOG_4, _LOG_5 = -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1
_LOG_6, _LOG_7, _LOG_8 = 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1
_LN2_LOW, _LN2_HIGH = -2.12194440e-4, 0.693359375
_ROOT_HALF = 0.707106781186547524
_SIN_0, _SIN_1, _SIN_2 = -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1
_COS_0, _COS_1, _COS_2 = 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2
_EIGHTHS = 1.27323954473516  # 4 / pi
#: -pi / 4 in three parts, the first two exact in few bits
_PART_0, _PART_1, _PART_2 = -0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8


@unit.function(inline=True)
def _cephes_log(x: f32) -> f32:
    bits = bits_of_f32(x)
    half = f32_from_bits((bits & 0x807FFFFF) | 0x3F000000)  # in [1/2, 1)
    exponent = f32(i32(bits >> 23) - 126)
    small = half < _ROOT_HALF
    exponent = exponent - 1.0 if small else exponent
    rest = (half - 1.0) + half if small else half - 1.0
    square = rest * rest
    sum_ = fma(fma(fma(f32(_LOG_0), rest, _LOG_1), rest, _LOG_2), rest, _LOG_3)
    sum_ = fma(fma(fma(sum_, rest, _LOG_4), rest, _LOG_5), rest, _LOG_6)
    sum_ = fma(fma(sum_, rest, _LOG_7), rest, _LOG_8) * rest
    sum_ = fma(sum_, square, exponent * _LN2_LOW)
    sum_ = fma(square, -0.5, sum_)
    return fma(exponent, _LN2_HIGH, rest + sum_)


@unit.function(inline=True)
def _with_sign(x: f32, sign: i32) -> f32:
    """-x where bit 2 of `sign` is set."""
    return f32_from_bits(bits_of_f32(x) ^ (u32(sign & 4) << 29))


@unit.function(inline=True)
def _transform(angle: f32, radius: f32, mean: f32, deviation: f32, low: ptr, high: ptr) -> void:
    """Store radius * cos(angle) and radius * sin(angle), scaled; the angle is not negative."""
    octant = (i32(angle * _EIGHTHS) + 1) & ~1
    steps = f32(octant)
    x = fma(steps, _PART_2, fma(steps, _PART_1, fma(steps, _PART_0, angle)))
    z = x * x
    cosine = fma(fma(f32(_COS_0), z, _COS_1), z, _COS_2) * z
    cosine = fma(cosine, z, -(z * 0.5)) + 1.0
    sine = fma(fma(fma(f32(_SIN_0), z, _SIN_1), z, _SIN_2) * z, x, x)
    swap = (octant & 2) != 0
    first = sine if swap else cosine
    second = cosine if swap else sine
    first = _with_sign(first, octant + 2)
    second = _with_sign(second, octant)
    store_f32(low, 0, fma(radius * first, deviation, mean))
    store_f32(high, 0, fma(radius * second, deviation, mean))


@unit.function(vector_width=256)
def _blocks_f32(data: ptr, count: i64, mean: f32, deviation: f32) -> void:
    for block in range(count):
        low = data + block * (BLOCK * 4)
        high = low + _HALF * 4
        for lane in range(_HALF):
            radius = sqrt(-2.0 * _cephes_log(1.0 - load_f32(low, lane * 4)))
            angle = f32(_FULL_TURN) * load_f32(high, lane * 4)
            _transform(angle, radius, mean, deviation, low + lane * 4, high + lane * 4)


@unit.function
def normal_f32(state: ptr, target: ptr, count: i64, mean: f64, deviation: f64) -> void:
    """At least 16 float32 numbers."""
    done = 0
    while done < count:
        run = min(count - done, BLOCK * _ROUND_BLOCKS)
        place = target + done * 4
        uniform_f32(state, place, run, 0.0, 1.0)
        _blocks_f32(place, run // BLOCK, f32(mean), f32(deviation))
        done += run
    if count % BLOCK != 0:
        last = target + (count - BLOCK) * 4
        uniform_f32(state, last, BLOCK, 0.0, 1.0)
        _blocks_f32(last, 1, f32(mean), f32(deviation))


# The other types.


@unit.function
def _blocks_f64(data: ptr, count: i64, mean: f64, deviation: f64) -> void:
    for block in range(count):
        low = data + block * (BLOCK * 8)
        high = low + _HALF * 8
        for lane in range(_HALF):
            radius = sqrt(-2.0 * _log(1.0 - load_f64(low, lane * 8)))
            angle = _FULL_TURN * load_f64(high, lane * 8)
            store_f64(low, lane * 8, fma(radius * _cos(angle), deviation, mean))
            store_f64(high, lane * 8, fma(radius * _sin(angle), deviation, mean))


@unit.function
def normal_f64(state: ptr, target: ptr, count: i64, mean: f64, deviation: f64) -> void:
    """At least 16 float64 numbers."""
    uniform_f64(state, target, count, 0.0, 1.0)
    _blocks_f64(target, count // BLOCK, mean, deviation)
    if count % BLOCK != 0:
        last = target + (count - BLOCK) * 8
        uniform_f64(state, last, BLOCK, 0.0, 1.0)
        _blocks_f64(last, 1, mean, deviation)


def _half_type(kind):
    """float32 blocks, rounded; here what whole blocks leave over is not drawn at first."""

    @unit.function(name=f"round_{kind}", noalias=("target", "source"))
    def round_all(target: ptr, source: ptr, count: i64) -> void:
        for index in range(count):
            store(kind, target, index * 2, kind(load_f32(source, index * 4)))

    @unit.function(name=f"normal_{kind}")
    def normal(state: ptr, target: ptr, count: i64, mean: f64, deviation: f64) -> void:
        buffer = stack(BLOCK * _ROUND_BLOCKS * 4, 64)
        whole = count // BLOCK * BLOCK
        done = 0
        while done < whole:
            run = min(whole - done, BLOCK * _ROUND_BLOCKS)
            normal_f32(state, buffer, run, mean, deviation)
            round_all(target + done * 2, buffer, run)
            done += run
        if count > whole:
            normal_f32(state, buffer, BLOCK, mean, deviation)
            round_all(target + (count - BLOCK) * 2, buffer, BLOCK)

    return normal


normal_f16 = _half_type(f16)
normal_bf16 = _half_type(bf16)
