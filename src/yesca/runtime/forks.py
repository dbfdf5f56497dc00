"""One place for what must happen around a fork, in an order that cannot deadlock.

Locks are taken in the order in which they joined, which is the order in which threads nest them:
the machine's lock first, the allocator's inside it.
"""

import _imp
import contextlib
import importlib
import os
import sys
import threading
from typing import NamedTuple


class _Participant(NamedTuple):
    before: object
    in_parent: object
    in_child: object


#: The locks of modules, by name: weak references (CPython's own; absent elsewhere).
_module_locks = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
_participants = []
_inside: list[_Participant] = []  # those that a fork in progress has called


def join(before=None, in_parent=None, in_child=None) -> None:
    """Call `before` ahead of each fork of this process, then one of the others."""
    _participants.append(_Participant(before, in_parent, in_child))


def join_natively(before: int, after: int) -> bool:
    """Call machine functions inside each fork itself; False where the system cannot.

    A lock that threads wait for while they hold the GIL must be taken there: were it taken in
    Python, another thread could get the GIL before the fork, and both would wait forever.
    """
    import ctypes

    process = ctypes.CDLL(None)
    for name, more in (("__register_atfork", (None,)), ("pthread_atfork", ())):  # glibc, others
        register = getattr(process, name, None)
        if register is not None:
            places = (ctypes.c_void_p(before), ctypes.c_void_p(after), ctypes.c_void_p(after))
            return register(*places, *more) == 0
    return False


def _before() -> None:
    while True:
        _finish_imports()
        _inside[:] = _participants
        for participant in _inside:
            if participant.before is not None:
                participant.before()
        _imp.acquire_lock()  # from here on no thread begins an import
        if not _half_imported():
            return
        _after_in_parent()  # one began meanwhile, and may need a lock that is held here


#: Packages whose modules are imported when first needed, by whatever thread needs them.
_LAZY = sys.stdlib_module_names | {__name__.partition(".")[0], "numpy", "llvmlite"}


def _half_imported() -> list:
    """The locks of modules that other threads are importing now.

    A child process that forks off meanwhile would wait for them forever: the lock of a module
    is not given back by a thread that the child does not have.
    """
    found = []
    for name, reference in list(_module_locks.items()):
        lock = reference()
        owner = getattr(lock, "owner", None)
        if owner not in (None, threading.get_ident()) and name.partition(".")[0] in _LAZY:
            found.append(lock)
    return found


def _finish_imports() -> None:
    """Wait for them."""
    for lock in _half_imported():
        with contextlib.suppress(RuntimeError):  # two modules that wait for each other
            lock.acquire()
            lock.release()


def _after_in_parent() -> None:
    _imp.release_lock()
    for participant in reversed(_inside):
        if participant.in_parent is not None:
            participant.in_parent()


def _forget_locks() -> None:
    """Drop the locks of modules that this thread does not hold: nobody is left to give them back.

    A thread can still take one between the last look at them and the fork; without the lock of
    all imports, which is held here, it has not come to make the module yet.
    """
    for name, reference in list(_module_locks.items()):
        lock = reference()
        if lock is None or getattr(lock, "owner", None) != threading.get_ident():
            _module_locks.pop(name, None)


def _after_in_child() -> None:
    _forget_locks()
    _imp.release_lock()
    for participant in reversed(_inside):
        if participant.in_child is not None:
            participant.in_child()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
