"""Batches of samples: tensors of one spec along a new dimension, rows of a tensor at some numbers.

What a data loader does for every batch: any number of small copies, and nothing for the tape. The
rest, long copies too, is left to plans, which use several threads.
"""

from ...targets.native import (
    Unit, bool_, i64, load_i64, load_obj, memcpy, obj, ptr, stack, store_i64,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .fastcall import FLAGS, RECORDING, give_back
from .fastitem import D_SIZE, P_BYTES, P_DTYPE, place_of
from .fastmask import new_tensor, off_tape
from .fastread import P_SHAPE, packed
from .fastrows import whole
from .fastrun import call_python
from .objects import decref, incref, long_as, none, type_of

unit = Unit("faststack")

#: What finds the spec of a batch of samples.
finder = unit.global_("finder", 8)
pair_format = unit.global_("pair_format", 8, 8)
_MOST = 1 << 21  # bytes: longer copies give the GIL up, and are shared among threads


@unit.function
def batch_of(spec: obj, count: i64, place: ptr) -> obj:
    """A new contiguous tensor, and where its memory is; NULL where an error is set.

    count: of samples of this spec; -1 less the number of rows of such a tensor.
    """
    found = call_python(load_obj(finder), pair_format, spec, count)
    if found is None:
        return None
    made = new_tensor(found, i64(0), place)
    give_back(found)
    return made


@unit.function
def stacked(module: obj, things: obj) -> obj:
    """`stack(things)` of a list or tuple; None where plans have to see to it."""
    kind = type_of(things)
    if kind != obj(k.list_type) and kind != obj(k.tuple_type):
        return none()
    count = load_i64(things, layout.TUPLE_SIZE)
    if count == 0 or load_i64(k.state, FLAGS) & RECORDING != 0:
        return none()
    first = item_of(things, kind == obj(k.list_type), 0)
    if not packed(first):
        return none()
    spec = load_obj(first, k.T_SPEC)
    nbytes = long_as(load_obj(spec, P_BYTES))
    if nbytes * count > _MOST:
        return none()
    incref(spec)
    place = stack(8)
    made = batch_of(spec, count, place)
    if made is not None and not copy_all(ptr(load_i64(place)), things, count, spec):
        decref(made)
        made = none()
    decref(spec)
    return made


@unit.function(inline=True)
def item_of(things: obj, listed: bool_, index: i64) -> obj:
    """An item of a list or tuple, borrowed."""
    return k.list_item(things, index) if listed else k.tuple_item(things, index)


@unit.function
def joinable(thing: obj, kind: obj, shape: obj) -> i64:
    """The rows of a tensor of a dtype that may follow one of a shape; -1 if it may not."""
    if not packed(thing) or not off_tape(thing):
        return -1
    spec = load_obj(thing, k.T_SPEC)
    sizes, rank = load_obj(spec, P_SHAPE), load_i64(shape, layout.TUPLE_SIZE)
    if load_obj(spec, P_DTYPE) != kind or load_i64(sizes, layout.TUPLE_SIZE) != rank:
        return -1
    for d in range(1, rank):
        if long_as(k.tuple_item(sizes, d)) != long_as(k.tuple_item(shape, d)):
            return -1
    return long_as(k.tuple_item(sizes, 0))


@unit.function
def joined(module: obj, things: obj) -> obj:
    """`cat(things)` of a list or tuple; None where plans have to see to it."""
    listed = type_of(things) == obj(k.list_type)
    if not listed and type_of(things) != obj(k.tuple_type):
        return none()
    count = load_i64(things, layout.TUPLE_SIZE)
    if count == 0 or load_i64(k.state, FLAGS) & RECORDING != 0:
        return none()
    first = item_of(things, listed, 0)
    if not packed(first):
        return none()
    spec = load_obj(first, k.T_SPEC)
    kind, shape = load_obj(spec, P_DTYPE), load_obj(spec, P_SHAPE)
    if load_i64(shape, layout.TUPLE_SIZE) == 0:
        return none()
    rows_, nbytes = i64(0), i64(0)
    for index in range(count):
        thing = item_of(things, listed, index)
        more = joinable(thing, kind, shape)
        if more < 0:
            return none()
        rows_ = rows_ + more
        nbytes = nbytes + long_as(load_obj(load_obj(thing, k.T_SPEC), P_BYTES))
    if nbytes > _MOST or rows_ == 0:
        return none()
    incref(spec)
    place = stack(8)
    made = batch_of(spec, -1 - rows_, place)
    if made is not None and not append_all(ptr(load_i64(place)), things, count, spec, nbytes):
        decref(made)
        made = none()
    decref(spec)
    return made


# What was looked at before there was memory is looked at again: until then another thread may have
# changed it. From here on no Python code runs.


@unit.function
def copy_all(target: ptr, things: obj, count: i64, spec: obj) -> bool_:
    """Copy tensors of one spec one after the other; whether they all are that."""
    listed = type_of(things) == obj(k.list_type)
    nbytes = long_as(load_obj(spec, P_BYTES))
    itemsize = long_as(load_obj(load_obj(spec, P_DTYPE), D_SIZE))
    if load_i64(things, layout.TUPLE_SIZE) != count:
        return False
    for index in range(count):
        thing = item_of(things, listed, index)
        if not packed(thing) or load_obj(thing, k.T_SPEC) != spec or not off_tape(thing):
            return False
        if nbytes > 0:
            memcpy(target + index * nbytes, place_of(thing, itemsize), nbytes)
    return True


@unit.function
def append_all(target: ptr, things: obj, count: i64, spec: obj, room: i64) -> bool_:
    """The same of tensors with different numbers of rows, as much as there is room for."""
    listed = type_of(things) == obj(k.list_type)
    kind, shape = load_obj(spec, P_DTYPE), load_obj(spec, P_SHAPE)
    itemsize = long_as(load_obj(kind, D_SIZE))
    if load_i64(things, layout.TUPLE_SIZE) != count:
        return False
    done = i64(0)
    for index in range(count):
        thing = item_of(things, listed, index)
        if joinable(thing, kind, shape) < 0:
            return False
        nbytes = long_as(load_obj(load_obj(thing, k.T_SPEC), P_BYTES))
        if done + nbytes > room:
            return False
        if nbytes > 0:
            memcpy(target + done, place_of(thing, itemsize), nbytes)
            done = done + nbytes
    return done == room


@unit.function
def copy_rows(target: ptr, thing: obj, numbers: obj, count: i64, spec: obj) -> bool_:
    """Copy the rows at some numbers; whether they all are there."""
    if (not packed(thing) or load_obj(thing, k.T_SPEC) != spec
            or load_i64(numbers, layout.TUPLE_SIZE) != count):
        return False
    size = long_as(k.tuple_item(load_obj(spec, P_SHAPE), 0))
    nbytes = long_as(load_obj(spec, P_BYTES)) // size
    source = place_of(thing, long_as(load_obj(load_obj(spec, P_DTYPE), D_SIZE)))
    failed = stack(8)
    store_i64(failed, 0, 0)
    for index in range(count):
        number = whole(k.list_item(numbers, index), failed)
        number = number + size if number < 0 else number
        if load_i64(failed) != 0 or number >= size or number < 0:
            return False
        if nbytes > 0:
            memcpy(target + index * nbytes, source + number * nbytes, nbytes)
    return True


@unit.function
def rows(module: obj, arguments: ptr, given: i64) -> obj:
    """`x[numbers]` of a tensor and a list of ints; None where plans have to see to it."""
    thing, numbers = load_obj(arguments), load_obj(arguments, 8)
    if (not packed(thing) or not off_tape(thing) or type_of(numbers) != obj(k.list_type)
            or load_i64(k.state, FLAGS) & RECORDING != 0):
        return none()
    spec = load_obj(thing, k.T_SPEC)
    shape, count = load_obj(spec, P_SHAPE), load_i64(numbers, layout.TUPLE_SIZE)
    if load_i64(shape, layout.TUPLE_SIZE) == 0 or count == 0:
        return none()
    size = long_as(k.tuple_item(shape, 0))
    if size == 0 or long_as(load_obj(spec, P_BYTES)) // size * count > _MOST:
        return none()
    incref(spec)
    place = stack(8)
    made = batch_of(spec, -1 - count, place)
    if made is not None and not copy_rows(ptr(load_i64(place)), thing, numbers, count, spec):
        decref(made)
        made = none()
    decref(spec)
    return made
