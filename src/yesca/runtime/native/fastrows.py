"""Parts of a tensor at numbers and runs: `x[i]`, `x[i, j]`, `x[a:b]`.

A plan's key holds the values of an index, and a loop over the rows of a tensor has a new value
each time: plans of its rows would push all others out. What a row or a run looks like depends on
the tensor's spec alone, so that the spec remembers it, and the view is made here. All other
indices go on to the builtin that finds plans.
"""

from ...core.spec import Spec
from ...targets.native import (
    Unit, bool_, i64, load_i64, load_obj, obj, ptr, stack, store_i64, store_obj, u64,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .fastcall import FLAGS, GRAD_ON, give_back, unhindered, vectorcall
from .fastobjects import EXTRA_TYPE, NO_GRAD_TYPE, shared
from .fastread import P_SHAPE, P_STRIDES
from .fastviews import seen_as
from .objects import decref, error_occurred, incref, long_as, long_from, type_of

unit = Unit("fastrows")

P_ROW = layout.slot_offset(Spec, "row")
P_RUN = layout.slot_offset(Spec, "run")

#: Places: the builtin in front of which this one stands, and the functions that fill the slots.
things = unit.global_("things", 64)
TWIN, FIND_ROW, FIND_RUN = 0, 8, 16


@unit.function
def whole(thing: obj, failed: ptr) -> i64:
    """The value of a Python int; marks the word at `failed` for anything else."""
    if type_of(thing) != obj(k.long_type):
        store_i64(failed, 0, 1)
        return 0
    value = long_as(thing)
    if value == -1 and error_occurred() is not None:
        k.clear_error()
        store_i64(failed, 0, 1)
    return value


@unit.function(inline=True)
def first(numbers: obj) -> i64:
    """The first item of a shape or of strides."""
    return long_as(k.tuple_item(numbers, 0))


@unit.function
def row_of(spec: obj) -> obj:
    """The spec of one row, borrowed; NULL where there is none, or where it needs a plan."""
    if load_obj(spec, P_ROW) is None:
        found = vectorcall_two(FIND_ROW, spec, None)
        if found is None:
            k.clear_error()
            return None
        give_back(found)
    row = load_obj(spec, P_ROW)
    return None if row == obj(k.none_object) else row


@unit.function
def run_of(spec: obj, length: i64) -> obj:
    """The spec of so many rows, borrowed; the one that was asked for last is remembered."""
    run = load_obj(spec, P_RUN)
    if run is not None and first(load_obj(run, P_SHAPE)) == length:
        return run
    count = long_from(length)
    found = vectorcall_two(FIND_RUN, spec, count)
    give_back(count)
    if found is None:
        k.clear_error()
        return None
    give_back(found)
    return load_obj(spec, P_RUN)


@unit.function
def vectorcall_two(place: i64, one: obj, other: obj) -> obj:
    """Call one of the `things` with an argument, or with two."""
    given = stack(16)
    store_obj(given, 0, one)
    store_obj(given, 8, other)
    return vectorcall(load_obj(things, place), given, u64(1) if other is None else u64(2), None)


@unit.function
def at_numbers(spec: obj, items: ptr, count: i64, moved: ptr) -> obj:
    """The spec of a part at some numbers, and how far on it is; NULL where plans are needed."""
    failed = stack(8)
    store_i64(failed, 0, 0)
    now, elements = spec, i64(0)
    for item in range(count):
        row = row_of(now)
        value = whole(load_obj(items, item * 8), failed)
        if row is None or load_i64(failed) != 0:
            return None
        size = first(load_obj(now, P_SHAPE))
        if value < 0:
            value = value + size
        if value < 0 or value >= size:
            return None
        elements = elements + value * first(load_obj(now, P_STRIDES))
        now = row
    store_i64(moved, 0, elements)
    return now


@unit.function
def bound(thing: obj, size: i64, absent: i64, failed: ptr) -> i64:
    """Where a slice starts or stops, within the size."""
    if thing == obj(k.none_object):
        return absent
    value = whole(thing, failed)
    if value < 0:
        value = value + size
    return min(max(value, 0), size)


@unit.function
def at_run(spec: obj, index: obj, moved: ptr) -> obj:
    """The same for a slice without a step."""
    if load_obj(index, k.SLICE_STEP) != obj(k.none_object) or row_of(spec) is None:
        return None
    failed = stack(8)
    store_i64(failed, 0, 0)
    size = first(load_obj(spec, P_SHAPE))
    start = bound(load_obj(index, k.SLICE_START), size, 0, failed)
    stop = bound(load_obj(index, k.SLICE_STOP), size, size, failed)
    if load_i64(failed) != 0:
        return None
    store_i64(moved, 0, start * first(load_obj(spec, P_STRIDES)))
    return run_of(spec, max(stop - start, 0))


@unit.function
def part(spec: obj, index: obj, moved: ptr) -> obj:
    """The spec of a part, borrowed, and how far on it is; NULL for what is not known here."""
    kind = type_of(index)
    if kind == obj(k.long_type):
        one = stack(8)
        store_obj(one, 0, index)
        return at_numbers(spec, one, 1, moved)
    if kind == obj(k.slice_type):
        return at_run(spec, index, moved)
    if kind == obj(k.tuple_type):
        count = load_i64(index, layout.TUPLE_SIZE)
        if count > 0:
            return at_numbers(spec, ptr(index) + layout.TUPLE_ITEMS, count, moved)
    return None


@unit.function
def ready(thing: obj, grad: i64) -> bool_:
    """Whether a tensor is a plain one off the tape, whose views are made as they are here."""
    if not k.is_tensor(type_of(thing)):
        return False
    call = stack(k.CALL_BYTES, 64)
    store_i64(call, k.LENGTH, 2)
    store_i64(call, k.TENSORS_USED, 0)
    store_i64(call, k.MASK, 0)
    store_i64(call, k.GRAD, grad)
    return k.encode_tensor(call, thing) and load_i64(call, k.MASK) == 0


@unit.function
def subscript(thing: obj, index: obj) -> obj:
    """`x[index]`."""
    if unhindered():
        grad = load_i64(k.state, FLAGS) & GRAD_ON
        if ready(thing, grad):
            moved = stack(8)
            spec = part(load_obj(thing, k.T_SPEC), index, moved)
            if spec is not None:
                kind = shared(EXTRA_TYPE) if grad != 0 else shared(NO_GRAD_TYPE)
                incref(spec)
                made = seen_as(thing, spec, load_i64(moved), kind)
                decref(spec)
                return made
    return vectorcall_two(TWIN, thing, index)
