"""Draws into contiguous memory: one function a kind, each holding the generator's lock.

Addresses are those of the targets, counts are in elements, dtypes are `core.dtypes`. The native
code is loaded at the first draw. Large draws release the GIL; giving it up costs more than a small
draw takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import DType, bfloat16, float16, float32, float64
from .generator import Generator

_FEW = 4096
#: From this size on a contiguous target gets normal numbers in blocks.
BLOCKS_FROM = 16
#: Integers from a range of this many take 64 bits each.
WIDE_FROM = 1 << 28


class _Draws:
    """The loaded functions, each in a pair: with the GIL for few elements, without it for many."""

    def __init__(self) -> None:
        from .native import categories, distributions, normal, random, rejection

        self.uniform = {
            float32: _pair(random.uniform_f32), float64: _pair(random.uniform_f64),
            float16: _pair(random.uniform_f16), bfloat16: _pair(random.uniform_bf16)}
        self.normal = {
            float32: _pair(normal.normal_f32), float64: _pair(normal.normal_f64),
            float16: _pair(normal.normal_f16), bfloat16: _pair(normal.normal_bf16)}
        self.draw = _pair(distributions.draw)
        self.integers = _pair(distributions.draw_integers)
        self.chances = _pair(distributions.draw_chances)
        self.permutation = _pair(random.permutation)
        self.poisson = _pair(rejection.poisson)
        self.binomial = _pair(rejection.binomial)
        self.gamma = _pair(rejection.gamma)
        self.slopes = _pair(distributions.slopes)
        self.multinomial = _pair(categories.multinomial)
        self.check = _pair(categories.check)
        self.race = _pair(categories.race)
        self.largest = _pair(categories.largest)
        self.kinds = distributions.Kind


def _pair(function: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    from . import units

    return units.callable_of(function, gil=True), units.callable_of(function)


_the_draws = None


def _draws() -> _Draws:
    global _the_draws
    if _the_draws is None:
        _the_draws = _Draws()
    return _the_draws


def uniform(generator: Generator, address: int, dtype: DType, count: int, low: float,
            high: float) -> None:
    """[low, high) in a floating-point dtype."""
    function = _draws().uniform[dtype][count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, count, low, high)


def normal(generator: Generator, address: int, dtype: DType, count: int, mean: float,
           deviation: float, blocks: bool) -> None:
    """Normal numbers; `blocks`: the target itself is contiguous (below 16 elements: no matter)."""
    if not blocks or count < BLOCKS_FROM:
        distribution(generator, address, dtype, count, "NORMAL", mean, deviation)
        return
    function = _draws().normal[dtype][count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, count, mean, deviation)


def distribution(generator: Generator, address: int, dtype: DType, count: int, kind: str,
                 first: float, second: float = 0.0) -> None:
    """NORMAL (mean, std), EXPONENTIAL (rate), GEOMETRIC (p), LOG_NORMAL (mean, std), CAUCHY
    (median, sigma) or BERNOULLI (p) in any real dtype."""
    draws = _draws()
    number = getattr(draws.kinds, kind)
    state = generator._ready()
    with generator._lock:
        draws.draw[count > _FEW](state, dtype.code, address, count, number, first, second)


def integers(generator: Generator, address: int, dtype: DType, count: int, base: int, bound: int,
             wide: bool) -> None:
    """base + draw modulo `bound` (at most 2**64), with `wide` draws of 64 bits."""
    function = _draws().integers[count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, dtype.code, address, count, bound & ((1 << 64) - 1), base, wide)


def permutation(generator: Generator, address: int, count: int) -> None:
    """The int64 numbers below `count`, shuffled."""
    function = _draws().permutation[count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, count)


def chances(generator: Generator, address: int, dtype: DType, count: int, places: int,
            double: bool) -> int:
    """Ones with chances of their own (float32, or float64 if `double`), else zeros.

    Returns how many were drawn: fewer than `count` when the next chance is not in [0, 1].
    """
    function = _draws().chances[count > _FEW]
    state = generator._ready()
    with generator._lock:
        return int(function(state, dtype.code, address, count, places, double))


def poisson(generator: Generator, address: int, rates: int, count: int) -> int:
    """float64 counts for float64 rates; returns how many were drawn before a rate below 0."""
    function = _draws().poisson[count > _FEW]
    state = generator._ready()
    with generator._lock:
        return int(function(state, address, rates, count))


def binomial(generator: Generator, address: int, trials: int, chances: int, count: int) -> None:
    """float64 numbers of successes for float64 numbers of trials and float64 chances."""
    function = _draws().binomial[count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, trials, chances, count)


def gamma(generator: Generator, address: int, shapes: int, count: int, single: bool) -> None:
    """float64 gamma numbers of scale 1 for float64 shapes, none below the least normal number.

    single: the shapes are float32 numbers, widened.
    """
    function = _draws().gamma[count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, shapes, count, single)


def slopes(generator: Generator, address: int, values: int, count: int, low: float,
           high: float) -> None:
    """float64: 1 for each positive float64 value, a number of [low, high) for the others."""
    function = _draws().slopes[count > _FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, values, count, low, high)


def multinomial(generator: Generator, address: int, samples: int, weights: int,
                categories: int, rows: int, sums: int, double: bool) -> int:
    """int64 categories (rows, samples), drawn with replacement by weights (rows, categories).

    The weights are float32, or float64 if `double`; `sums` is room for float64 (categories,).
    Returns 0, or what is wrong with a row: 1 negative or NaN, 2 infinite, 3 all zero.
    """
    function = _draws().multinomial[samples * rows + categories > _FEW]
    state = generator._ready()
    with generator._lock:
        return int(function(state, address, samples, weights, categories, rows, sums, double))


def check_weights(weights: int, categories: int, rows: int, double: bool) -> int:
    """0 when every row of weights can be drawn from without replacement.

    Otherwise 1: a weight is negative, infinite or NaN; 3: a row is all zero.
    """
    function = _draws().check[rows * categories > _FEW]
    return int(function(weights, categories, rows, double))


def race(address: int, samples: int, keys: int, weights: int, times: int, categories: int,
         rows: int, double: bool) -> None:
    """int64 categories (rows, samples) that win: the largest weight / time first.

    `times` are exponential numbers, one a weight; `keys` is room for float64 (rows, categories).
    """
    large = rows * categories > _FEW
    _draws().race[large](keys, weights, times, rows * categories, double)
    _draws().largest[large](address, samples, keys, categories, rows)
