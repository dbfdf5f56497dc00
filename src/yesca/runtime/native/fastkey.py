"""The fast call path, first half: a call's arguments as the words of a plan key.

A *call* block on the stack collects the key, the tensors and the run-time numbers. Each argument
is encoded by the mode of its position (`Record.modes`); what is not known here makes the caller
fall back to Python, never fail. Words: a tag, then what tells values apart:

    tensor  spec | 1           number  2 (int) or 3 (float)     int      5, value
    object  6, address         tuple   7, length, items ...     slice    8, start, stop, step
    tensors 9, count, each     left out  10                     float    11, bits
    index   12, a tensor       out       13, a tensor           list     14, length, items ...

The first word is the operator's number, the default dtype and autocast's lower precision, the
second the mask of what wants a gradient.
"""

from ...core.tensor_base import Extra, TensorBase, Version
from ...targets.native import (
    Unit, bool_, external, external_data, f64, i64, load_f64, load_i64, load_obj, obj, ptr,
    stack, store_f64, store_i64, store_ptr, void,
)  # fmt: skip
from .. import layout
from .objects import decref, error_occurred, incref, long_as, tuple_item, type_of

unit = Unit("fastkey")

# The call block.
LENGTH, TENSORS_USED, NUMBERS_USED, MASK, GRAD = 0, 8, 16, 24, 32
KEY, TENSORS, INTEGERS, FLOATS, OBJECTS, CALL_BYTES = 64, 1600, 2112, 2240, 2368, 2496
KEY_LIMIT, TENSOR_LIMIT, NUMBER_LIMIT, ITEM_LIMIT = 150, 62, 15, 16

# Places in the state that `fastcall` shares with this unit.
_TYPES = {"tensor": 40, "parameter": 48, "size": 96, "dtype": 104, "device": 192, "format": 200}
TENSOR_TYPE, PARAMETER_TYPE, SIZE_TYPE, DTYPE_TYPE, DEVICE_TYPE, FORMAT_TYPE = _TYPES.values()

STORAGE_TYPE, RECORDED_TYPE = 56, 408  # the latter is NULL while nothing is recorded

T_STORAGE = layout.slot_offset(TensorBase, "_storage")
T_SPEC = layout.slot_offset(TensorBase, "_spec")
T_OFFSET = layout.slot_offset(TensorBase, "_offset")
T_VERSION = layout.slot_offset(TensorBase, "_counter")
T_REQUIRES = layout.slot_offset(TensorBase, "_requires_grad")
T_NODE = layout.slot_offset(TensorBase, "_node")
T_OUTPUT = layout.slot_offset(TensorBase, "_output_nr")
T_GRAD = layout.slot_offset(TensorBase, "_grad")
T_EXTRA = layout.slot_offset(TensorBase, "_extra")
E_BASE = layout.slot_offset(Extra, "base")
E_SEEN = layout.slot_offset(Extra, "seen")
V_VALUE = layout.slot_offset(Version, "value")


def _slice_offset(which: int) -> int:
    marks = (object(), object(), object())
    made = slice(*marks)
    return layout._find_word(made, id(marks[which]), 0, 64)


SLICE_START, SLICE_STOP, SLICE_STEP = (_slice_offset(k) for k in range(3))

long_type = external_data("PyLong_Type")
float_type = external_data("PyFloat_Type")
tuple_type = external_data("PyTuple_Type")
list_type = external_data("PyList_Type")
slice_type = external_data("PySlice_Type")
text_type = external_data("PyUnicode_Type")
none_object = external_data("_Py_NoneStruct")
true_object = external_data("_Py_TrueStruct")
false_object = external_data("_Py_FalseStruct")
ellipsis_object = external_data("_Py_EllipsisObject")
clear_error = external("PyErr_Clear", [])
intern = external("PyUnicode_InternInPlace", [ptr])
list_size = external("PyList_Size", [obj], i64)
list_item = external("PyList_GetItem", [obj, i64], obj)

