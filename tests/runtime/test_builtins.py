"""Builtins of machine code, the probe of the interpreter, native code on Python objects."""

import ctypes
import sys

import pytest

from yesca.runtime import layout, units
from yesca.runtime.builtins import builtin, call_wrapper, method, slot_place
from yesca.runtime.native.objects import incref, long_as, long_from, none, tuple_item, type_of
from yesca.targets.native import (
    Unit, external, i64, load_obj, obj, ptr, void,
)  # fmt: skip

pytestmark = [pytest.mark.skipif(not layout.IS_CPYTHON, reason="builtins need CPython"),
              pytest.mark.every_cpu]

unit = Unit("test_builtins")
tuple_size = external("PyTuple_Size", [obj], i64)


@unit.function
def add_all(module: obj, arguments: ptr, count: i64) -> obj:
    total = 0
    for index in range(count):
        total += long_as(load_obj(arguments, index * 8))
    return long_from(total)


@unit.function
def keyword_count(module: obj, arguments: ptr, count: i64, names: obj) -> obj:
    keywords = i64(0)
    if names is not None:
        keywords = tuple_size(names)
    return long_from(count * 100 + keywords)


@unit.function
def first_item(module: obj, pair: obj) -> obj:
    item = tuple_item(pair, 0)
    incref(item)
    return item


@unit.function
def kind(module: obj, thing: obj) -> obj:
    result = type_of(thing)
    incref(result)
    return result


@unit.function
def nothing(module: obj, unused: obj) -> obj:
    return none()


@unit.function
def get_self(self: obj) -> obj:
    incref(self)
    return self


@unit.function
def add_objects(left: obj, right: obj) -> obj:
    incref(right)
    return right


@unit.function
def count_arguments(self: obj, arguments: ptr, count: i64) -> obj:
    return long_from(count)


def test_builtins_take_arguments_as_declared():
    total = builtin(add_all, "total", "Adds integers.")
    assert type(total) is type(len) and total.__name__ == "total"
    assert total() == 0 and total(1, 2, 39) == 42 and total.__doc__ == "Adds integers."
    keywords = builtin(keyword_count)
    assert keywords(1, 2, a=3) == 201 and keywords() == 0
    assert builtin(nothing)(1) is None
    marker = object()
    assert builtin(first_item)((marker, 1)) is marker
    assert builtin(kind)(1.5) is float
    assert builtin(get_self, bound=marker)() is marker
    with pytest.raises(TypeError):
        builtin(get_self)(1)


def test_references_are_counted():
    function, marker = builtin(first_item), object()
    pair = (marker, 1)
    before = sys.getrefcount(marker)
    for _ in range(1000):
        function(pair)
    assert sys.getrefcount(marker) == before
    returns_none = builtin(nothing)
    before = sys.getrefcount(None)
    for _ in range(1000):
        returns_none(1)
    assert abs(sys.getrefcount(None) - before) < 100


def test_methods_and_operator_slots():
    class Number:
        __slots__ = ()

    Number.count = method(Number, count_arguments, "count")
    Number.__add__ = method(Number, first_item, "__add__")
    assert Number().count(1, 2) == 2
    assert Number() + (5, 6) == 5
    with pytest.raises(TypeError, match="descriptor 'count'"):
        Number.count(3)
    place = slot_place(Number, 7)  # Py_nb_add
    assert place
    ctypes.c_uint64.from_address(place).value = units.address(add_objects)
    assert Number() + "right" == "right"


def test_a_wrong_signature_is_an_error():
    wrong = Unit("test_builtins_wrong")

    @wrong.function
    def plain(a: i64) -> void:
        pass

    with pytest.raises(TypeError, match="no builtin looks like that"):
        builtin(plain)


def test_the_probe_finds_what_ctypes_can_check():
    pair = (object(), object())
    assert ctypes.py_object.from_address(id(pair) + layout.TUPLE_ITEMS).value is pair[0]
    assert ctypes.c_ssize_t.from_address(id(pair) + layout.TUPLE_SIZE).value == 2
    assert ctypes.c_double.from_address(id(2.5) + layout.FLOAT_VALUE).value == 2.5
    assert ctypes.c_uint64.from_address(id(pair) + layout.TYPE).value == id(tuple)
    if layout.INLINE_REFCOUNT:
        thing = object()
        count = ctypes.c_int64.from_address(id(thing) + layout.REFCOUNT).value
        assert count == sys.getrefcount(thing) - 1


def test_slot_offsets():
    class Base:
        __slots__ = ("a", "b")

    class Derived(Base):
        __slots__ = ("c", "__weakref__")

    thing = Derived()
    thing.a, thing.b, thing.c = [1], [2], [3]
    offsets = {name: layout.slot_offset(Derived, name) for name in "abc"}
    assert len(set(offsets.values())) == 3
    for name, offset in offsets.items():
        found = ctypes.py_object.from_address(id(thing) + offset).value
        assert found is getattr(thing, name)
    assert layout.slot_offset(Base, "a") == offsets["a"]


@unit.function
def told(thing: obj, arguments: obj, names: obj) -> obj:
    count = tuple_size(arguments)
    return long_from(count if names is None else count + 100)


def test_call_wrapper_fills_the_slot_of_a_class_and_its_subclasses():
    class Base:
        def __call__(self):
            return "python"

    class Before(Base):
        pass

    wrapper = call_wrapper(Base, told)
    assert wrapper is not None
    Base.__call__ = wrapper

    class After(Base):
        pass

    class Own(Base):
        def __call__(self):
            return "own", super().__call__(1, 2)

    for cls in (Base, Before, After):
        assert cls()(1, 2, 3) == 3 and cls()(1, k=2) == 101
        assert cls().__call__(1) == cls.__call__(cls(), 1) == 1
    assert Own()() == ("own", 2)
    with pytest.raises(TypeError):
        Base.__call__(1)
