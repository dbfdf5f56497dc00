"""Chunks so small that the pool splits every sample, and their order turned round.

`small()` lowers what a chunk holds at least, for plans made from then on; plans made before are
forgotten on the way in and out. `backwards()` runs the chunks of each stage last to first.
"""

import contextlib
import ctypes
from unittest import mock

from yesca.dispatch import call, fast
from yesca.operators import record, sorting
from yesca.runtime import threads, units, variants
from yesca.runtime.native.launch import run_stages
from yesca.targets import products_stages


def forget_plans():
    """Let every operator plan its calls anew, on both call paths."""
    for one in record.RECORDS.values():
        one.plans.clear()
    if fast.FAST is not None:
        fast.FAST.forget()


@contextlib.contextmanager
def small(elements=1):
    """Chunks of this many elements, or of one row where rows are longer."""
    with contextlib.ExitStack() as stack:
        for module, name, value in (
                (variants, "LEAST_GRAIN", elements), (variants, "MOST_GRAIN", elements),
                (sorting, "ROW_GRAIN", elements),
                (products_stages, "CHUNK_FLOPS", elements),
                (products_stages, "CHUNK_BYTES", elements)):
            stack.enter_context(mock.patch.object(module, name, value))
        forget_plans()
        try:
            yield
        finally:
            forget_plans()


class Backwards:
    """A launcher without threads that takes the chunks of a stage from last to first."""

    def __init__(self):
        self.split = 0  # stages of more than one chunk
        self._table = units.address(run_stages)
        self._kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

    def __call__(self, kernel, words, total, grain, slow=0):
        if kernel == self._table:
            rows = (ctypes.c_int64 * (4 * total)).from_address(words)
            for row in range(total):
                self(*rows[4 * row:4 * row + 4])
            return
        run, step = self._kernel(kernel), max(grain, 1)
        self.split += total > step
        for low in reversed(range(0, total, step)):
            run(words, low, min(low + step, total))


@contextlib.contextmanager
def backwards():
    """All launches by such a launcher, which is given."""
    launcher = Backwards()
    off = mock.patch.object(fast.FAST, "off", True) if fast.FAST else contextlib.nullcontext()
    try:
        with mock.patch.object(call, "_launch", launcher), off:
            _refresh()
            yield launcher
    finally:
        _refresh()


def _refresh():
    if fast.FAST is not None:
        fast.FAST.refresh()


@contextlib.contextmanager
def thread_count(count):
    """Operators use this many threads."""
    before = threads.get_num_threads()
    threads.set_num_threads(count)
    try:
        yield
    finally:
        threads.set_num_threads(before)


def bits(tensor):
    """A tensor's elements as bytes."""
    whole = tensor.detach().contiguous()
    return ctypes.string_at(whole.data_ptr(), whole.numel() * whole.element_size())
