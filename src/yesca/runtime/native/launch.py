"""Launching a kernel from Python: one builtin, and the stages of one launch in order."""

from ...targets.native import (
    Unit, i64, load_i64, load_obj, load_ptr, obj, ptr, stack, store_i64, unlikely, void,
)  # fmt: skip
from .objects import as_integer, gil_release, gil_restore, none, wrong_count
from .pool import dispatch

unit = Unit("launch")


@unit.function
def python_launch(module: obj, arguments: ptr, count: i64) -> obj:
    """`launch(kernel, words, total, grain)` or, always without the GIL, with a fifth, true value.

    The GIL is released when there is more than one chunk: giving it up costs more than a small
    kernel takes.
    """
    if unlikely(count != 4 and count != 5):
        return wrong_count(4, count)
    failed = stack(8)
    store_i64(failed, 0, 0)
    kernel = as_integer(load_obj(arguments, 0), failed)
    words = as_integer(load_obj(arguments, 8), failed)
    total = as_integer(load_obj(arguments, 16), failed)
    grain = as_integer(load_obj(arguments, 24), failed)
    slow = i64(0)
    if count == 5:
        slow = as_integer(load_obj(arguments, 32), failed)
    if unlikely(load_i64(failed) != 0):
        return None
    if total > grain or slow != 0:
        thread = gil_release()
        dispatch(ptr(kernel), ptr(words), total, grain)
        gil_restore(thread)
    else:
        dispatch(ptr(kernel), ptr(words), total, grain)
    return none()


@unit.function
def run_stages(table: ptr, low: i64, high: i64) -> void:
    """A kernel whose points are stages: rows of (function, words, total, grain).

    Each begins when the one before it has ended, on all threads.
    """
    while low < high:
        row = table + low * 32
        dispatch(load_ptr(row, 0), load_ptr(row, 8), load_i64(row, 16), load_i64(row, 24))
        low += 1
