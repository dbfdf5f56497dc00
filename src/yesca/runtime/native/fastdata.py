"""Tensors from Python's numbers and NumPy's arrays, and arrays over tensors.

NumPy's arrays are read at the offsets that `dispatch.bridges` has found by looking at one, and made
by the function of NumPy's own table that is stable for extensions. What is out of the ordinary
goes to the Python twins.
"""

from ...core import dtypes
from ...core.storage import EXPORTED, FOREIGN
from ...targets.native import (
    Unit, bool_, call_i32, call_obj, external, external_data, f32, f64, i32, i64, load_f64,
    load_i32, load_i64, load_obj, load_ptr, memcpy, obj, ptr, stack, store_f32, store_f64,
    store_i64, store_obj, store_ptr, store_u8, u8, void,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .alloc import allocate_owned
from .fastcall import (
    DEFAULT_DEVICES, DEFAULT_DTYPES, FLAGS, GRAD_ON, last_item, python_twin, unhindered,
)  # fmt: skip
from .fastitem import D_SIZE, P_BYTES, P_DTYPE, P_NUMEL, in_memory, place_of
from .fastobjects import (
    CPU, S_ADDRESS, S_BYTES, S_DEVICE, S_FLAGS, S_OWNER, S_TYPED, new_object, new_result, over,
    put, shared,
)  # fmt: skip
from .fastread import D_CODE, P_CONJ, P_CONTIGUOUS, P_SHAPE, P_STRIDES, given
from .objects import (
    decref, error_occurred, incref, long_as, long_from, tuple_new, tuple_set, type_of,
)

unit = Unit("fastdata")

#: Objects, addresses and offsets, entered by `dispatch.bridges`: twins and names first, then what
#: is known of NumPy, then its dtypes and ours by our dtypes' codes.
things = unit.global_("things", 544)
TENSOR, AS_TENSOR, FROM_NUMPY, TO_NUMPY, FIND_SPEC, NAME_DTYPE, NAME_GRAD, FIND_COLUMNS = range(
    0, 64, 8)
ARRAY_TYPE, MAKE_ARRAY, SET_BASE = 64, 72, 80
A_DATA, A_RANK, A_SIZES, A_STRIDES, A_KIND, A_FLAGS = range(96, 144, 8)
KINDS, DTYPES, CODES = 160, 352, 24
#: Specs that were found lately: of contiguous tensors, and of matrices that lie column by column.
specs = unit.global_("specs", 512 * 8)
columns = unit.global_("columns", 512 * 8)

_MOST_RANK = 16
_MOST_BYTES = 1 << 16  # that are copied here: longer work gives the GIL up
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 1, 0x100, 0x400  # NumPy's flags
_FLOAT32, _FLOAT64 = dtypes.float32.code, dtypes.float64.code
_INT64, _BOOL = dtypes.int64.code, dtypes.bool_.code
_BORROWED = EXPORTED | FOREIGN

vectorcall = external("PyObject_Vectorcall", [obj, ptr, i64, obj], obj)
as_double = external("PyLong_AsDouble", [obj], f64)
boolean_type = external_data("PyBool_Type")


@unit.function(inline=True)
def known(place: i64) -> obj:
    """One of the things, borrowed."""
    return load_obj(things, place)


@unit.function
def suits(spec: obj, dtype: obj, rank: i64, sizes: ptr) -> bool_:
    """Whether a spec is of this dtype and shape."""
    if load_obj(spec, P_DTYPE) != dtype:
        return False
    shape = load_obj(spec, P_SHAPE)
    if load_i64(shape, layout.TUPLE_SIZE) != rank:
        return False
    for d in range(rank):
        if long_as(k.tuple_item(shape, d)) != load_i64(sizes, d * 8):
            return False
    return True


@unit.function(inline=True)
def spec_for(dtype: obj, rank: i64, sizes: ptr) -> obj:
    """The spec of a contiguous tensor on the CPU, borrowed; NULL with an error set."""
    return spec_from(specs, known(FIND_SPEC), dtype, rank, sizes)


@unit.function
def spec_from(lately: ptr, find: obj, dtype: obj, rank: i64, sizes: ptr) -> obj:
    """The spec that `find` gives for a dtype and a shape, borrowed; NULL with an error set."""
    code = i64(dtype) >> 4
    for d in range(rank):
        code = code * 31 + load_i64(sizes, d * 8)
    place = ((code ^ (code >> 9)) & 511) * 8
    found = load_obj(lately, place)
    if found is not None and suits(found, dtype, rank, sizes):
        return found
    shape = tuple_new(rank)
    if shape is None:
        return None
    for e in range(rank):
        tuple_set(shape, e, long_from(load_i64(sizes, e * 8)))
    arguments = stack(16)
    store_ptr(arguments, 0, dtype)
    store_ptr(arguments, 8, shape)
    made = vectorcall(find, arguments, i64(2), None)
    decref(shape)
    if made is None:
        return None
    before = load_obj(lately, place)
    store_obj(lately, place, made)
    if before is not None:
        decref(before)
    return made


# ---- numbers ---------------------------------------------------------------------------------


@unit.function(inline=True)
def is_sequence(thing: obj) -> bool_:
    """Whether a thing is a list or a tuple, and of no subclass."""
    return type_of(thing) == obj(k.list_type) or type_of(thing) == obj(k.tuple_type)


@unit.function(inline=True)
def items_of(thing: obj) -> ptr:
    """Where the items of a list or tuple are."""
    if type_of(thing) == obj(k.list_type):
        return load_ptr(thing, layout.LIST_ITEMS)
    return ptr(thing) + layout.TUPLE_ITEMS


@unit.function
def measure(given_: obj, sizes: ptr) -> i64:
    """The rank of nested lists, by the first of each, and their sizes; -1 for what is not known."""
    rank = i64(0)
    thing = given_
    while is_sequence(thing):
        count = load_i64(thing, layout.TUPLE_SIZE)
        if count == 0 or rank == _MOST_RANK:
            return -1
        store_i64(sizes, rank * 8, count)
        rank = rank + 1
        thing = load_obj(items_of(thing))
    return rank


@unit.function
def category(thing: obj, rank: i64, sizes: ptr) -> i64:
    """0 for truth values, 1 with ints, 2 with floats among them; -1 for what is not known."""
    if rank == 0:
        kind = type_of(thing)
        if kind == obj(k.float_type):
            return 2
        if kind == obj(k.long_type):
            return 1
        return 0 if kind == obj(boolean_type) else -1
    if not is_sequence(thing) or load_i64(thing, layout.TUPLE_SIZE) != load_i64(sizes):
        return -1
    items, found = items_of(thing), i64(0)
    for index in range(load_i64(sizes)):
        one = category(load_obj(items, index * 8), rank - 1, sizes + 8)
        if one < 0:
            return -1
        found = max(found, one)
    return found


@unit.function
def number(thing: obj, code: i64, place: ptr) -> bool_:
    """Store a number; False for one that is too large."""
    kind = type_of(thing)
    if kind == obj(boolean_type):
        whole = i64(1) if thing == obj(k.true_object) else i64(0)
        if code == _BOOL:
            store_u8(place, 0, u8(whole))
            return True
        value = f64(whole)
    elif kind == obj(k.float_type):
        whole = i64(0)
        value = load_f64(thing, layout.FLOAT_VALUE)
    elif code == _INT64:
        value = 0.0
        whole = long_as(thing)
        if whole == -1 and error_occurred() is not None:
            k.clear_error()
            return False
    else:
        whole = i64(0)
        value = as_double(thing)
        if value == -1.0 and error_occurred() is not None:
            k.clear_error()
            return False
    if code == _FLOAT32:
        store_f32(place, 0, f32(value))
    elif code == _FLOAT64:
        store_f64(place, 0, value)
    else:
        store_i64(place, 0, whole)
    return True


@unit.function
def write(thing: obj, rank: i64, sizes: ptr, code: i64, nbytes: i64, place: ptr) -> bool_:
    """Store the numbers of nested lists over `nbytes` of memory."""
    if rank == 0:
        return number(thing, code, place)
    count = load_i64(sizes)
    items, step = items_of(thing), nbytes // count
    for index in range(count):
        item, here = load_obj(items, index * 8), place + index * step
        done = number(item, code, here) if rank == 1 else write(
            item, rank - 1, sizes + 8, code, step, here)
        if not done:
            return False
    return True


@unit.function
def dtype_for(found: i64, wanted: obj) -> obj:
    """The dtype of a new tensor of numbers, borrowed; NULL where Python has to see to it."""
    dtype = wanted
    if dtype is None:
        dtype = known(DTYPES + _BOOL * 8) if found == 0 else known(DTYPES + _INT64 * 8)
        if found == 2:
            dtype = last_item(load_obj(k.state, DEFAULT_DTYPES))
    if dtype == known(DTYPES + _FLOAT32 * 8) or dtype == known(DTYPES + _FLOAT64 * 8):
        return dtype
    if dtype == known(DTYPES + _INT64 * 8):
        return dtype if found < 2 else None
    return dtype if dtype == known(DTYPES + _BOOL * 8) and found == 0 else None


@unit.function
def from_numbers(things_: obj, wanted: obj) -> obj:
    """A new tensor of numbers; NULL, without an error, where Python has to see to it."""
    sizes, owner = stack(8 * 16), stack(8)
    rank = measure(things_, sizes)
    found = i64(-1) if rank < 0 else category(things_, rank, sizes)
    dtype = None if found < 0 else dtype_for(found, wanted)
    if dtype is None:
        return None
    spec = spec_for(dtype, rank, sizes)
    if spec is None:
        k.clear_error()
        return None
    incref(spec)
    nbytes = long_as(load_obj(spec, P_BYTES))
    place = allocate_owned(nbytes, owner)
    made = obj(None)
    if place is None:
        k.clear_error()
    elif write(things_, rank, sizes, long_as(load_obj(dtype, D_CODE)), nbytes, place):
        made = new_result(spec, place, load_obj(owner), load_obj(spec, P_BYTES))
    else:
        decref(load_obj(owner))
    decref(spec)
    return made


# ---- arrays ----------------------------------------------------------------------------------


@unit.function
def dtype_of(array: obj) -> obj:
    """Our dtype of an array, borrowed; NULL if it has none."""
    kind = load_obj(array, load_i64(things, A_KIND))
    for code in range(CODES):
        if load_obj(things, KINDS + code * 8) == kind:
            return load_obj(things, DTYPES + code * 8)
    return None


@unit.function
def spec_of_array(array: obj, flags: i64) -> obj:
    """The spec of an array in one piece that has these flags, borrowed; NULL for all others."""
    has = i64(load_i32(array, load_i64(things, A_FLAGS)))
    rank = i64(load_i32(array, load_i64(things, A_RANK)))
    if has & flags != flags or rank > _MOST_RANK:
        return None
    dtype = dtype_of(array)
    if dtype is None:
        return None
    sizes = load_ptr(array, load_i64(things, A_SIZES))
    strides = load_ptr(array, load_i64(things, A_STRIDES))
    step = long_as(load_obj(dtype, D_SIZE))
    for back in range(rank):
        d = rank - 1 - back
        if load_i64(strides, d * 8) != step or load_i64(sizes, d * 8) == 0:
            return None  # also where a stride does not matter: it is kept
        step = step * load_i64(sizes, d * 8)
    spec = spec_for(dtype, rank, sizes)
    if spec is None:
        k.clear_error()
    return spec


@unit.function(inline=True)
def is_array(thing: obj) -> bool_:
    """Whether a thing is an array, and of no subclass."""
    return type_of(thing) == load_obj(things, ARRAY_TYPE)


@unit.function
def over_array(array: obj) -> obj:
    """A tensor over an array's memory; NULL, without an error, where Python has to see to it."""
    spec = spec_of_array(array, i64(_CONTIGUOUS | _WRITEABLE))
    if spec is None:
        return None
    incref(spec)  # making objects may run other code
    storage = new_object(shared(k.STORAGE_TYPE), 0)
    if storage is None:
        k.clear_error()
        decref(spec)
        return None
    store_obj(storage, S_ADDRESS, long_from(load_i64(array, load_i64(things, A_DATA))))
    put(storage, S_BYTES, load_obj(spec, P_BYTES))
    put(storage, S_DEVICE, shared(CPU))
    put(storage, S_OWNER, array)
    store_obj(storage, S_FLAGS, long_from(i64(_BORROWED)))
    put(storage, S_TYPED, obj(k.none_object))
    made = over(spec, storage)
    decref(spec)
    return made


@unit.function
def copy_of_array(array: obj) -> obj:
    """A tensor with a copy of a small array; NULL, without an error, for Python to see to it."""
    spec = spec_of_array(array, i64(_CONTIGUOUS))
    if spec is None:
        return None
    nbytes, owner = long_as(load_obj(spec, P_BYTES)), stack(8)
    if nbytes > _MOST_BYTES:
        return None
    incref(spec)
    place = allocate_owned(nbytes, owner)
    made = obj(None)
    if place is None:
        k.clear_error()
    else:
        memcpy(place, load_ptr(array, load_i64(things, A_DATA)), nbytes)
        made = new_result(spec, place, load_obj(owner), load_obj(spec, P_BYTES))
    decref(spec)
    return made


@unit.function
def from_numpy(module: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`torch.from_numpy(array)`."""
    if names is None and count == 1 and unhindered() and is_array(load_obj(arguments)):
        made = over_array(load_obj(arguments))
        if made is not None:
            return made
    return python_twin(things + FROM_NUMPY, i64(0), None, arguments, count, names, None)


@unit.function
def made_of(data: obj, wanted: obj, copy: bool_) -> obj:
    """A tensor of numbers or of an array; NULL, without an error, for Python to see to it."""
    if last_item(load_obj(k.state, DEFAULT_DEVICES)) != shared(CPU):
        return None
    if not is_array(data):
        return from_numbers(data, wanted)
    if wanted is not None:
        return None
    return copy_of_array(data) if copy else over_array(data)


@unit.function
def options(arguments: ptr, names: obj, wanted: ptr) -> bool_:
    """Keyword arguments: a dtype and whether a gradient is wanted; False if there are others."""
    for index in range(load_i64(names, layout.TUPLE_SIZE)):
        name, value = k.tuple_item(names, index), load_obj(arguments, index * 8)
        if name == known(NAME_DTYPE) and type_of(value) == load_obj(k.state, k.DTYPE_TYPE):
            store_ptr(wanted, 0, value)
        elif name == known(NAME_GRAD) and value == obj(k.true_object):
            store_ptr(wanted, 8, value)
        elif name != known(NAME_GRAD) or value != obj(k.false_object):
            return False
    return True


@unit.function
def tensor(module: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`torch.tensor(data, dtype=, requires_grad=)`."""
    wanted = stack(16)
    store_i64(wanted, 0, 0)
    store_i64(wanted, 8, 0)
    if count == 1 and unhindered() and (names is None or options(arguments + 8, names, wanted)):
        made = made_of(load_obj(arguments), load_obj(wanted), True)
        if made is not None and load_obj(wanted, 8) is not None:
            dtype = load_obj(load_obj(made, k.T_SPEC), P_DTYPE)
            if dtype == known(DTYPES + _FLOAT32 * 8) or dtype == known(DTYPES + _FLOAT64 * 8):
                before = load_obj(made, k.T_REQUIRES)
                put(made, k.T_REQUIRES, obj(k.true_object))
                decref(before)
            else:
                decref(made)
                made = None
        if made is not None:
            return made
    return python_twin(things + TENSOR, i64(0), None, arguments, count, names, None)


@unit.function
def as_tensor(module: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`torch.as_tensor(data)`: plain tensors are given back as they are."""
    if names is None and count == 1 and unhindered():
        data = load_obj(arguments)
        if k.is_tensor(type_of(data)):
            return given(data)
        made = made_of(data, None, False)
        if made is not None:
            return made
    return python_twin(things + AS_TENSOR, i64(0), None, arguments, count, names, None)


@unit.function
def export(thing: obj) -> void:
    """Note that a tensor's memory is known outside of the engine."""
    storage = load_obj(thing, k.T_STORAGE)
    flags = load_obj(storage, S_FLAGS)
    bits = long_as(flags)
    if bits & EXPORTED == 0:
        store_obj(storage, S_FLAGS, long_from(bits | EXPORTED))
        decref(flags)


@unit.function
def new_array(thing: obj, kind: obj, spec: obj) -> obj:
    """An array over a tensor's memory; NULL with an error set."""
    sizes, strides = stack(8 * 16), stack(8 * 16)
    shape, steps = load_obj(spec, P_SHAPE), load_obj(spec, P_STRIDES)
    rank = load_i64(shape, layout.TUPLE_SIZE)
    itemsize = long_as(load_obj(load_obj(spec, P_DTYPE), D_SIZE))
    for d in range(rank):
        store_i64(sizes, d * 8, long_as(k.tuple_item(shape, d)))
        store_i64(strides, d * 8, long_as(k.tuple_item(steps, d)) * itemsize)
    natural = load_obj(spec, P_CONTIGUOUS) == obj(k.true_object)
    incref(kind)  # taken over
    made = call_obj(load_ptr(things, MAKE_ARRAY), known(ARRAY_TYPE), kind, i32(rank), sizes,
                    ptr(None) if natural else strides, place_of(thing, itemsize),
                    i32(_ALIGNED | _WRITEABLE), obj(None))
    if made is None:
        return None
    call_i32(load_ptr(things, SET_BASE), made, given(load_obj(thing, k.T_STORAGE)))
    return made


@unit.function
def to_numpy(thing: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`x.numpy()`."""
    if names is None and count == 0 and in_memory(thing) and known(MAKE_ARRAY) is not None:
        spec = load_obj(thing, k.T_SPEC)
        code = long_as(load_obj(load_obj(spec, P_DTYPE), D_CODE))
        kind = load_obj(things, KINDS + code * 8)
        taped = (load_obj(thing, k.T_REQUIRES) != obj(k.false_object)
                 and load_i64(k.state, FLAGS) & GRAD_ON != 0)
        if (kind is not None and not taped and long_as(load_obj(spec, P_NUMEL)) > 0
                and load_i64(load_obj(spec, P_SHAPE), layout.TUPLE_SIZE) <= _MOST_RANK
                and load_obj(spec, P_CONJ) == obj(k.false_object)):
            export(thing)
            return new_array(thing, kind, spec)
    return python_twin(things + TO_NUMPY, i64(0), thing, arguments, count, names, None)
