"""The beginning and the end of a compiled call, where nothing stands in the builtin path's way.

Their twins in Python, `graph.recorder.Recorder.begin` and `end`, do the rest: what is new, what is
watched, what went wrong.
"""

from ...targets.native import (
    Unit, bool_, external, i32, i64, load_i64, load_obj, load_ptr, obj, ptr, stack, store_i64,
    store_obj, store_ptr, unlikely, void,
)  # fmt: skip
from ..recording import (
    COUNT, FRAME, NODE, NOTHING, OTHERS_LIVE, PENDING_BYTES, RAN, ROUSES, STORAGES, WATCHED,
)  # fmt: skip
from . import fastkey as k
from .capture import TAPE, gc_disable, gc_enable
from .fastcall import FLAGS, RECORDING, unhindered
from .finish import run_frame
from .objects import as_integer, incref, long_from, wrong_count
from .pool import rouse

unit = Unit("bracket")

set_slice = external("PyList_SetSlice", [obj, i64, i64, obj], i32)


@unit.function(inline=True)
def truth(value: bool_) -> obj:
    """True or False."""
    made = obj(k.true_object) if value else obj(k.false_object)
    incref(made)
    return made


@unit.function
def python_begin(module: obj, arguments: ptr, count: i64) -> obj:
    """`begin(tape, root)`: record from a trie's root on; False: flags have to be looked at."""
    if unlikely(count != 2):
        return wrong_count(2, count)
    failed = stack(8)
    store_i64(failed, 0, 0)
    tape = ptr(as_integer(load_obj(arguments, 0), failed))
    root = as_integer(load_obj(arguments, 8), failed)
    if unlikely(load_i64(failed) != 0):
        return None
    store_i64(tape, NODE * 8, root)
    if load_i64(ptr(root), ROUSES * 8) != 0:
        rouse()
    if not unhindered():
        return truth(False)
    store_ptr(k.state, TAPE, tape)
    store_obj(k.state, k.RECORDED_TYPE, load_obj(tape, WATCHED * 8))
    store_i64(k.state, FLAGS, load_i64(k.state, FLAGS) | RECORDING)
    return truth(True)


@unit.function
def forget(tape: ptr) -> void:
    """Empty a recording that has run."""
    number = load_i64(tape, COUNT * 8)
    for word in range(COUNT, PENDING_BYTES + 1):
        store_i64(tape, word * 8, 0)
    set_slice(load_obj(tape, STORAGES * 8), 0, number, None)


@unit.function
def run_last(tape: ptr) -> i64:
    """Run the program that ran last where the recording ends; as `run_frame`."""
    frame = load_ptr(load_ptr(tape, NODE * 8), FRAME * 8)
    if frame is None:
        return i64(OTHERS_LIVE)
    collects = gc_disable()  # finalizers may run operators, and so record or run calls
    state = run_frame(tape, frame)
    if state == RAN:
        forget(tape)
    if collects != 0:
        gc_enable()
    return state


@unit.function
def python_conclude(module: obj, given: obj) -> obj:
    """`conclude(tape)`: record no longer, and run what is recorded.

    NOTHING, RAN: the tape is empty. Else it is as before, and the flags may still say that launches
    are recorded; after REPORTED the error words are among the values.
    """
    failed = stack(8)
    store_i64(failed, 0, 0)
    tape = ptr(as_integer(given, failed))
    if unlikely(load_i64(failed) != 0):
        return None
    if not unhindered():
        return long_from(OTHERS_LIVE)
    store_i64(k.state, FLAGS, load_i64(k.state, FLAGS) & ~RECORDING)
    store_i64(k.state, k.RECORDED_TYPE, 0)
    state = i64(NOTHING)
    if load_i64(tape, COUNT * 8) != 0:
        state = run_last(tape)
        if state < 0:
            return None
    return long_from(state)
