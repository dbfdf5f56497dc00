"""The fast call path, second half: running a plan whose key was found.

A plan block (written by `dispatch.fast`) is 8-byte words; sections follow each other:

    kind, operands, results, temporaries, launches, differentiable, view offset (of one view),
    Plan object, words of the error cell, saved values, other operands written, the class of several
    results (0: tuple), how it is recorded (RECORDED; BY_TWIN: by Python; DRAWS: not at all if it
    reads no tensor, else by Python), the one of several results that is given (-1: all), whether
    its operands must lie apart, the numbers that its key fixes as a tuple (NULL: they come with
    each call), these as words of a recording, then item sizes of the operands |
    results: spec, bytes, bytes as an object, carries a gradient |
    temporaries: bytes | saved: is a result, number | operands written |
    launches: address, total, grain, words, pointers, numbers, then the words, the pointers
    (word, slot, bytes beyond) and the numbers (word, position, 0 int, 1 float64, 2 float32)

Of several views, the place of the result's bytes holds the view's offset. A block of the kind TWIN
is that word alone: such calls go to the operator's Python function. Blocks of the kind CASTS are
those of `fastcasts`.
"""

from ...targets.native import (
    Unit, bool_, call_void, external, f32, i64, load_f64, load_i64, load_obj, load_ptr, memcpy,
    memset, obj, ptr, stack, store_f32, store_f64, store_i64, store_obj, store_ptr, u64, void,
)  # fmt: skip
from . import fastkey as k
from .alloc import allocate, allocate_owned, release
from .fastobjects import FAIL, RUNNING, S_ADDRESS, S_OWNER, ZERO, new_result, shared
from .fasttape import record
from .objects import (
    call_one, decref, gil_release, gil_restore, incref, long_as, long_from, none, out_of_memory,
    tuple_new, tuple_set,
)
from .pool import dispatch

unit = Unit("fastrun")

COMPUTE, VIEW, INPLACE, VIEWS, OUT, TWIN, CASTS = range(7)
HEADER = 17
RECORDS, PICK, APART, FIXED, FIXED_WORDS = 96, 104, 112, 120, 128
RECORDED, BY_TWIN, DRAWS = range(3)
PLACES, WORDS = 144, 512

call_python = external("PyObject_CallFunction", [obj, ptr, obj, i64], obj)


@unit.function
def address_of_operand(thing: obj, itemsize: i64) -> i64:
    """Where a tensor's first element is."""
    storage = load_obj(thing, k.T_STORAGE)
    start = long_as(load_obj(storage, S_ADDRESS))
    offset = load_obj(thing, k.T_OFFSET)
    if offset == shared(ZERO):
        return start
    return start + long_as(offset) * itemsize


@unit.function
def run_launches(call: ptr, at: ptr, launches: i64, places: ptr) -> void:
    """Fill in each launch's words and run it."""
    words = stack(4096, 64)
    here = at
    for index in range(launches):
        count, pointers, numbers = load_i64(here, 24), load_i64(here, 32), load_i64(here, 40)
        total, grain = load_i64(here, 8), load_i64(here, 16)
        memcpy(words, here + 48, count * 8)
        entry = here + 48 + count * 8
        for p in range(pointers):
            slot = load_i64(entry, 8)
            store_i64(words, load_i64(entry) * 8, load_i64(places, slot * 8) + load_i64(entry, 16))
            entry = entry + 24
        for n in range(numbers):
            position = load_i64(entry, 8)
            word = load_i64(entry) * 8
            if load_i64(entry, 16) == 1:
                store_f64(words, word, load_f64(call, k.FLOATS + position * 8))
            elif load_i64(entry, 16) == 2:
                store_i64(words, word, 0)
                store_f32(words, word, f32(load_f64(call, k.FLOATS + position * 8)))
            else:
                store_i64(words, word, load_i64(call, k.INTEGERS + position * 8))
            entry = entry + 24
        if total > grain:
            dispatch(load_ptr(here), words, total, grain)
        else:
            call_void(load_ptr(here), words, i64(0), total)
        here = entry


@unit.function
def gather(call: ptr, plan: ptr, places: ptr) -> void:
    """The operands' addresses."""
    for o in range(load_i64(plan, 8)):
        thing = load_obj(call, k.TENSORS + o * 8)
        store_i64(places, o * 8, address_of_operand(thing, load_i64(plan, (HEADER + o) * 8)))


