"""Python objects in native code: reference counts, the C API's commonest functions, errors.

Every function here needs the GIL. `None` is never returned without a new reference.
"""

from ...targets.native import (
    Unit, bool_, external, external_data, i32, i64, load_i64, load_obj, obj, ptr, store_i64, u64,
    void,
)  # fmt: skip
from .. import layout

unit = Unit("objects")

_dealloc = external("_Py_Dealloc", [obj])
_increase = external("Py_IncRef", [obj])
_decrease = external("Py_DecRef", [obj])
_none = external_data("_Py_NoneStruct")
_type_error = external_data("PyExc_TypeError")
_runtime_error = external_data("PyExc_RuntimeError")

long_from = external("PyLong_FromLongLong", [i64], obj)
long_as = external("PyLong_AsLongLong", [obj], i64)
error_occurred = external("PyErr_Occurred", [], obj)
format_error = external("PyErr_Format", [obj, ptr], obj, variadic=True)  # returns NULL
call_one = external("PyObject_CallOneArg", [obj, obj], obj)
capsule_new = external("PyCapsule_New", [ptr, ptr, ptr], obj)
capsule_pointer = external("PyCapsule_GetPointer", [obj, ptr], ptr)
tuple_new = external("PyTuple_New", [i64], obj)
tuple_set = external("PyTuple_SetItem", [obj, i64, obj], i32)  # takes the reference over
gil_release = external("PyEval_SaveThread", [], ptr)
gil_restore = external("PyEval_RestoreThread", [ptr])


@unit.function(inline=True)
def incref(thing: obj) -> void:
    """One more reference to `thing`."""
    if layout.INLINE_REFCOUNT:
        store_i64(thing, layout.REFCOUNT, load_i64(thing, layout.REFCOUNT) + 1)
    else:
        _increase(thing)


@unit.function(inline=True)
def decref(thing: obj) -> void:
    """One reference to `thing` less; at none it is destroyed."""
    if layout.INLINE_REFCOUNT:
        count = load_i64(thing, layout.REFCOUNT) - 1
        store_i64(thing, layout.REFCOUNT, count)
        if count == 0:
            _dealloc(thing)
    else:
        _decrease(thing)


@unit.function(inline=True)
def none() -> obj:
    """A new reference to None."""
    result = obj(_none)
    incref(result)
    return result


@unit.function(inline=True)
def type_of(thing: obj) -> obj:
    """The type of `thing`, borrowed."""
    return load_obj(thing, layout.TYPE)


@unit.function(inline=True)
def tuple_item(thing: obj, index: i64) -> obj:
    """Item of a tuple, borrowed; the index is not checked."""
    return load_obj(thing, layout.TUPLE_ITEMS + index * 8)


@unit.function(inline=True)
def as_integer(thing: obj, failed: ptr) -> i64:
    """The value of an int; on an error adds 1 to the word at `failed` (a Python error is set)."""
    value = long_as(thing)
    if value == -1 and error_occurred() is not None:
        store_i64(failed, 0, load_i64(failed, 0) + 1)
    return value


@unit.function
def wrong_count(expected: i64, given: i64) -> obj:
    """Set the TypeError for a wrong number of arguments; returns NULL."""
    return format_error(
        load_obj(_type_error), "expected %zd arguments, got %zd", expected, given
    )


@unit.function
def out_of_memory(nbytes: u64) -> obj:
    """Set PyTorch's RuntimeError for memory that cannot be had; returns NULL."""
    return format_error(
        load_obj(_runtime_error),
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes. "
        "Error code 12 (Cannot allocate memory)",
        nbytes,
    )


@unit.function(inline=True)
def is_type(thing: obj, expected: obj) -> bool_:
    """Whether `thing` is exactly of the type `expected`."""
    return type_of(thing) == expected
