"""The native subset against CPython: every function here runs both ways."""

import ctypes
import random
from types import SimpleNamespace

import pytest

from yesca.runtime import cache, units
from yesca.targets.native import (
    NativeError, Unit, address_of, atomic_add_i64, atomic_cas_i64, atomic_load_i64,
    atomic_store_i64, atomic_swap_i32, bits_of_f32, bool_, call_i64, ceil, copysign,
    count_leading_zeros, count_ones, count_trailing_zeros, external, external_data, f32, f64,
    f32_from_bits, fabs, floor, fma, i8, i16, i32, i64, likely, load, load_f32, load_i64, load_obj,
    load_u8, memcpy, memset, multiply_high, obj, ptr, sqrt, stack, store, store_f32, store_i64,
    u8, u32, u64, unlikely, void,
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def store_directory(tmp_path_factory):
    before = cache._current
    yield cache.use([tmp_path_factory.mktemp("code")])
    cache._current = before


unit = Unit("test_native")
LIMIT = 10
ENABLED = False
Offsets = SimpleNamespace(first=0, second=8)
memory = unit.global_("memory", 64)
strlen = external("strlen", [ptr], i64)
snprintf = external("snprintf", [ptr, u64, ptr], i32, variadic=True)
none_object = external_data("_Py_NoneStruct")


@unit.function
def arithmetic(a: i64, b: i64) -> i64:
    c = a + b * 3 - (a ^ b) + (a & b) - (a | b)
    c += a // (b + 1) + a % (b + 1)
    return (c << 2) - (c >> 1) + ~a - -b


@unit.function
def unsigned(a: u32, b: u32) -> u64:
    wide = u64(a) * u64(b)
    return (wide >> 7) ^ u64(u32(wide)) ^ u64(u8(a))


@unit.function
def casts(a: i64) -> i64:
    return i64(i8(a)) + i64(u8(a)) * 3 + i64(i16(a)) * 7 + i64(i32(a)) - i64(u32(a)) + i64(bool_(a))


@unit.function
def floats(x: f64, y: f32) -> f64:
    z = f64(y) * 0.5 + x / 4
    return sqrt(fabs(z)) + floor(x) - ceil(x) + copysign(1.0, x) + fma(x, 2.0, 1.0) + f64(i64(z))


@unit.function
def single(x: f32) -> f32:
    return f32(x * x) if x > 1 else f32(x + 0.1)


@unit.function
def control(n: i64) -> i64:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if i > 40 and not i % 7 or i == 61:
            break
        for j in range(i, 0, -2):
            total += j
    k = n
    while True:
        k -= 5
        if k < 0:
            break
        elif k == 13:
            total += 1000
        else:
            total ^= k
    return total + (1 if n > LIMIT else 2)


@unit.function
def short_circuit(a: i64, p: ptr) -> bool_:
    return a > 0 and p is not None and load_i64(p) == a or a == -5


@unit.function
def compile_time(a: i64) -> i64:
    if ENABLED:
        return this_name_does_not_exist(a)  # noqa: F821
    elif LIMIT == 10:
        return a + Offsets.second
    return 0


@unit.function
def choose(a: i64, b: i64) -> i64:
    a, b = b, a
    return min(a, b, 5) * 100 + max(a, b) + abs(a)


@unit.function
def bits(x: u64) -> u64:
    high = multiply_high(x, 0x9E3779B97F4A7C15)
    return high + count_ones(x) + count_leading_zeros(x) * 3 + count_trailing_zeros(x) * 5


@unit.function
def float_bits(x: f32) -> f32:
    return f32_from_bits(bits_of_f32(x) ^ 0x80000000)


@unit.function
def blocks(p: ptr, n: i64) -> i64:
    local = stack(64)
    memset(local, 7, 64)
    memcpy(local + 8, p, n)
    store_i64(local, 0, 1)
    total = 0
    for i in range(64):
        total += i64(load_u8(local, i)) * i
    return total


@unit.function
def generic(p: ptr) -> f32:
    store(f32, p, 4, load(f32, p) + 1.0)
    return load(f32, p, 4)


@unit.function
def atomics(p: ptr) -> i64:
    atomic_store_i64(p, 0, 5)
    old = atomic_cas_i64(p, 0, 5, 9)
    failed = atomic_cas_i64(p, 0, 5, 11)
    added = atomic_add_i64(p, 0, 3)
    swapped = atomic_swap_i32(p, 8, 4)
    return old * 10000 + failed * 1000 + added * 100 + i64(swapped) * 50 + atomic_load_i64(p)


@unit.function
def hints(a: i64) -> i64:
    if likely(a > 3):
        return 1
    return 2 if unlikely(a == 0) else 3


SAMPLES = [(0, 0), (1, 2), (123456, 789), (2**40, 2**33 + 7), (99, 0)]


@pytest.mark.parametrize("function, samples", [
    (arithmetic, SAMPLES),
    (unsigned, [(2**32 - 1, 2**32 - 1), (12345, 678), (2**31, 3)]),
    (casts, [(0,), (-1,), (200,), (40000,), (2**40 + 2**31 + 5,), (-(2**62),)]),
    (floats, [(1.5, 2.0), (-7.25, 0.1), (1e10, -3.0)]),
    (single, [(0.1,), (3.3,), (-2.0,), (1.0,)]),
    (control, [(n,) for n in (0, 1, 5, 10, 11, 50, 100)]),
    (compile_time, [(1,)]),
    (choose, [(1, 2), (9, 7), (-4, 6)]),
    (bits, [(1,), (2**63,), (2**64 - 1,), (0xDEADBEEF,)]),
    (float_bits, [(1.0,), (-0.0,)]),
    (hints, [(0,), (2,), (4,)]),
])  # fmt: skip
def test_compiled_equals_python(function, samples):
    compiled = units.callable_of(function)
    for sample in samples:
        expected = function(*sample)
        found = compiled(*sample)
        assert found == expected and type(found) is type(expected), (function, sample)


def test_random_arithmetic():
    generator = random.Random(0)
    compiled = units.callable_of(arithmetic)
    for _ in range(200):
        a, b = generator.randrange(2**30), generator.randrange(2**30)
        assert compiled(a, b) == arithmetic(a, b)


@pytest.mark.parametrize("function", [atomics, generic])
def test_memory_functions(function):
    results = []
    for run in (function, units.callable_of(function)):
        data = (ctypes.c_float * 8)(2.5, 0, 0, 0, 0, 0, 0, 0)
        results.append((run(ctypes.addressof(data)), bytes(data)))
    assert results[0] == results[1]


def test_blocks_and_short_circuit():
    data = ctypes.create_string_buffer(bytes(range(32)), 32)
    where = ctypes.addressof(data)
    assert units.callable_of(blocks)(where, 20) == blocks(where, 20)
    word = ctypes.c_int64(3)
    compiled = units.callable_of(short_circuit)
    for a, p in ((3, ctypes.addressof(word)), (4, ctypes.addressof(word)), (-5, 0), (-6, 0)):
        assert compiled(a, p) is short_circuit(a, p)
    assert compiled(3, 0) is False


@unit.function
def use_memory() -> i64:
    return atomic_add_i64(memory, Offsets.second, 2)


@unit.function
def text_length() -> i64:
    buffer = stack(32)
    snprintf(buffer, 32, "%ld and %s", 12345, "words")
    return strlen(buffer)


@unit.function
def none() -> obj:
    store_i64(none_object, 0, load_i64(none_object, 0) + 1)
    return obj(none_object)


@unit.function
def is_type_error(o: obj) -> bool_:
    return load_obj(external_type_error) == o


external_type_error = external_data("PyExc_TypeError")


@unit.function
def helper(a: i64, b: i64) -> i64:
    return a * b


@unit.function
def indirect(a: i64) -> i64:
    return call_i64(address_of(helper), a, 3) + helper(a, 1)


@unit.function(inline=True)
def shared(a: i64) -> i64:
    return helper(a, 2) + load_i64(memory, Offsets.first)


other = Unit("test_native_other")


@other.function
def across(a: i64) -> i64:
    return shared(a) + helper(a, 5) + atomic_load_i64(memory, Offsets.second)


@other.function(vector_width=256, noalias=("out",))
def scale(out: ptr, values: ptr, n: i64) -> void:
    for i in range(n):
        store_f32(out, i * 4, load_f32(values, i * 4) * 2.0)


def test_globals_strings_externals_and_calls():
    assert units.callable_of(text_length)() == len("12345 and words")
    assert units.callable_of(none, gil=True)() is None
    assert units.callable_of(is_type_error, gil=True)(TypeError) is True
    assert units.callable_of(is_type_error, gil=True)(ValueError) is False
    assert units.callable_of(indirect)(7) == 28
    counter = units.callable_of(use_memory)
    start = counter()
    assert counter() == start + 2
    address = units.address(memory)
    assert address % 64 == 0
    assert ctypes.c_int64.from_address(address + 8).value == start + 4
    assert units.callable_of(across)(3) == 6 + 15 + start + 4


def test_loops_are_vectorised():
    text = other.text()
    assert '"prefer-vector-width"="256"' in text and "noalias" in text
    source = (ctypes.c_float * 37)(*range(37))
    target = (ctypes.c_float * 37)()
    units.callable_of(scale)(ctypes.addressof(target), ctypes.addressof(source), 37)
    assert list(target) == [2.0 * value for value in range(37)]


def test_variants_by_closure():
    family = Unit("test_native_family")

    def make(type_, factor):
        @family.function(name=f"scale_{type_}")
        def scaled(x: type_) -> type_:
            return type_(x * factor)

        return scaled

    made = [make(f32, 3.0), make(i64, 5), make(u8, 3)]
    results = [units.callable_of(function)(100) for function in made]
    assert results == [300.0, 500, 44] == [function(100) for function in made]


def compile_error(function):
    unit = Unit("test_native_errors")
    unit.function(function)
    with pytest.raises(NativeError) as caught:
        unit.text()
    line = function.__code__.co_firstlineno
    assert f"test_native.py:{line + 1}: " in str(caught.value)
    return str(caught.value)


def test_errors_name_file_and_line():
    def mixed(a: i64, b: i32) -> i64:
        return a + b

    def unknown(a: i64) -> i64:
        return a + nothing_like_it  # noqa: F821

    def subscript(a: ptr) -> i64:
        return a[0]

    def narrowed(a: u8) -> u8:
        return a + 300

    def wrong_count(a: i64) -> i64:
        return helper(a)

    def chained(a: i64) -> bool_:
        return 0 < a < 5

    assert "expected i64, got i32" in compile_error(mixed)
    assert "'nothing_like_it' is not known" in compile_error(unknown)
    assert "Subscript is not in the native subset" in compile_error(subscript)
    assert "300 is no u8" in compile_error(narrowed)
    assert "takes 2 arguments, got 1" in compile_error(wrong_count)
    assert "chained" in compile_error(chained)


def test_missing_return_and_missing_annotation():
    def maybe(a: i64) -> i64:
        if a > 0:
            return 1

    def untyped(a) -> i64:
        return 1

    for function, message in ((maybe, "without a return"), (untyped, "no native type")):
        wrong = Unit("test_native_wrong")
        wrong.function(function)
        with pytest.raises(NativeError, match=message):
            wrong.text()


def test_keys_follow_constants():
    def build(constant):
        keyed = Unit("test_native_keys")

        @keyed.function
        def f(a: i64) -> i64:
            return a + constant

        return keyed

    assert build(1).key == build(1).key != build(2).key
    assert unit.key in other.text() and other.imports == (unit,)
