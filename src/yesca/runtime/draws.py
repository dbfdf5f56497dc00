"""Draws into contiguous memory: one function a kind, each holding the generator's lock.

Addresses are those of the targets, counts are in elements, dtypes are `core.dtypes`. The native
code is loaded at the first draw. Large draws release the GIL; giving it up costs more than a small
draw takes. What plans can say is drawn by `operators.random_numbers`; here `draw` does the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from ..core.draws import FEW, Recipe
from ..core.dtypes import DType
from .generator import Generator
from .plan import number_word

#: Integers from a range of this many take 64 bits each.
WIDE_FROM = 1 << 28


class _Draws:
    """The loaded functions, each in a pair: with the GIL for few elements, without it for many."""

    def __init__(self) -> None:
        from .native import categories, distributions, drawing, rejection

        self.draw = _pair(drawing.draw_words)
        self.chances = _pair(distributions.draw_chances)
        self.poisson = _pair(rejection.poisson)
        self.binomial = _pair(rejection.binomial)
        self.gamma = _pair(rejection.gamma)
        self.slopes = _pair(distributions.slopes)
        self.multinomial = _pair(categories.multinomial)
        self.check = _pair(categories.check)
        self.race = _pair(categories.race)
        self.largest = _pair(categories.largest)


def _pair(function: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    from . import units

    return units.callable_of(function, gil=True), units.callable_of(function)


_the_draws = None


def _draws() -> _Draws:
    global _the_draws
    if _the_draws is None:
        _the_draws = _Draws()
    return _the_draws


def draw(generator: Generator, address: int, recipe: tuple[DType, int, int], first: float,
         second: float) -> None:
    """What `operators.random_numbers.recipe` says, with the recipe's parameters."""
    dtype, count, number = recipe
    kind = "i" if number >= Recipe.INTEGERS else "f"
    words = array("q", (address, dtype.code, count, number, number_word(first, kind),
                        number_word(second, kind), generator._ready()))
    _draws().draw[count > FEW](words.buffer_info()[0], 0, 1)  # it takes the lock itself


def chances(generator: Generator, address: int, dtype: DType, count: int, places: int,
            double: bool) -> int:
    """Ones with chances of their own (float32, or float64 if `double`), else zeros.

    Returns how many were drawn: fewer than `count` when the next chance is not in [0, 1].
    """
    function = _draws().chances[count > FEW]
    state = generator._ready()
    with generator._lock:
        return int(function(state, dtype.code, address, count, places, double))


def poisson(generator: Generator, address: int, rates: int, count: int) -> int:
    """float64 counts for float64 rates; returns how many were drawn before a rate below 0."""
    function = _draws().poisson[count > FEW]
    state = generator._ready()
    with generator._lock:
        return int(function(state, address, rates, count))


def binomial(generator: Generator, address: int, trials: int, chances: int, count: int) -> None:
    """float64 numbers of successes for float64 numbers of trials and float64 chances."""
    function = _draws().binomial[count > FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, trials, chances, count)


def gamma(generator: Generator, address: int, shapes: int, count: int, single: bool) -> None:
    """float64 gamma numbers of scale 1 for float64 shapes, none below the least normal number.

    single: the shapes are float32 numbers, widened.
    """
    function = _draws().gamma[count > FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, shapes, count, single)


def slopes(generator: Generator, address: int, values: int, count: int, low: float,
           high: float) -> None:
    """float64: 1 for each positive float64 value, a number of [low, high) for the others."""
    function = _draws().slopes[count > FEW]
    state = generator._ready()
    with generator._lock:
        function(state, address, values, count, low, high)


def multinomial(generator: Generator, address: int, samples: int, weights: int,
                categories: int, rows: int, sums: int, double: bool) -> int:
    """int64 categories (rows, samples), drawn with replacement by weights (rows, categories).

    The weights are float32, or float64 if `double`; `sums` is room for float64 (categories,).
    Returns 0, or what is wrong with a row: 1 negative or NaN, 2 infinite, 3 all zero.
    """
    function = _draws().multinomial[samples * rows + categories > FEW]
    state = generator._ready()
    with generator._lock:
        return int(function(state, address, samples, weights, categories, rows, sums, double))


def check_weights(weights: int, categories: int, rows: int, double: bool) -> int:
    """0 when every row of weights can be drawn from without replacement.

    Otherwise 1: a weight is negative, infinite or NaN; 3: a row is all zero.
    """
    function = _draws().check[rows * categories > FEW]
    return int(function(weights, categories, rows, double))


def race(address: int, samples: int, keys: int, weights: int, times: int, categories: int,
         rows: int, double: bool) -> None:
    """int64 categories (rows, samples) that win: the largest weight / time first.

    `times` are exponential numbers, one a weight; `keys` is room for float64 (rows, categories).
    """
    large = rows * categories > FEW
    _draws().race[large](keys, weights, times, rows * categories, double)
    _draws().largest[large](address, samples, keys, categories, rows)
