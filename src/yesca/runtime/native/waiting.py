"""Sleeping until a 32-bit word changes: a futex on Linux, else a mutex and a condition.

Else: on other systems, and with YESCA_PORTABLE=1.

`cell` is CELL_BYTES of memory beside the word, used by the portable way only. A waker changes the
word first and calls `wake` afterwards; a sleeper gives the value it has seen. Wake-ups without a
change happen, so sleepers look again.
"""

import platform
import sys

from ...base import settings
from ...targets.native import (
    Unit, atomic_load_i32, external, i32, i64, ptr, void,
)  # fmt: skip

_CALL_NUMBERS = {"x86_64": 202, "amd64": 202, "aarch64": 98, "arm64": 98}
_FUTEX_CALL = _CALL_NUMBERS.get(platform.machine().lower(), 0)
FUTEX = sys.platform == "linux" and _FUTEX_CALL > 0 and not settings.PORTABLE.get()
_WAIT_PRIVATE, _WAKE_PRIVATE = 128, 129

# pthread_mutex_t and pthread_cond_t need at most 64 bytes each on the systems we know.
CELL_BYTES = 256
_CONDITION = 128

unit = Unit("waiting")
_system_call = external("syscall", [i64], i64, variadic=True)
_mutex_init = external("pthread_mutex_init", [ptr, ptr], i32)
_mutex_lock = external("pthread_mutex_lock", [ptr], i32)
_mutex_unlock = external("pthread_mutex_unlock", [ptr], i32)
_condition_init = external("pthread_cond_init", [ptr, ptr], i32)
_condition_wait = external("pthread_cond_wait", [ptr, ptr], i32)
_condition_broadcast = external("pthread_cond_broadcast", [ptr], i32)


@unit.function
def prepare(cell: ptr) -> void:
    """Make a cell ready; once, before its word is shared."""
    if not FUTEX:
        _mutex_init(cell, None)
        _condition_init(cell + _CONDITION, None)


@unit.function
def wait_while_equal(word: ptr, cell: ptr, seen: i32) -> void:
    """Sleep while the word equals `seen`, or until woken."""
    if FUTEX:
        _system_call(_FUTEX_CALL, word, i64(_WAIT_PRIVATE), i64(seen), ptr(0))
    else:
        _mutex_lock(cell)
        while atomic_load_i32(word) == seen:
            _condition_wait(cell + _CONDITION, cell)
        _mutex_unlock(cell)


@unit.function
def wake(word: ptr, cell: ptr, count: i64) -> void:
    """Wake up to `count` sleepers (all of them in the portable way)."""
    if FUTEX:
        _system_call(_FUTEX_CALL, word, i64(_WAKE_PRIVATE), count)
    else:
        _mutex_lock(cell)
        _condition_broadcast(cell + _CONDITION)
        _mutex_unlock(cell)
