"""Drawing categories by weight, with replacement and (from keys drawn before) without it."""

from ...targets.native import (
    Unit, f32, f64, i64, load, load_f32, load_f64, load_i64, ptr, store_f64, store_i64, void,
)  # fmt: skip
from .random import uniform_of

unit = Unit("categories")


# With replacement: a uniform number is looked up in the running sums.


def _accumulating(kind):
    size = kind.nbytes

    @unit.function(name=f"accumulate_{kind}")
    def accumulate(sums: ptr, weights: ptr, count: i64) -> i64:
        """Running sums, divided by the last; 1 negative or NaN, 2 infinite, 3 without a sum."""
        total = kind(0)
        for index in range(count):
            weight = load(kind, weights, index * size)
            if not weight >= 0.0:
                return 1
            if weight - weight != 0.0:
                return 2
            total += weight
            store_f64(sums, index * 8, f64(total))
        if not total > 0.0:
            return 3
        for index in range(count):
            store_f64(sums, index * 8, f64(kind(load_f64(sums, index * 8)) / total))
        store_f64(sums, (count - 1) * 8, 1.0)
        return 0

    return accumulate


_accumulate_f32 = _accumulating(f32)
_accumulate_f64 = _accumulating(f64)


@unit.function
def multinomial(state: ptr, target: ptr, samples: i64, weights: ptr, categories: i64, rows: i64,
                sums: ptr, double: i64) -> i64:
    """int64 categories (rows, samples) for weights (rows, categories); an error as above or 0."""
    size = i64(8) if double != 0 else i64(4)
    for row in range(rows):
        place = weights + row * categories * size
        if double != 0:
            wrong = _accumulate_f64(sums, place, categories)
        else:
            wrong = _accumulate_f32(sums, place, categories)
        if wrong != 0:
            return wrong
        for sample in range(samples):
            wanted = uniform_of(state)
            low, high = i64(0), categories
            while low < high:
                middle = low + (high - low) // 2
                if load_f64(sums, middle * 8) < wanted:
                    low = middle + 1
                else:
                    high = middle
            store_i64(target, (row * samples + sample) * 8, low)
    return 0


# Without replacement: each weight is divided by an exponential number; the largest keys win.


@unit.function(inline=True)
def _weight(weights: ptr, index: i64, double: i64) -> f64:
    return load_f64(weights, index * 8) if double != 0 else f64(load_f32(weights, index * 4))


@unit.function
def check(weights: ptr, categories: i64, rows: i64, double: i64) -> i64:
    """0 for rows of weights to draw from; 1 negative, infinite or NaN; 3 all zero."""
    empty = i64(0)
    for row in range(rows):
        found = i64(0)
        for index in range(categories):
            weight = _weight(weights, row * categories + index, double)
            if not (weight >= 0.0 and weight - weight == 0.0):
                return 1
            found = i64(1) if weight > 0.0 else found
        empty = empty if found != 0 else i64(3)
    return empty


@unit.function
def race(keys: ptr, weights: ptr, times: ptr, count: i64, double: i64) -> void:
    """float64 keys: float32 or float64 weights divided by as many exponential numbers."""
    for index in range(count):
        if double != 0:
            store_f64(keys, index * 8, load_f64(weights, index * 8) / load_f64(times, index * 8))
        else:
            quotient = load_f32(weights, index * 4) / load_f32(times, index * 4)
            store_f64(keys, index * 8, f64(quotient))


@unit.function(inline=True)
def _key(keys: ptr, heap: ptr, place: i64) -> f64:
    return load_f64(keys, load_i64(heap, place * 8) * 8)


@unit.function
def _sift(keys: ptr, heap: ptr, start: i64, count: i64) -> void:
    """Let the item at `start` sink: the smallest key comes to the top."""
    item = load_i64(heap, start * 8)
    key = load_f64(keys, item * 8)
    place = start
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _key(keys, heap, child + 1) < _key(keys, heap, child):
            child += 1
        if not _key(keys, heap, child) < key:
            break
        store_i64(heap, place * 8, load_i64(heap, child * 8))
        place = child
    store_i64(heap, place * 8, item)


@unit.function
def largest(target: ptr, samples: i64, keys: ptr, categories: i64, rows: i64) -> void:
    """int64 categories (rows, samples) of the largest float64 keys (rows, categories)."""
    for row in range(rows):
        heap = target + row * samples * 8
        own = keys + row * categories * 8
        for index in range(samples):
            store_i64(heap, index * 8, index)
        for index in range(samples // 2 - 1, -1, -1):
            _sift(own, heap, index, samples)
        for index in range(samples, categories):
            if load_f64(own, index * 8) > _key(own, heap, 0):
                store_i64(heap, 0, index)
                _sift(own, heap, 0, samples)
        for last in range(samples - 1, 0, -1):
            least = load_i64(heap)
            store_i64(heap, 0, load_i64(heap, last * 8))
            store_i64(heap, last * 8, least)
            _sift(own, heap, 0, last)
