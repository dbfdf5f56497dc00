"""Distributions that PyTorch computes in float64 and rounds to the target's type at the end.

`draw` fills a small buffer with float64 numbers of the distribution and `narrow` stores them in
the type of the target, again and again; integers go the same way as int64. Logarithms and the
like are the C library's, which PyTorch calls too.
"""

import math

from ...core import dtypes
from ...core.draws import Recipe
from ...targets.native import (
    Unit, bf16, ceil, external, f16, f32, f64, fma, i8, i16, i32, i64, load_f64, load_i64, ptr,
    stack, store, store_f64, u64, void,
)  # fmt: skip
from .normal import normals
from .random import chances_f32, chances_f64, integers, uniform_f64, uniform_of

unit = Unit("distributions")

_log = external("log", [f64], f64)
_log1p = external("log1p", [f64], f64)
_exp = external("exp", [f64], f64)
_tan = external("tan", [f64], f64)

_CHUNK = 256
_PI = math.pi


# From the buffer to the target.


def _narrowing(kind, through):
    """Functions that store float64 and int64 numbers as `kind`."""
    size = kind.nbytes

    @unit.function(name=f"floats_as_{kind}", noalias=("target", "source"))
    def floats(target: ptr, source: ptr, count: i64) -> void:
        for index in range(count):
            store(kind, target, index * size, kind(through(load_f64(source, index * 8))))

    @unit.function(name=f"integers_as_{kind}", noalias=("target", "source"))
    def whole(target: ptr, source: ptr, count: i64) -> void:
        for index in range(count):
            store(kind, target, index * size, kind(load_i64(source, index * 8)))

    return floats, whole


# A float64 becomes a half type by way of float32, an integer by way of int64.
_floats_f64, _integers_f64 = _narrowing(f64, f64)
_floats_f32, _integers_f32 = _narrowing(f32, f64)
_floats_f16, _integers_f16 = _narrowing(f16, f32)
_floats_bf16, _integers_bf16 = _narrowing(bf16, f32)
_floats_i64, _integers_i64 = _narrowing(i64, f64)
_floats_i32, _integers_i32 = _narrowing(i32, i64)
_floats_i16, _integers_i16 = _narrowing(i16, i64)
_floats_i8, _integers_i8 = _narrowing(i8, i64)

#: The forms of a number in memory, by the code of the dtype; signs make no difference.
_FLOAT64, _FLOAT32 = dtypes.float64.code, dtypes.float32.code
_FLOAT16, _BFLOAT16 = dtypes.float16.code, dtypes.bfloat16.code
_INT64, _UINT64 = dtypes.int64.code, dtypes.uint64.code
_INT32, _UINT32 = dtypes.int32.code, dtypes.uint32.code
_INT16, _UINT16 = dtypes.int16.code, dtypes.uint16.code


def _choosing(name, f64_, f32_, f16_, bf16_, i64_, i32_, i16_, i8_):
    @unit.function(name=name)
    def choose(code: i64, target: ptr, done: i64, source: ptr, count: i64) -> void:
        if code == _FLOAT32:
            f32_(target + done * 4, source, count)
        elif code == _FLOAT64:
            f64_(target + done * 8, source, count)
        elif code == _INT64 or code == _UINT64:
            i64_(target + done * 8, source, count)
        elif code == _BFLOAT16:
            bf16_(target + done * 2, source, count)
        elif code == _FLOAT16:
            f16_(target + done * 2, source, count)
        elif code == _INT32 or code == _UINT32:
            i32_(target + done * 4, source, count)
        elif code == _INT16 or code == _UINT16:
            i16_(target + done * 2, source, count)
        else:
            i8_(target + done, source, count)

    return choose


_narrow_floats = _choosing(
    "narrow_floats", _floats_f64, _floats_f32, _floats_f16, _floats_bf16, _floats_i64,
    _floats_i32, _floats_i16, _floats_i8,
)  # fmt: skip
_narrow_integers = _choosing(
    "narrow_integers", _integers_f64, _integers_f32, _integers_f16, _integers_bf16,
    _integers_i64, _integers_i32, _integers_i16, _integers_i8,
)  # fmt: skip


# The distributions. `first` and `second` are their parameters.


@unit.function(noalias=("data",))
def _truths(data: ptr, count: i64, chance: f64) -> void:
    for index in range(count):
        store_f64(data, index * 8, 1.0 if load_f64(data, index * 8) < chance else 0.0)


@unit.function
def _transform(kind: i64, data: ptr, count: i64, first: f64, second: f64) -> void:
    """Uniform numbers (for the log-normal distribution normal ones) to those of `kind`."""
    scale = -1.0 / first
    failure = _log1p(-first)
    for index in range(count):
        value = load_f64(data, index * 8)
        if kind == Recipe.EXPONENTIAL:
            value = scale * _log1p(-value)
        elif kind == Recipe.GEOMETRIC:
            value = ceil(_log(value) / failure)
        elif kind == Recipe.LOG_NORMAL:
            value = _exp(value)
        else:
            value = fma(second, _tan(_PI * (value - 0.5)), first)
        store_f64(data, index * 8, value)


@unit.function
def draw(state: ptr, code: i64, target: ptr, count: i64, kind: i64, first: f64,
         second: f64) -> void:
    """Fill a target of the dtype `code` with numbers of a distribution."""
    buffer = stack(_CHUNK * 8, 64)
    done = 0
    while done < count:
        run = min(count - done, _CHUNK)
        if kind == Recipe.NORMAL or kind == Recipe.LOG_NORMAL:
            normals(state, buffer, run, first, second)
        else:
            uniform_f64(state, buffer, run, 0.0, 1.0)
        if kind == Recipe.BERNOULLI:
            _truths(buffer, run, first)
        elif kind != Recipe.NORMAL:
            _transform(kind, buffer, run, first, second)
        _narrow_floats(code, target, done, buffer, run)
        done += run


@unit.function
def draw_integers(state: ptr, code: i64, target: ptr, count: i64, bound: u64, base: i64,
                  wide: i64) -> void:
    """Fill a target with base + draw % bound."""
    buffer = stack(_CHUNK * 8, 64)
    done = 0
    while done < count:
        run = min(count - done, _CHUNK)
        integers(state, buffer, run, bound, base, wide)
        _narrow_integers(code, target, done, buffer, run)
        done += run


@unit.function
def draw_chances(state: ptr, code: i64, target: ptr, count: i64, chances: ptr,
                 double: i64) -> i64:
    """Ones and zeros, each with a chance of its own; returns how many were drawn.

    Fewer than `count`: the next chance is not in [0, 1].
    """
    buffer = stack(_CHUNK * 8, 64)
    done = 0
    while done < count:
        run = min(count - done, _CHUNK)
        if double != 0:
            drawn = chances_f64(state, buffer, chances + done * 8, run)
        else:
            drawn = chances_f32(state, buffer, chances + done * 4, run)
        _narrow_floats(code, target, done, buffer, drawn)
        done += drawn
        if drawn < run:
            return done
    return done


# Slopes of a randomised leaky ReLU.


@unit.function
def slopes(state: ptr, target: ptr, values: ptr, count: i64, low: f64, high: f64) -> void:
    """float64: 1 where the float64 value is positive or NaN, else a number of [low, high).

    PyTorch rounds twice here; in its in-place draws it does so once.
    """
    for index in range(count):
        slope = 1.0
        if load_f64(values, index * 8) <= 0.0:
            slope = uniform_of(state) * (high - low) + low
        store_f64(target, index * 8, slope)
