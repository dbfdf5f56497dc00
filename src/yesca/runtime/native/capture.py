"""The fast call path while a recorder is set: calls are written down instead of run.

The twin in Python is `graph.recorder.Recorder.offer`; both leave the same words. A call's key is
its plan and, for each operand, the number of its storage and where in it the operand begins (for
storages that existed before, the offset comes with each run: -1 less its place among the values,
which is one for equal offsets in a row). The trie node reached names
the likeliest next one: if its key is the call's, nothing else needs to be looked up.
"""

from ...core.storage import UntypedStorage
from ...targets.native import (
    Unit, bool_, external, i32, i64, load_i64, load_obj, load_ptr, obj, ptr, stack, store_i64,
    store_obj, store_ptr, void,
)  # fmt: skip
from .. import layout
from ..recording import (
    BRANCH, CALLS, CHECKED, CHILD, CLOSED, COUNT, KEY, LENGTH, MOST_BYTES, MOST_CALLS, MOST_VALUES,
    NODE, NUMBER_MASK, PENDING_BYTES, ROUSES, STORAGES, USED, VALUES, VALUE_SHIFT,
)  # fmt: skip
from . import fastkey as k
from . import fastobjects as things
from . import fastrun as run
from .objects import decref, incref, long_as, long_from, type_of
from .pool import rouse

unit = Unit("capture")

TAPE = 400  # place in fastkey's state, beside RECORDED_TYPE
S_NUMBER = layout.slot_offset(UntypedStorage, "_number")

TAKEN, AGAIN = 1, 2

list_append = external("PyList_Append", [obj, obj], i32)
call_words = external("PyObject_CallFunction", [obj, ptr, i64, i64], obj, variadic=True)
call_nothing = external("PyObject_CallNoArgs", [obj], obj)
gc_disable = external("PyGC_Disable", [], i32)
gc_enable = external("PyGC_Enable", [], i32)


@unit.function
def recordable(call: ptr, plan: ptr) -> bool_:
    """Whether there is room, and no operand's memory can be written by code outside."""
    tape = load_ptr(k.state, TAPE)
    if (load_i64(tape, CALLS * 8) >= MOST_CALLS or load_i64(tape, USED * 8) >= MOST_VALUES
            or load_i64(tape, PENDING_BYTES * 8) > MOST_BYTES):
        return False
    for o in range(load_i64(plan, 8)):
        storage = load_obj(load_obj(call, k.TENSORS + o * 8), k.T_STORAGE)
        if long_as(load_obj(storage, things.S_FLAGS)) != 0:
            return False
    return True


@unit.function
def runs_alone(plan: ptr) -> bool_:
    """Whether a call is run at once: it draws, from nothing, or would be run with nothing recorded
    before it."""
    if load_i64(plan, run.RECORDS) == run.DRAWS:
        return load_i64(plan, 8) == 0
    return load_i64(plan, 64) != 0 and load_i64(load_ptr(k.state, TAPE), CALLS * 8) == 0


@unit.function
def enter(tape: ptr, storage: obj, value: i64) -> i64:
    """Give a storage the next number, and `value` beside it; -1 with an error set where memory
    ran out."""
    number = load_i64(tape, COUNT * 8)
    if list_append(load_obj(tape, STORAGES * 8), storage) != 0:
        return -1
    before = load_obj(storage, S_NUMBER)
    store_obj(storage, S_NUMBER, long_from(number + (value << VALUE_SHIFT)))
    if before is not None:
        decref(before)
    store_i64(tape, COUNT * 8, number + 1)
    return number + (value << VALUE_SHIFT)


@unit.function
def keep(tape: ptr, word: i64) -> void:
    """One more value that differs between two runs."""
    used = load_i64(tape, USED * 8)
    store_i64(load_ptr(tape, VALUES * 8), used * 8, word)
    store_i64(tape, USED * 8, used + 1)


@unit.function
def number_of(tape: ptr, storage: obj, start: i64) -> i64:
    """The number of a storage; one that is new here is watched from now on."""
    watched = load_obj(k.state, k.RECORDED_TYPE)
    kind = type_of(storage)
    if kind == watched:
        return long_as(load_obj(storage, S_NUMBER))
    number = enter(tape, storage, load_i64(tape, USED * 8))
    if number >= 0:
        keep(tape, start)
        incref(watched)
        store_obj(storage, layout.TYPE, watched)
        decref(kind)
    return number


@unit.function
def place_of(tape: ptr, first: i64, start: i64) -> i64:
    """The offset in an earlier storage as the key holds it."""
    if load_i64(load_ptr(tape, VALUES * 8), first * 8) == start:
        return -1 - first
    keep(tape, start)
    return -load_i64(tape, USED * 8)