state = unit.global_("state", 512, 64)


@unit.function(inline=True)
def push(call: ptr, word: i64) -> void:
    """One more word of the key."""
    used = load_i64(call, LENGTH)
    store_i64(call, KEY + used * 8, word)
    store_i64(call, LENGTH, used + 1)


@unit.function(inline=True)
def is_tensor(kind: obj) -> bool_:
    """Whether objects of this type are plain tensors or parameters."""
    return kind == load_obj(state, TENSOR_TYPE) or kind == load_obj(state, PARAMETER_TYPE)


@unit.function
def encode_tensor(call: ptr, thing: obj) -> bool_:
    """A tensor: its spec goes into the key, whether it wants a gradient into the mask."""
    spec, storage = load_obj(thing, T_SPEC), load_obj(thing, T_STORAGE)
    used = load_i64(call, TENSORS_USED)
    if spec is None or storage is None or used >= TENSOR_LIMIT:
        return False
    if (load_obj(thing, T_OFFSET) is None or load_obj(thing, T_VERSION) is None
            or load_obj(thing, T_REQUIRES) is None or load_obj(thing, T_NODE) is None
            or load_obj(thing, T_OUTPUT) is None or load_obj(thing, T_EXTRA) is None):
        return False  # a slot was deleted: Python has the error for that
    if load_i64(call, LENGTH) > KEY_LIMIT:
        return False
    memory = type_of(storage)  # another thread may be recording it
    if memory != load_obj(state, STORAGE_TYPE) and memory != load_obj(state, RECORDED_TYPE):
        return False
    push(call, i64(spec) | 1)
    store_ptr(call, TENSORS + used * 8, thing)
    store_i64(call, TENSORS_USED, used + 1)
    if load_obj(thing, T_VERSION) == obj(none_object):
        return False
    if load_i64(call, GRAD) != 0:
        wanted = load_obj(thing, T_REQUIRES) == obj(true_object)
        if wanted:
            store_i64(call, MASK, load_i64(call, MASK) | (i64(1) << used))
        extra = load_obj(thing, T_EXTRA)
        if extra != obj(none_object):
            return settled(thing, extra, wanted)
    return True


@unit.function
def settled(thing: obj, extra: obj, wanted: bool_) -> bool_:
    """Whether a view's place in the tape is current: nobody wrote to its memory since.

    A view off the tape is current as long as its base is off the tape as well.
    """
    base = load_obj(extra, E_BASE)
    if base == obj(none_object):
        return True
    if not wanted:
        return load_obj(base, T_REQUIRES) != obj(true_object)
    return load_obj(load_obj(thing, T_VERSION), V_VALUE) == load_obj(extra, E_SEEN)


@unit.function
def encode_number(call: ptr, thing: obj, kind: obj) -> bool_:
    """A run-time number: its type goes into the key, its value to the kernels."""
    used = load_i64(call, NUMBERS_USED)
    if used >= NUMBER_LIMIT:
        return False
    if kind == obj(float_type):
        push(call, 3)
        value = load_f64(thing, layout.FLOAT_VALUE)
        store_f64(call, FLOATS + used * 8, value)
        store_i64(call, INTEGERS + used * 8, 0)
    elif kind == obj(long_type):
        whole = long_as(thing)
        if whole == -1 and error_occurred() is not None:
            clear_error()
            return False
        push(call, 2)
        store_i64(call, INTEGERS + used * 8, whole)
        store_f64(call, FLOATS + used * 8, f64(whole))
    else:
        return False
    store_ptr(call, OBJECTS + used * 8, thing)
    store_i64(call, NUMBERS_USED, used + 1)
    return True


@unit.function
def canonical(text: obj) -> obj:
    """The one of all equal texts that stands for them in keys, borrowed; `learn` keeps it."""
    cell = stack(8)
    incref(text)
    store_ptr(cell, 0, text)
    intern(cell)
    found = load_obj(cell)
    decref(found)
    return found