@unit.function
def allocate_results(plan: ptr, specs: ptr, places: ptr, owners: ptr) -> bool_:
    """Memory of the results: addresses into the places, references into the owners."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    for r in range(results):
        nbytes = load_i64(specs, r * 32 + 8)
        if nbytes == 0:
            store_ptr(owners, r * 8, ptr(k.none_object))
            incref(obj(k.none_object))
            store_i64(places, (operands + r) * 8, 0)
            continue
        block = allocate_owned(nbytes, owners + r * 8)
        if block is None:
            drop(owners, r)
            return False
        store_ptr(places, (operands + r) * 8, block)
    return True


@unit.function
def drop(things: ptr, count: i64) -> void:
    """Give references back."""
    for index in range(count):
        decref(load_obj(things, index * 8))


@unit.function
def launch_all(call: ptr, plan: ptr, after_results: ptr, places: ptr, first: i64,
               cell: ptr) -> bool_:
    """Temporaries, launches, temporaries back; False with an error set where memory ran out."""
    temporaries = load_i64(plan, 24)
    for t in range(temporaries):
        scratch = allocate(load_i64(after_results, t * 8))
        if scratch is None:
            for u in range(t):
                release(load_ptr(places, (first + u) * 8))
            out_of_memory(u64(load_i64(after_results, t * 8)))
            return False
        store_ptr(places, (first + t) * 8, scratch)
    memset(cell, 0, 64)
    store_ptr(places, (first + temporaries) * 8, cell)
    at = count_writes(call, plan, after_results)
    if load_i64(plan, 48) != 0:
        without_gil(call, plan, at, places)
    else:
        run_launches(call, at, load_i64(plan, 32), places)
    for d in range(temporaries):
        release(load_ptr(places, (first + d) * 8))
    return True


@unit.function
def count_writes(call: ptr, plan: ptr, after_results: ptr) -> ptr:
    """Count the writes to other operands; gives where the launches begin."""
    at = after_results + load_i64(plan, 24) * 8 + load_i64(plan, 72) * 16
    writes = load_i64(plan, 80)
    for w in range(writes):
        count_write(load_obj(call, k.TENSORS + load_i64(at, w * 8) * 8))
    return at + writes * 8


@unit.function
def count_write(target: obj) -> void:
    """One write more to a tensor's memory."""
    version = load_obj(target, k.T_VERSION)
    if version != obj(k.none_object):
        old = load_obj(version, k.V_VALUE)
        store_obj(version, k.V_VALUE, long_from(long_as(old) + 1))
        decref(old)


@unit.function
def without_gil(call: ptr, plan: ptr, at: ptr, places: ptr) -> void:
    """Run long launches while other Python threads go on.

    The operands' bytes stay even if their storage gets others meanwhile, and so does the plan.
    """
    operands = load_i64(plan, 8)
    holders = stack(8 * 64)
    for o in range(operands):
        owner = load_obj(load_obj(load_obj(call, k.TENSORS + o * 8), k.T_STORAGE), S_OWNER)
        incref(owner)
        store_obj(holders, o * 8, owner)
    store_i64(k.state, RUNNING, load_i64(k.state, RUNNING) + 1)
    thread = gil_release()
    run_launches(call, at, load_i64(plan, 32), places)
    gil_restore(thread)
    store_i64(k.state, RUNNING, load_i64(k.state, RUNNING) - 1)
    drop(holders, operands)


@unit.function
def run_compute(call: ptr, plan: ptr) -> obj:
    """Allocate results, launch, wrap, record."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    places, owners, made, cell = stack(8 * 160), stack(8 * 16), stack(8 * 16), stack(64)
    specs = plan + (HEADER + operands) * 8
    after = specs + results * 32
    gather(call, plan, places)
    if not allocate_results(plan, specs, places, owners):
        return None
    if not launch_all(call, plan, after, places, operands + results, cell):
        drop(owners, results)
        return None
    cells = load_i64(plan, 64)
    if cells != 0 and failed(cell, cells):
        drop(owners, results)
        return call_python(shared(FAIL), fail_format, load_obj(plan, 56), i64(cell))
    for f in range(results):
        entry = specs + f * 32
        store_obj(made, f * 8, new_result(load_obj(entry), load_ptr(places, (operands + f) * 8),
                                          load_obj(owners, f * 8), load_obj(entry, 16)))
        if load_obj(made, f * 8) is None:
            return None
    return deliver(call, plan, made)


@unit.function
def deliver(call: ptr, plan: ptr, made: ptr) -> obj:
    """Put the results on the tape; one by itself, several as a tuple."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    specs = plan + (HEADER + operands) * 8
    after = specs + results * 32
    if load_i64(call, k.MASK) != 0 and load_i64(plan, 40) != 0:
        keep = after + load_i64(plan, 24) * 8
        if not record(call, plan, keep, load_i64(plan, 72), made, specs, results):
            return None
    if results == 1:
        return load_obj(made)
    if results == 0:
        return none()
    pick = load_i64(plan, PICK)
    if pick >= 0:
        chosen = load_obj(made, pick * 8)
        incref(chosen)
        drop(made, results)
        return chosen
    return together(made, results, load_obj(plan, 88))


@unit.function
def together(made: ptr, count: i64, cls: obj) -> obj:
    """Several results as a tuple, or as an object of a class that is made from one."""
    several = tuple_new(count)
    for index in range(count):
        tuple_set(several, index, load_obj(made, index * 8))
    return classed(several, cls)


@unit.function
def classed(several: obj, cls: obj) -> obj:
    """A tuple, or the object of a class that is made from it; takes its reference over."""
    if cls is None:
        return several
    named = call_one(cls, several)
    decref(several)
    return named


@unit.function
def run_inplace(call: ptr, plan: ptr) -> obj:
    """Write into operand 0 and count the write."""
    operands = load_i64(plan, 8)
    places, cell = stack(8 * 160), stack(64)
    gather(call, plan, places)
    store_i64(places, operands * 8, load_i64(places))
    target = load_obj(call, k.TENSORS)
    after = plan + (HEADER + operands) * 8 + 32
    incref(target)
    if not launch_all(call, plan, after, places, operands + 1, cell):
        decref(target)
        return None
    count_write(target)
    cells = load_i64(plan, 64)
    if cells != 0 and failed(cell, cells):
        decref(target)
        return call_python(shared(FAIL), fail_format, load_obj(plan, 56), i64(cell))
    return target


fail_format = unit.global_("fail_format", 8, 8)


@unit.function
def failed(cell: ptr, cells: i64) -> bool_:
    """Whether a kernel reported an error."""
    for index in range(cells):
        if load_i64(cell, index * 8) != 0:
            return True
    return False