@unit.function
def advance(tape: ptr, key: ptr, count: i64) -> i64:
    """Take the trie's edge for a call; TAKEN, AGAIN or -1 with an error set.

    AGAIN: the handler of a signal came before the edge, and has run what was recorded.
    """
    store_i64(tape, CALLS * 8, load_i64(tape, CALLS * 8) + 1)
    child = load_ptr(load_ptr(tape, NODE * 8), CHILD * 8)
    if child is not None and load_i64(child, LENGTH * 8) == count:
        same = True
        for index in range(count):
            if load_i64(child, (KEY + index) * 8) != load_i64(key, index * 8):
                same = False
                break
        if same:
            store_ptr(tape, NODE * 8, child)
            if load_i64(child, ROUSES * 8) != 0:
                rouse()
            return TAKEN
    store_i64(tape, PENDING_BYTES * 8, load_i64(tape, PENDING_BYTES * 8) + CLOSED)
    made = call_words(load_obj(tape, BRANCH * 8), "LL", i64(key), count * 8)
    if made is None:
        if load_i64(tape, COUNT * 8) == 0:  # else it stays closed until it is run
            for word in range(USED, PENDING_BYTES + 1):
                store_i64(tape, word * 8, 0)
        return -1
    decref(made)
    waiting = load_i64(tape, PENDING_BYTES * 8)
    if waiting < CLOSED:
        return AGAIN
    store_i64(tape, PENDING_BYTES * 8, waiting - CLOSED)
    return TAKEN


@unit.function
def bind(call: ptr, plan: ptr) -> i64:
    """Write a call down: operands, numbers, the edge; as `advance`."""
    tape = load_ptr(k.state, TAPE)
    operands = load_i64(plan, 8)
    key = stack(1024)
    store_i64(key, 0, load_i64(plan, 56))
    for o in range(operands):
        thing = load_obj(call, k.TENSORS + o * 8)
        storage = load_obj(thing, k.T_STORAGE)
        start = long_as(load_obj(thing, k.T_OFFSET)) * load_i64(plan, (run.HEADER + o) * 8)
        number = number_of(tape, storage, start)
        if number < 0:
            return -1
        if load_obj(storage, things.S_ADDRESS) is not None:
            start = place_of(tape, number >> VALUE_SHIFT, start)
        store_i64(key, 8 + o * 16, number & NUMBER_MASK)
        store_i64(key, 16 + o * 16, start)
    fixed = load_ptr(plan, run.FIXED_WORDS)
    if fixed is not None:
        for f in range(2 * load_i64(load_obj(plan, run.FIXED), layout.TUPLE_SIZE)):
            keep(tape, load_i64(fixed, f * 8))
    else:
        for n in range(load_i64(call, k.NUMBERS_USED)):
            keep(tape, load_i64(call, k.INTEGERS + n * 8))
            keep(tape, load_i64(call, k.FLOATS + n * 8))
    return advance(tape, key, 1 + 2 * operands)


@unit.function
def pending(nbytes: obj) -> obj:
    """A storage without bytes yet; NULL with an error set."""
    storage = things.new_object(load_obj(k.state, k.RECORDED_TYPE), 0)
    if storage is None:
        return None
    things.put(storage, things.S_BYTES, nbytes)
    things.put(storage, things.S_DEVICE, things.shared(things.CPU))
    things.put(storage, things.S_FLAGS, things.shared(things.ZERO))
    things.put(storage, things.S_TYPED, obj(k.none_object))
    tape = load_ptr(k.state, TAPE)
    if enter(tape, storage, 0) < 0:
        decref(storage)
        return None
    store_i64(tape, PENDING_BYTES * 8, load_i64(tape, PENDING_BYTES * 8) + long_as(nbytes))
    return storage


@unit.function
def checked(plan: ptr) -> bool_:
    """A call that checks values runs at once, with all that is recorded before it."""
    if load_i64(plan, 64) == 0:
        return True
    made = call_nothing(load_obj(load_ptr(k.state, TAPE), CHECKED * 8))
    if made is None:
        return False
    decref(made)
    return True


@unit.function
def record(call: ptr, plan: ptr, made: ptr) -> bool_:
    """Write a call down and make the storages of its results, if it is not in place.

    The garbage collector waits until both are done: finalizers may run operators, which would be
    recorded in between, or run the recording.
    """
    collects = gc_disable()
    bound = bind(call, plan)
    while bound == AGAIN:
        bound = bind(call, plan)
    done = bound == TAKEN
    if done and made is not None:
        specs = plan + (run.HEADER + load_i64(plan, 8)) * 8
        for r in range(load_i64(plan, 16)):
            entry = specs + r * 32
            storage = pending(load_obj(entry, 16))
            if storage is None:
                run.drop(made, r)
                done = False
                break
            store_obj(made, r * 8, storage)
    if collects != 0:
        gc_enable()
    return done


@unit.function
def capture_compute(call: ptr, plan: ptr) -> obj:
    """Record a call; its results are tensors whose bytes come later."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    specs = plan + (run.HEADER + operands) * 8
    after = specs + results * 32
    made = stack(8 * 16)
    if not record(call, plan, made):
        return None
    for r in range(results):
        store_obj(made, r * 8, things.over(load_obj(specs, r * 32), load_obj(made, r * 8)))
    run.count_writes(call, plan, after)  # also where a check fails
    if not checked(plan):
        run.drop(made, results)
        return None
    return run.deliver(call, plan, made)


@unit.function
def capture_inplace(call: ptr, plan: ptr) -> obj:
    """Record a write into operand 0 and count it."""
    target = load_obj(call, k.TENSORS)
    if not record(call, plan, ptr(0)):
        return None
    run.count_write(target)
    if not checked(plan):
        return None
    incref(target)
    return target
