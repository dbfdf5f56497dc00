"""Distributions drawn by rejection, with parameters of its own for each number.

Parameters and results are float64. Numbers are proposed until one is accepted, so how much is
drawn depends on what is drawn: everything here goes one number at a time.
"""

import math

from ...targets.native import (
    Unit, ceil, external, f32, f64, fabs, floor, i64, load_f64, ptr, sqrt, store_f64, void,
)  # fmt: skip
from .normal import normal_of
from .random import uniform_of

unit = Unit("rejection")

_log = external("log", [f64], f64)
_log1p = external("log1p", [f64], f64)
_exp = external("exp", [f64], f64)
_pow = external("pow", [f64, f64], f64)
_log_gamma = external("lgamma", [f64], f64)


# Poisson.


@unit.function
def _poisson_small(state: ptr, rate: f64) -> f64:
    """How many uniform numbers can be multiplied until the product is below exp(-rate)."""
    least = _exp(-rate)
    product = 1.0
    count = 0.0
    while True:
        product *= uniform_of(state)
        if product <= least:
            return count
        count += 1.0


@unit.function
def _poisson_large(state: ptr, rate: f64) -> f64:
    """Transformed rejection with a squeeze (Hörmann 1993, algorithm PTRS)."""
    root, log_rate = sqrt(rate), _log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    inside = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = uniform_of(state) - 0.5
        v = uniform_of(state)
        rest = 0.5 - fabs(u)
        count = floor((2.0 * a / rest + b) * u + rate + 0.43)
        if rest >= 0.07 and v <= inside:
            return count
        if count < 0.0 or (rest < 0.013 and v > rest):
            continue
        left = _log(v) + _log(inverse_alpha) - _log(a / (rest * rest) + b)
        if left <= count * log_rate - rate - _log_gamma(count + 1.0):
            return count


@unit.function
def poisson(state: ptr, target: ptr, rates: ptr, count: i64) -> i64:
    """float64 counts for float64 rates; returns how many were drawn (it stops at a rate < 0)."""
    for index in range(count):
        rate = load_f64(rates, index * 8)
        if not rate >= 0.0:
            return index
        value = 0.0
        if rate >= 10.0:
            value = _poisson_large(state, rate)
        elif rate > 0.0:
            value = _poisson_small(state, rate)
        store_f64(target, index * 8, value)
    return count


# Binomial.

_HALF_LOG_TURN = 0.5 * math.log(2 * math.pi)


@unit.function
def _tail(count: f64) -> f64:
    """What Stirling's formula leaves of log(count!)."""
    more = count + 1.0
    if count <= 9.0:
        return _log_gamma(more) - ((count + 0.5) * _log(more) - more + _HALF_LOG_TURN)
    square = more * more
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / more


@unit.function
def _binomial_small(state: ptr, trials: f64, chance: f64) -> f64:
    """How many waiting times of a success fit into the trials."""
    failure = _log1p(-chance)
    passed, count = 0.0, 0.0
    while True:
        passed += ceil(_log(uniform_of(state)) / failure)
        if passed > trials:
            return count
        count += 1.0


@unit.function
def _binomial_large(state: ptr, trials: f64, chance: f64) -> f64:
    """Transformed rejection with a squeeze (Hörmann 1993, algorithm BTRS)."""
    deviation = sqrt(trials * chance * (1.0 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    center = trials * chance + 0.5
    inside = 0.92 - 4.2 / b
    odds = chance / (1.0 - chance)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = floor((trials + 1.0) * chance)
    while True:
        u = uniform_of(state) - 0.5
        v = uniform_of(state)
        rest = 0.5 - fabs(u)
        count = floor((2.0 * a / rest + b) * u + center)
        if rest >= 0.07 and v <= inside:
            return count
        if count < 0.0 or count > trials:
            continue
        left = _log(v * alpha / (a / (rest * rest) + b))
        right = (
            (mode + 0.5) * _log((mode + 1.0) / (odds * (trials - mode + 1.0)))
            + (trials + 1.0) * _log((trials - mode + 1.0) / (trials - count + 1.0))
            + (count + 0.5) * _log(odds * (trials - count + 1.0) / (count + 1.0))
            + _tail(mode) + _tail(trials - mode) - _tail(count) - _tail(trials - count)
        )  # fmt: skip
        if left <= right:
            return count


@unit.function
def _successes(state: ptr, trials: f64, chance: f64) -> f64:
    """Of at most even chances."""
    if trials * chance >= 10.0:
        return _binomial_large(state, trials, chance)
    return _binomial_small(state, trials, chance)


@unit.function
def _binomial_of(state: ptr, trials: f64, chance: f64) -> f64:
    if trials <= 0.0 or chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return trials
    if chance <= 0.5 and trials == trials:
        return _successes(state, trials, chance)
    if chance > 0.5 and trials == trials:
        return trials - _successes(state, trials, 1.0 - chance)
    return trials + chance  # one of them is NaN


@unit.function
def binomial(state: ptr, target: ptr, trials: ptr, chances: ptr, count: i64) -> void:
    """float64 numbers of successes for float64 numbers of trials and chances."""
    for index in range(count):
        drawn = _binomial_of(state, load_f64(trials, index * 8), load_f64(chances, index * 8))
        store_f64(target, index * 8, drawn)


# Gamma. Two constants are numbers of float32 in PyTorch.

_THIRD, _SQUEEZE = 0.3333333432674408, 0.03310000151395798
_TINY = 2.0**-1022


@unit.function(inline=True)
def _rounded(value: f64, single: i64) -> f64:
    return f64(f32(value)) if single != 0 else value


@unit.function
def _gamma_of(state: ptr, shape: f64, single: i64) -> f64:
    """Marsaglia and Tsang 2000; a shape below 1 is drawn as one above and scaled."""
    scale = 1.0
    if shape < 1.0:
        if shape == 0.0:
            return 0.0
        scale = _pow(1.0 - uniform_of(state), _rounded(1.0 / shape, single))
        shape = _rounded(shape + 1.0, single)
    d = _rounded(shape - _THIRD, single)
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal_of(state, 0.0, 1.0)
        y = 1.0 + c * x
        if y <= 0.0:
            continue
        cube = y * y * y
        u = 1.0 - uniform_of(state)
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * cube
        if _log(u) < 0.5 * square + d * (1.0 - cube + _log(cube)):
            return scale * d * cube


@unit.function
def gamma(state: ptr, target: ptr, shapes: ptr, count: i64, single: i64) -> void:
    """float64 gamma numbers of scale 1 for float64 shapes; what is no number, or 0, is made tiny.

    `single`: the shapes are float32 numbers, whose arithmetic PyTorch does in float32.
    """
    for index in range(count):
        drawn = _gamma_of(state, load_f64(shapes, index * 8), single)
        store_f64(target, index * 8, drawn if drawn > _TINY else _TINY)
