"""What a tensor is, as Python objects: sizes, flags, values, and the tensor off the tape.

Each function here stands in front of a Python twin, to which everything goes that is not a plain
tensor in an ordinary place. What a plan's key says of a tensor may be told at any time; what it
does not say, values above all, is told by the twins while a call is watched.
"""

from ...core import dtypes
from ...core.dtypes import DType
from ...core.spec import Spec
from ...targets.native import (
    Unit, bool_, external, f64, i32, i64, load_f32, load_f64, load_i8, load_i16, load_i32,
    load_i64, load_obj, load_ptr, load_u8, obj, ptr, store_obj, store_ptr, u64,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .fastcall import python_twin, unhindered
from .fastitem import D_SIZE, P_DEVICE, P_DTYPE, P_NUMEL, float_from, in_memory, place_of, truth
from .fastobjects import BIRTH, ZERO, new_tensor, over, shared
from .objects import call_one, decref, error_occurred, incref, long_as, long_from, type_of

unit = Unit("fastread")

P_SHAPE = layout.slot_offset(Spec, "shape")
P_STRIDES = layout.slot_offset(Spec, "strides")
P_NDIM = layout.slot_offset(Spec, "ndim")
P_CONTIGUOUS = layout.slot_offset(Spec, "contiguous")
P_CONJ = layout.slot_offset(Spec, "conj")
D_CODE = layout.slot_offset(DType, "code")

_FLOAT32, _FLOAT64, _INT64 = (d.code for d in (dtypes.float32, dtypes.float64, dtypes.int64))
_INT32, _INT16, _INT8 = (d.code for d in (dtypes.int32, dtypes.int16, dtypes.int8))
_UINT8, _BOOL = dtypes.uint8.code, dtypes.bool_.code

#: Places of the Python twins.
twins = unit.global_("twins", 256)
SIZE, STRIDE, DIM, NUMEL, CONTIGUOUS, DETACH, TO_LIST, EQUAL = range(0, 64, 8)
SHAPE, DTYPE, DEVICE, NDIM, REQUIRES_GRAD, DATA = range(64, 112, 8)

list_new = external("PyList_New", [i64], obj)
compare_bytes = external("memcmp", [ptr, ptr, u64], i32)

_BLOCK = 1024  # elements that are compared before anybody looks at what was found
_MOST_BYTES = 1 << 18  # what is compared here: longer work gives the GIL up


@unit.function(inline=True)
def spec_of(thing: obj) -> obj:
    """The spec of a plain tensor, borrowed; NULL for anything else."""
    return load_obj(thing, k.T_SPEC) if k.is_tensor(type_of(thing)) else None


@unit.function(inline=True)
def given(thing: obj) -> obj:
    """A new reference to what is borrowed."""
    incref(thing)
    return thing


@unit.function
def picked(things: obj, index: obj) -> obj:
    """The item of a tuple that a Python int means, borrowed; NULL where there is none."""
    if type_of(index) != obj(k.long_type):
        return None
    place, count = long_as(index), load_i64(things, layout.TUPLE_SIZE)
    if place == -1 and error_occurred() is not None:
        k.clear_error()
        return None
    if place < 0:
        place = place + count
    if place < 0 or place >= count:
        return None
    return k.tuple_item(things, place)


# ---- sizes and flags -------------------------------------------------------------------------


@unit.function
def sizes(twin: i64, slot: i64, thing: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """A tuple of the spec, or the item of it that the only argument means."""
    spec = spec_of(thing)
    if spec is not None and names is None and count < 2:
        things = load_obj(spec, slot)
        if count == 0:
            return given(things)
        item = picked(things, load_obj(arguments))
        if item is not None:
            return given(item)
    return python_twin(twins + twin, i64(0), thing, arguments, count, names, None)


@unit.function
def size(thing: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`x.size()`, `x.size(0)`."""
    return sizes(SIZE, P_SHAPE, thing, arguments, count, names)


@unit.function
def stride(thing: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`x.stride()`, `x.stride(0)`."""
    return sizes(STRIDE, P_STRIDES, thing, arguments, count, names)


@unit.function
def is_contiguous(thing: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`x.is_contiguous()`."""
    spec = spec_of(thing)
    if spec is not None and names is None and count == 0:
        return given(load_obj(spec, P_CONTIGUOUS))
    return python_twin(twins + CONTIGUOUS, i64(0), thing, arguments, count, names, None)


@unit.function(inline=True)
def told(thing: obj, slot: i64, twin: i64) -> obj:
    """What a slot of the spec holds."""
    spec = spec_of(thing)
    return given(load_obj(spec, slot)) if spec is not None else call_one(
        load_obj(twins, twin), thing)


@unit.function
def dim(thing: obj) -> obj:
    """`x.dim()`."""
    return told(thing, P_NDIM, DIM)


@unit.function
def numel(thing: obj) -> obj:
    """`x.numel()`."""
    return told(thing, P_NUMEL, NUMEL)


@unit.function
def shape(module: obj, thing: obj) -> obj:
    """`x.shape`."""
    return told(thing, P_SHAPE, SHAPE)


@unit.function
def dtype(module: obj, thing: obj) -> obj:
    """`x.dtype`."""
    return told(thing, P_DTYPE, DTYPE)


@unit.function
def device(module: obj, thing: obj) -> obj:
    """`x.device`."""
    return told(thing, P_DEVICE, DEVICE)


@unit.function
def ndim(module: obj, thing: obj) -> obj:
    """`x.ndim`."""
    return told(thing, P_NDIM, NDIM)


@unit.function
def requires_grad(module: obj, thing: obj) -> obj:
    """`x.requires_grad`; that of a view may have to be settled first."""
    if k.is_tensor(type_of(thing)) and load_obj(thing, k.T_EXTRA) == obj(k.none_object):
        wanted = load_obj(thing, k.T_REQUIRES)
        if wanted is not None:
            return given(wanted)
    return call_one(load_obj(twins, REQUIRES_GRAD), thing)


# ---- off the tape ----------------------------------------------------------------------------


@unit.function(inline=True)
def whole(thing: obj) -> bool_:
    """Whether a tensor is a plain one with all its slots filled."""
    if not k.is_tensor(type_of(thing)):
        return False
    return (load_obj(thing, k.T_STORAGE) is not None and load_obj(thing, k.T_SPEC) is not None
            and load_obj(thing, k.T_OFFSET) is not None
            and load_obj(thing, k.T_VERSION) is not None)


@unit.function
def detach(thing: obj) -> obj:
    """`x.detach()`: the version counter is shared."""
    if not unhindered() or not whole(thing):
        return call_one(load_obj(twins, DETACH), thing)
    return new_tensor(load_obj(thing, k.T_SPEC), given(load_obj(thing, k.T_STORAGE)),
                      given(load_obj(thing, k.T_OFFSET)), given(load_obj(thing, k.T_VERSION)))


@unit.function
def data(module: obj, thing: obj) -> obj:
    """`x.data`: with a version counter of its own."""
    if not unhindered() or not whole(thing) or shared(BIRTH) != shared(ZERO):
        return call_one(load_obj(twins, DATA), thing)
    made = over(load_obj(thing, k.T_SPEC), given(load_obj(thing, k.T_STORAGE)))
    if made is not None:
        before = load_obj(made, k.T_OFFSET)
        store_obj(made, k.T_OFFSET, given(load_obj(thing, k.T_OFFSET)))
        decref(before)
    return made


# ---- values ----------------------------------------------------------------------------------


@unit.function
def element(code: i64, place: ptr) -> obj:
    """A number in memory as a Python object."""
    if code == _FLOAT32:
        return float_from(f64(load_f32(place)))
    if code == _INT64:
        return long_from(load_i64(place))
    if code == _FLOAT64:
        return float_from(load_f64(place))
    if code == _BOOL:
        return truth(load_u8(place) != 0)
    if code == _INT32:
        return long_from(i64(load_i32(place)))
    if code == _UINT8:
        return long_from(i64(load_u8(place)))
    if code == _INT16:
        return long_from(i64(load_i16(place)))
    return long_from(i64(load_i8(place)))


@unit.function(inline=True)
def listed(code: i64) -> bool_:
    """Whether `element` knows a dtype."""
    return (code == _FLOAT32 or code == _INT64 or code == _FLOAT64 or code == _BOOL
            or code == _INT32 or code == _UINT8 or code == _INT16 or code == _INT8)


@unit.function
def nested(code: i64, place: ptr, nbytes: i64, sizes_: obj, depth: i64) -> obj:
    """Lists of lists of numbers from dimension `depth` on, over `nbytes` of memory."""
    if depth == load_i64(sizes_, layout.TUPLE_SIZE):
        return element(code, place)
    count = long_as(k.tuple_item(sizes_, depth))
    made = list_new(count)
    if made is None or count == 0:
        return made
    items, step = load_ptr(made, layout.LIST_ITEMS), nbytes // count
    innermost = depth + 1 == load_i64(sizes_, layout.TUPLE_SIZE)
    for index in range(count):
        here = place + index * step
        item = element(code, here) if innermost else nested(code, here, step, sizes_, depth + 1)
        if item is None:
            decref(made)
            return None
        store_ptr(items, index * 8, item)
    return made


@unit.function(inline=True)
def packed(thing: obj) -> bool_:
    """Whether a tensor's elements lie in memory one after the other, as they are."""
    if not in_memory(thing):
        return False
    spec = load_obj(thing, k.T_SPEC)
    return (load_obj(spec, P_CONTIGUOUS) == obj(k.true_object)
            and load_obj(spec, P_CONJ) == obj(k.false_object))


@unit.function
def to_list(thing: obj) -> obj:
    """`x.tolist()`."""
    if packed(thing):
        spec = load_obj(thing, k.T_SPEC)
        kind = load_obj(spec, P_DTYPE)
        code, itemsize = long_as(load_obj(kind, D_CODE)), long_as(load_obj(kind, D_SIZE))
        if listed(code):
            nbytes = long_as(load_obj(spec, P_NUMEL)) * itemsize
            return nested(code, place_of(thing, itemsize), nbytes, load_obj(spec, P_SHAPE), i64(0))
    return call_one(load_obj(twins, TO_LIST), thing)


@unit.function
def alike(a: obj, b: obj) -> bool_:
    """Whether two tuples of ints, shapes, are equal."""
    if a == b:
        return True
    count = load_i64(a, layout.TUPLE_SIZE)
    if count != load_i64(b, layout.TUPLE_SIZE):
        return False
    for index in range(count):
        if long_as(k.tuple_item(a, index)) != long_as(k.tuple_item(b, index)):
            return False
    return True


@unit.function(noalias=("a", "b"))
def differ_f32(a: ptr, b: ptr, count: i64) -> i64:
    """How many float32 numbers differ; NaN differs from itself."""
    found = i64(0)
    for index in range(count):
        found += 1 if load_f32(a, index * 4) != load_f32(b, index * 4) else 0
    return found


@unit.function(noalias=("a", "b"))
def differ_f64(a: ptr, b: ptr, count: i64) -> i64:
    """The same of float64."""
    found = i64(0)
    for index in range(count):
        found += 1 if load_f64(a, index * 8) != load_f64(b, index * 8) else 0
    return found


@unit.function
def differ(code: i64, itemsize: i64, a: ptr, b: ptr, count: i64) -> bool_:
    """Whether two runs of elements differ; the first block that does ends the search."""
    if code != _FLOAT32 and code != _FLOAT64:
        return compare_bytes(a, b, u64(count * itemsize)) != 0
    done = i64(0)
    while done < count:
        run = min(count - done, _BLOCK)
        here = done * itemsize
        if code == _FLOAT32:
            found = differ_f32(a + here, b + here, run)
        else:
            found = differ_f64(a + here, b + here, run)
        if found != 0:
            return True
        done = done + run
    return False


@unit.function
def equal(module: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """`torch.equal(a, b)`. Of long tensors the beginning may show that they differ."""
    if names is None and count == 2:
        a, b = load_obj(arguments), load_obj(arguments, 8)
        if packed(a) and packed(b):
            one, other = load_obj(a, k.T_SPEC), load_obj(b, k.T_SPEC)
            kind = load_obj(one, P_DTYPE)
            code, itemsize = long_as(load_obj(kind, D_CODE)), long_as(load_obj(kind, D_SIZE))
            if kind == load_obj(other, P_DTYPE) and listed(code):
                if one != other and not alike(load_obj(one, P_SHAPE), load_obj(other, P_SHAPE)):
                    return truth(False)
                elements = long_as(load_obj(one, P_NUMEL))
                first = min(elements, _MOST_BYTES // itemsize)
                if differ(code, itemsize, place_of(a, itemsize), place_of(b, itemsize), first):
                    return truth(False)
                if first == elements:
                    return truth(True)
    return python_twin(twins + EQUAL, i64(0), None, arguments, count, names, None)