@unit.function
def encode_static(call: ptr, thing: obj, depth: i64) -> bool_:
    """A value that is part of the key."""
    if load_i64(call, LENGTH) > KEY_LIMIT:
        return False
    kind = type_of(thing)
    if kind == obj(long_type):
        whole = long_as(thing)
        if whole == -1 and error_occurred() is not None:
            clear_error()
            return False
        push(call, 5)
        push(call, whole)
        return True
    if kind == obj(float_type):
        push(call, 11)
        push(call, load_i64(thing, layout.FLOAT_VALUE))
        return True
    if (thing == obj(none_object) or thing == obj(true_object) or thing == obj(false_object)
            or thing == obj(ellipsis_object) or kind == load_obj(state, DTYPE_TYPE)
            or kind == load_obj(state, DEVICE_TYPE) or kind == load_obj(state, FORMAT_TYPE)):
        push(call, 6)
        push(call, i64(thing))
        return True
    if kind == obj(text_type):
        push(call, 6)
        push(call, i64(canonical(thing)))
        return True
    if depth > 2:
        return False  # a slice's bounds are numbers: a tensor's value would have to be read
    if is_tensor(kind):  # an index; a plan that reads its value is never entered
        push(call, 12)
        return encode_tensor(call, thing)
    if kind == obj(tuple_type) or kind == load_obj(state, SIZE_TYPE):
        count = load_i64(thing, layout.TUPLE_SIZE)
        if count > ITEM_LIMIT:
            return False
        push(call, 7)
        push(call, count)
        for k in range(count):
            if not encode_static(call, tuple_item(thing, k), depth + 1):
                return False
        return True
    if kind == obj(list_type):
        many = list_size(thing)
        if many > ITEM_LIMIT:
            return False
        push(call, 14)  # `x[[0, 1]]` is not `x[0, 1]`
        push(call, many)
        for j in range(many):
            if not encode_static(call, list_item(thing, j), depth + 1):
                return False
        return True
    if kind == obj(slice_type):
        push(call, 8)
        return (encode_static(call, load_obj(thing, SLICE_START), 3)
                and encode_static(call, load_obj(thing, SLICE_STOP), 3)
                and encode_static(call, load_obj(thing, SLICE_STEP), 3))
    return False


@unit.function
def encode_rest(call: ptr, things: ptr, count: i64) -> bool_:
    """`view(2, 3)`: sizes spread over the arguments, with the key of `view((2, 3))`."""
    if count == 1 and type_of(load_obj(things)) != obj(long_type):
        return encode_static(call, load_obj(things), 0)
    if count > ITEM_LIMIT:
        return False
    push(call, 7)
    push(call, count)
    for k in range(count):
        if not encode_static(call, load_obj(things, k * 8), 1):
            return False
    return True


@unit.function
def encode_tensors(call: ptr, thing: obj) -> bool_:
    """A list or tuple of tensors."""
    kind = type_of(thing)
    listed = kind == obj(list_type)
    if not listed and kind != obj(tuple_type):
        return False
    count = list_size(thing) if listed else load_i64(thing, layout.TUPLE_SIZE)
    push(call, 9)
    push(call, count)
    for k in range(count):
        item = list_item(thing, k) if listed else tuple_item(thing, k)
        if not is_tensor(type_of(item)):
            return False
        if not encode_tensor(call, item):
            return False
    return True


@unit.function
def encode(call: ptr, thing: obj, mode: i64) -> bool_:
    """One argument by its mode: T, S, L or X (see `Record.modes`)."""
    if mode == 88:  # X
        return encode_static(call, thing, 0)
    if mode == 76:  # L
        return encode_tensors(call, thing)
    kind = type_of(thing)
    if mode == 84 and is_tensor(kind):  # T
        return encode_tensor(call, thing)
    if thing == obj(none_object):
        push(call, 6)
        push(call, i64(thing))
        return True
    return encode_number(call, thing, kind)
