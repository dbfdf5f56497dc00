"""What a mask chooses: how much it is depends on values, so that no plan can say it beforehand."""

from ...core import dtypes
from ...targets.native import (
    Unit, bool_, f32, i64, load_f32, load_f64, load_i64, load_obj, load_u8, load_u16, load_u32,
    memcpy, obj, ptr, stack, store_i64, store_u8, store_u16, store_u32,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .alloc import allocate_owned
from .fastcall import FLAGS, GRAD_ON
from .fastdata import DTYPES, FIND_COLUMNS, columns, known, spec_for, spec_from
from .fastitem import D_SIZE, P_BYTES, P_DTYPE, P_NUMEL, place_of
from .fastobjects import new_result
from .fastread import D_CODE, P_SHAPE, listed, packed
from .objects import decref, incref, long_as, none

unit = Unit("fastmask")

_MOST = 1 << 17  # elements looked at here: longer work gives the GIL up
_FLOAT32, _FLOAT64 = dtypes.float32.code, dtypes.float64.code
_INT64, _BOOL = dtypes.int64.code, dtypes.bool_.code


@unit.function(noalias=("data",))
def trues(data: ptr, count: i64) -> i64:
    """How many truth values are true."""
    found = i64(0)
    for index in range(count):
        found += i64(load_u8(data, index))
    return found


@unit.function(inline=True)
def is_set(code: i64, itemsize: i64, data: ptr, index: i64) -> i64:
    """1 for an element that is not zero, else 0."""
    if code == _FLOAT32:
        return 1 if load_f32(data, index * 4) != f32(0.0) else 0
    if code == _FLOAT64:
        return 1 if load_f64(data, index * 8) != 0.0 else 0
    if itemsize == 8:
        return 1 if load_i64(data, index * 8) != 0 else 0
    if itemsize == 4:
        return 1 if load_u32(data, index * 4) != 0 else 0
    if itemsize == 2:
        return 1 if load_u16(data, index * 2) != 0 else 0
    return 1 if load_u8(data, index) != 0 else 0


@unit.function
def count_set(code: i64, itemsize: i64, data: ptr, count: i64) -> i64:
    """How many elements are not zero."""
    if code == _BOOL:
        return trues(data, count)
    found = i64(0)
    for index in range(count):
        found += is_set(code, itemsize, data, index)
    return found


@unit.function
def new_tensor(spec: obj, spare: i64, place: ptr) -> obj:
    """A new tensor and, at `place`, where its memory is; there is room for `spare` bytes more.

    NULL with an error set where there is no memory.
    """
    owner = stack(8)
    incref(spec)
    block = allocate_owned(long_as(load_obj(spec, P_BYTES)) + spare, owner)
    made = obj(None)
    if block is not None:
        store_i64(place, 0, i64(block))
        made = new_result(spec, block, load_obj(owner), load_obj(spec, P_BYTES))
    decref(spec)
    return made


# ---- positions -------------------------------------------------------------------------------


@unit.function
def split(target: ptr, count: i64, rank: i64, shape: obj) -> i64:
    """Places in memory, in column 0, to one column of indices for each dimension."""
    for back in range(rank - 1):
        d = rank - 1 - back
        size = long_as(k.tuple_item(shape, d))
        column = target + d * count * 8
        for index in range(count):
            place = load_i64(target, index * 8)
            store_i64(column, index * 8, place % size)
            store_i64(target, index * 8, place // size)
    return 0


@unit.function
def positions(module: obj, thing: obj) -> obj:
    """(count, rank) indices of elements that are not zero; None where a plan has to find them."""
    if not packed(thing):
        return none()
    spec = load_obj(thing, k.T_SPEC)
    kind, shape = load_obj(spec, P_DTYPE), load_obj(spec, P_SHAPE)
    code, itemsize = long_as(load_obj(kind, D_CODE)), long_as(load_obj(kind, D_SIZE))
    elements, rank = long_as(load_obj(spec, P_NUMEL)), load_i64(shape, layout.TUPLE_SIZE)
    if not listed(code) or elements > _MOST or rank == 0:
        return none()
    data = place_of(thing, itemsize)
    count = count_set(code, itemsize, data, elements)
    sizes, place = stack(16), stack(8)
    store_i64(sizes, 0, count)
    store_i64(sizes, 8, rank)
    wanted = spec_from(columns, known(FIND_COLUMNS), known(DTYPES + _INT64 * 8), 2, sizes)
    if wanted is None:
        return None
    made = new_tensor(wanted, i64(8), place)
    if made is None:
        return None
    target, done = ptr(load_i64(place)), i64(0)
    for index in range(elements):  # what is no hit is overwritten by the next one
        store_i64(target, done * 8, index)
        done += is_set(code, itemsize, data, index)
    split(target, count, rank, shape)
    return made


# ---- elements --------------------------------------------------------------------------------


@unit.function
def choose(itemsize: i64, target: ptr, source: ptr, mask: ptr, elements: i64) -> i64:
    """Copy elements of 1, 2, 4 or 8 bytes where a mask is true; one more may be written."""
    done = i64(0)
    for index in range(elements):
        if itemsize == 4:
            store_u32(target, done * 4, load_u32(source, index * 4))
        elif itemsize == 8:
            store_i64(target, done * 8, load_i64(source, index * 8))
        elif itemsize == 2:
            store_u16(target, done * 2, load_u16(source, index * 2))
        else:
            store_u8(target, done, load_u8(source, index))
        done += i64(load_u8(mask, index))
    return done


@unit.function
def choose_rows(nbytes: i64, target: ptr, source: ptr, mask: ptr, rows: i64) -> i64:
    """Copy rows of bytes where a mask is true."""
    done = i64(0)
    for index in range(rows):
        if load_u8(mask, index) != 0:
            memcpy(target + done * nbytes, source + index * nbytes, nbytes)
            done += 1
    return done


@unit.function
def off_tape(thing: obj) -> bool_:
    """Whether a tensor's result needs no place on the tape."""
    if load_i64(k.state, FLAGS) & GRAD_ON == 0:
        return True
    if load_obj(thing, k.T_REQUIRES) != obj(k.false_object):
        return False
    extra = load_obj(thing, k.T_EXTRA)
    return extra == obj(k.none_object) or k.settled(thing, extra, False)


@unit.function
def leads(mask: obj, shape: obj, sizes: ptr) -> bool_:
    """Whether a mask's shape is the beginning of another; `sizes` gets the rest, from place 1."""
    rank, whole = load_i64(mask, layout.TUPLE_SIZE), load_i64(shape, layout.TUPLE_SIZE)
    if rank == 0 or rank > whole or whole - rank > 14:
        return False
    for d in range(whole):
        size = long_as(k.tuple_item(shape, d))
        if d >= rank:
            store_i64(sizes, (d - rank + 1) * 8, size)
        elif long_as(k.tuple_item(mask, d)) != size:
            return False
    return True


@unit.function
def masked(module: obj, arguments: ptr, given: i64) -> obj:
    """`x[mask]` of a tensor and a mask; None where plans have to see to it."""
    thing, mask = load_obj(arguments), load_obj(arguments, 8)
    if not packed(mask) or not packed(thing) or not off_tape(thing):
        return none()
    spec, other = load_obj(thing, k.T_SPEC), load_obj(mask, k.T_SPEC)
    kind, sizes, place = load_obj(spec, P_DTYPE), stack(8 * 16), stack(8)
    if (long_as(load_obj(load_obj(other, P_DTYPE), D_CODE)) != _BOOL
            or long_as(load_obj(spec, P_NUMEL)) > _MOST
            or not leads(load_obj(other, P_SHAPE), load_obj(spec, P_SHAPE), sizes)):
        return none()
    itemsize, rows = long_as(load_obj(kind, D_SIZE)), long_as(load_obj(other, P_NUMEL))
    chosen, truths = place_of(thing, itemsize), place_of(mask, 1)
    store_i64(sizes, 0, trues(truths, rows))
    rest = (load_i64(load_obj(spec, P_SHAPE), layout.TUPLE_SIZE)
            - load_i64(load_obj(other, P_SHAPE), layout.TUPLE_SIZE))
    wanted = spec_for(kind, rest + 1, sizes)
    if wanted is None:
        return None
    made = new_tensor(wanted, i64(8), place)
    if made is None or rows == 0:
        return made
    nbytes = long_as(load_obj(spec, P_NUMEL)) * itemsize // rows
    if rest == 0 and itemsize <= 8:
        choose(itemsize, ptr(load_i64(place)), chosen, truths, rows)
    else:
        choose_rows(nbytes, ptr(load_i64(place)), chosen, truths, rows)
    return made
