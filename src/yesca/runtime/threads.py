"""How many threads an operator uses, and launching a kernel on them.

The pool itself is native (`native/pool.py`); here are its settings, its behaviour around forks,
and `launch`, a builtin of machine code or, on the portable path, its ctypes twin.
"""

import os
import time

from ..base import settings
from . import forks, layout

# Workers watch for the next job this long before they sleep: longer than Python needs between
# two operators, far shorter than anybody would notice as load.
_SPIN_NANOSECONDS = 40_000

# A larger number is believed, but not so many threads are started.
_MOST_THREADS = 1024

_wanted = None


def usable_cpus() -> int:
    """The CPUs this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has affinities
        return os.cpu_count() or 1


def get_num_threads() -> int:
    """The number of threads that one operator may use, the calling one included.

    The usable CPUs; fewer where YESCA_NUM_THREADS, OMP_NUM_THREADS or MKL_NUM_THREADS say so.

    >>> import yesca as torch
    >>> torch.set_num_threads(2)
    >>> torch.get_num_threads()
    2
    """
    global _wanted
    if _wanted is None:
        _wanted = min(settings.NUM_THREADS.get() or usable_cpus(), usable_cpus())
    return _wanted


def checked_count(name: str, count: int) -> int:
    """A number of threads, or the errors of the function called `name`."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{name} expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError(f"{name} expects a positive integer, got {count}")
    if count >= 1 << 31:
        raise ValueError(f"Overflow when unpacking long: {count} threads are more than 2**31 - 1")
    return count


def set_num_threads(count: int, /) -> None:
    """Let operators use `count` threads, also more than there are CPUs.

    It holds for the whole process. Results have the same bits for any number. Raises RuntimeError
    unless `count` is a positive int.

    >>> import yesca as torch
    >>> torch.set_num_threads(2)
    >>> torch.set_num_threads(0)
    Traceback (most recent call last):
        ...
    RuntimeError: set_num_threads expects a positive integer, got 0
    """
    global _wanted
    _wanted = checked_count("set_num_threads", count)
    if _the_pool is not None:
        _the_pool.configure()


class _Pool:
    """The loaded native pool."""

    def __init__(self):
        from . import units
        from .native import launch, pool

        self.stages = units.address(launch.run_stages)

        self._set = units.callable_of(pool.set_threads)
        self._spin = units.callable_of(pool.spin)
        self.workers = units.callable_of(pool.worker_count)
        self.dispatch = units.callable_of(pool.dispatch)
        self.dispatch_with_gil = units.callable_of(pool.dispatch, gil=True)
        self._turns = None
        self.native_launch = launch.python_launch
        self.configure()
        forks.join(in_child=units.callable_of(pool.reset_after_fork, gil=True))

    def configure(self) -> None:
        """Tell the pool the wanted number of threads."""
        count = get_num_threads()
        # With more threads than CPUs a watching worker would keep a working one waiting.
        spin = self._spin_turns() if 1 < count <= usable_cpus() else 0
        self._set(min(count, _MOST_THREADS), spin)

    def _spin_turns(self) -> int:
        if self._turns is None:
            turns = 500
            start = time.perf_counter_ns()
            self._spin(turns)
            elapsed = max(time.perf_counter_ns() - start, 1)
            self._turns = min(max(turns * _SPIN_NANOSECONDS // elapsed, 100), 10_000)
        return self._turns


_the_pool = None


def _pool() -> _Pool:
    global _the_pool
    if _the_pool is None:
        from .machine import LOCK

        with LOCK:  # two pools would each count their own threads
            if _the_pool is None:
                _the_pool = _Pool()
    return _the_pool


def workers() -> int:
    """The pool's threads that exist now (for tests and reports)."""
    return _the_pool.workers() if _the_pool is not None else 0


def prepare() -> None:
    """Load the pool, so that native code that dispatches finds the wanted number of threads."""
    _pool()


def stages_address() -> int:
    """The machine function that runs a table of stages, a barrier after each.

    `launch(stages_address(), table, count, count, slow)` runs `count` rows of (kernel, words,
    total, grain), 8 bytes each.
    """
    return _pool().stages


def portable_launch(kernel: int, words: int, total: int, grain: int, slow: int = 0) -> None:
    """`launch` by ctypes."""
    pool = _pool()
    run = pool.dispatch if total > grain or slow else pool.dispatch_with_gil
    run(kernel, words, total, grain)


def _make_launch():
    pool = _pool()
    if not layout.uses_builtins():
        return portable_launch
    from .builtins import builtin

    return builtin(pool.native_launch, "launch", "launch(kernel, words, total, grain, slow=0)")


def __getattr__(name: str):
    """`launch(kernel, words, total, grain)`, made on first need.

    Calls the native function at address `kernel` as `kernel(words, low, high)` for the chunks of
    [0, total), each of `grain` but the last, on the pool's threads. The GIL is released when
    there is more than one chunk or `slow` is true.
    """
    if name == "launch":
        globals()["launch"] = made = _make_launch()
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
