"""Running a recording: memory for its results, the launches, then plain storages again.

The twin in Python is `graph.recorder.Recorder._run`. What a frame holds (`graph.program` writes it)
is said in `runtime.recording`.
"""

from ...targets.native import (
    Unit, bool_, i64, load_i32, load_i64, load_obj, load_ptr, memcpy, memset, obj, ptr, stack,
    store_i64, store_obj, store_ptr, u64, unlikely, void,
)  # fmt: skip
from .. import layout
from ..recording import (
    ARENA, BASES_AT, CELLS, CELLS_AT, COUNT, EARLIER, FRAME_STORAGES, FRAME_WORDS, OTHERS_LIVE, RAN,
    REPORTED, RESULT, SLOW, STORAGES, TABLE, VALUES,
)  # fmt: skip
from . import fastkey as k
from .alloc import allocate, allocate_owned, release
from .fastkey import list_item
from .fastobjects import S_ADDRESS, S_OWNER
from .objects import (
    as_integer, decref, gil_release, gil_restore, incref, long_as, long_from, out_of_memory,
    type_of, wrong_count,
)  # fmt: skip
from .replay import replay

unit = Unit("finish")


@unit.function
def same_live(storages: obj, frame: ptr) -> bool_:
    """Whether just those results are held elsewhere for which the program was made."""
    entry = frame + FRAME_WORDS * 8
    for index in range(load_i64(frame, FRAME_STORAGES * 8)):
        kind = load_i64(entry)
        if kind != EARLIER:
            held = load_i32(list_item(storages, index), layout.REFCOUNT) != 1
            if held != (kind == RESULT):
                return False
        entry = entry + 24
    return True


@unit.function
def assign(storages: obj, frame: ptr, bases: ptr) -> bool_:
    """Addresses of all that the launches start from; False with an error set."""
    entry = frame + FRAME_WORDS * 8
    for index in range(load_i64(frame, FRAME_STORAGES * 8)):
        storage, place, nbytes = list_item(storages, index), load_i64(entry, 8), load_i64(entry, 16)
        if load_i64(entry) == RESULT:
            address = ptr(0)
            owner = stack(8)
            store_ptr(owner, 0, ptr(k.none_object))
            if nbytes != 0:
                address = allocate_owned(nbytes, owner)
                if address is None:
                    return False
            else:
                incref(obj(k.none_object))
            store_obj(storage, S_ADDRESS, long_from(i64(address)))
            store_obj(storage, S_OWNER, load_obj(owner))
            store_ptr(bases, place * 8, address)
        elif place >= 0:
            store_i64(bases, place * 8, long_as(load_obj(storage, S_ADDRESS)))
        entry = entry + 24
    return True


@unit.function
def settle(storages: obj, count: i64) -> void:
    """Make all storages of the recording plain ones."""
    plain = load_obj(k.state, k.STORAGE_TYPE)
    for index in range(count):
        storage = list_item(storages, index)
        before = type_of(storage)
        incref(plain)
        store_obj(storage, layout.TYPE, plain)
        decref(before)


@unit.function
def run_frame(tape: ptr, frame: ptr) -> i64:
    """Run a recording; gives RAN, OTHERS_LIVE, REPORTED, or -1 with an error set."""
    storages = load_obj(tape, STORAGES * 8)
    if not same_live(storages, frame):
        return i64(OTHERS_LIVE)
    arena = allocate(load_i64(frame, ARENA * 8))
    if arena is None:
        out_of_memory(u64(load_i64(frame, ARENA * 8)))
        return -1
    bases = arena + load_i64(frame, BASES_AT * 8)
    store_ptr(bases, 0, arena)
    if not assign(storages, frame, bases):
        release(arena)
        return -1
    cells, reported = arena + load_i64(frame, CELLS_AT * 8), load_i64(frame, CELLS * 8)
    memset(cells, 0, reported * 8)
    values = load_ptr(tape, VALUES * 8)
    if load_i64(frame, SLOW * 8) != 0:
        thread = gil_release()
        replay(load_ptr(frame, TABLE * 8), bases, values)
        gil_restore(thread)
    else:
        replay(load_ptr(frame, TABLE * 8), bases, values)
    settle(storages, load_i64(tape, COUNT * 8))
    state = i64(RAN)
    for c in range(reported):
        if load_i64(cells, c * 8) != 0:
            state = i64(REPORTED)
    memcpy(values, cells, reported * 8)
    release(arena)
    return state


@unit.function
def python_finish(module: obj, arguments: ptr, count: i64) -> obj:
    """`finish(tape, frame)`: RAN, OTHERS_LIVE or, with errors among the values, REPORTED."""
    if unlikely(count != 2):
        return wrong_count(2, count)
    failed = stack(8)
    store_i64(failed, 0, 0)
    tape = as_integer(load_obj(arguments, 0), failed)
    frame = as_integer(load_obj(arguments, 8), failed)
    if unlikely(load_i64(failed) != 0):
        return None
    state = run_frame(ptr(tape), ptr(frame))
    if state < 0:
        return None
    return long_from(state)
