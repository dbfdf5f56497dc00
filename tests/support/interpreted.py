"""Operators without machine code: their plans, run by the loop interpreter.

Inside `interpreted()` every operator plans as always, but kernels stay expressions: a launch reads
the words that machine code would read, evaluates the stage in NumPy and stores what it gives.
Machine functions that are no stages (matrix products) run as they are.
"""

import ctypes
from contextlib import contextmanager

import numpy as np

from yesca.core.dtypes import bfloat16, bool_, int64
from yesca.dispatch import fast
from yesca.loops import interpret
from yesca.loops.ir import Buffer, Stage, Store
from yesca.operators import record
from yesca.runtime import kernels, plan, threads

COMBINE = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@contextmanager
def python_path():
    """Every operator call takes the Python path, not the builtin of machine code."""
    if fast.FAST is None:
        yield
        return
    fast.FAST.off = True
    fast.FAST.refresh()
    try:
        yield
    finally:
        fast.FAST.off = False
        fast.FAST.refresh()


@contextmanager
def fresh_plans():
    """Operators forget their plans for a while; what they plan meanwhile is dropped."""
    kept = {one: one.plans for one in record.BY_NUMBER if one.plans}
    for one in kept:
        one.plans = {}
    try:
        yield
    finally:
        for one in record.BY_NUMBER:
            if one.plans:
                one.plans = {}
        for one, plans in kept.items():
            one.plans = plans


@contextmanager
def interpreted():
    """Run operators by the interpreter."""
    stages = {}

    def address(stage, variant=None, name="kernel"):
        stages[len(stages) + 1] = stage
        return len(stages)

    def launch(launches, places, arguments, machine):
        for one in launches:
            words = one.words[:]
            for word, slot, beyond in one.pointers:
                words[word] = places[slot] + beyond
            for word, position, kind in one.numbers:
                words[word] = plan.number_word(arguments[position], kind)
            if one.address in stages:
                run_stage(stages[one.address], list(words), one.total)
            else:
                threads.launch(one.address, words.buffer_info()[0], one.total, one.grain)

    before = kernels.address, plan._launch
    kernels.address, plan._launch = address, launch
    try:
        with python_path(), fresh_plans():
            yield stages
    finally:
        kernels.address, plan._launch = before


def run_stage(stage, words, total):
    """What a kernel does with its words, for all its points or rows."""
    if stage.kind == "table":
        _run_table(stage, words, total)
        return
    count = len(stage.buffers)
    pointers, words = words[:count], words[count:]
    arguments, words = _arguments(stage, words)
    size, strides, rank = words[0], words[1:count + 1], words[count + 1]
    dims = [words[k:k + count + 1] for k in range(count + 2, len(words), count + 1)][:rank]
    if stage.kind == "flat" and not dims:
        size = total
    shape = (*(d[0] for d in reversed(dims)), size)
    places = []
    for k, pointer in enumerate(pointers):
        steps = [d[k + 1] for d in reversed(dims)] + [strides[k]]
        places.append(_grid(pointer, shape, steps, stage.buffers[k].inner))
    _evaluate(stage, places, arguments, shape)


def _run_table(stage, words, rows):
    arguments, words = _arguments(stage, words)
    width = len(stage.buffers) + 1
    for row in range(rows):
        *pointers, size = words[row * width:(row + 1) * width]
        places = [_grid(p, (size,), [b.dtype.itemsize], b.inner)
                  for p, b in zip(pointers, stage.buffers)]
        _evaluate(stage, places, arguments, (size,))


def _arguments(stage, words):
    values = []
    for dtype, word in zip(stage.arguments, words):
        bits = np.array([word], np.int64)
        values.append(bits.view(np.float64)[0] if dtype.is_floating_point else
                      bits.view(np.uint64)[0] if dtype.name == "uint64" else word)
    return values, words[len(values):]


def _grid(pointer, shape, steps, inner):
    """The addresses of a buffer's elements at every point."""
    if not inner:
        shape = (*shape[:-1], 1)
    places = np.full(shape, pointer, np.int64)
    for axis, step in enumerate(steps):
        ramp = np.arange(shape[axis], dtype=np.int64) * step
        places += ramp.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return places


def _evaluate(stage, places, arguments, shape):
    """Values, offsets and guards of all stores from one run; then the stores, in order."""
    if 0 in shape[:-1] or (0 in shape and not any(not b.inner for b in stage.buffers)):
        return
    buffers, stores = list(stage.buffers), []
    for store in stage.stores:
        stores.append(Store(store.buffer, store.value))
        for extra, dtype in ((store.offset, int64), (store.guard, bool_)):
            if extra is not None:
                buffers.append(Buffer(dtype, True))
                stores.append(Store(len(buffers) - 1, extra))
    readers = [_reader(p, b.dtype) for p, b in zip(places, stage.buffers)]
    values = iter(interpret.evaluate(
        Stage(stage.kind, tuple(buffers), stage.arguments, tuple(stores)), readers, arguments,
        shape))
    for store in stage.stores:
        value = next(values)
        offset = next(values) if store.offset is not None else None
        guard = next(values) if store.guard is not None else None
        _store(store, stage.buffers[store.buffer].dtype, places[store.buffer], value, offset,
               guard)


def _memory(places, itemsize):
    """The bytes between the lowest and the highest address, and where each element starts."""
    low = int(places.min())
    span = int(places.max()) - low + itemsize
    return np.frombuffer((ctypes.c_char * span).from_address(low), np.uint8), places - low


def _reader(places, dtype):
    def read(offset):
        at = places if offset is None else places + offset * dtype.itemsize
        if at.size == 0:
            return np.zeros(at.shape, interpret.numpy_dtype(dtype))
        memory, starts = _memory(at, dtype.itemsize)
        raw = memory[starts[..., None] + np.arange(dtype.itemsize)]
        if dtype is bfloat16:
            return (raw.view(np.uint16)[..., 0].astype(np.uint32) << 16).view(np.float32)
        if dtype is bool_:
            return raw[..., 0] != 0
        return raw.view(interpret.numpy_dtype(dtype))[..., 0]

    return read


def _store(store, dtype, places, value, offset, guard):
    parts = [places, value, 0 if offset is None else offset, True if guard is None else guard]
    places, value, offset, guard = np.broadcast_arrays(*parts)
    at = (places + offset * dtype.itemsize)[guard].reshape(-1)
    value = value[guard].reshape(-1)
    if at.size == 0:
        return
    if not store.accumulate:
        _write(at, value, dtype)
        return
    for k in range(at.size):
        here = at[k:k + 1]
        old = _reader(here, dtype)(None)
        _write(here, interpret.convert(COMBINE[store.accumulate](old, value[k:k + 1]), dtype),
               dtype)


def _write(at, value, dtype):
    if dtype is bfloat16:
        value = (np.ascontiguousarray(value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif dtype is bool_:
        value = np.asarray(value, np.uint8)
    raw = np.ascontiguousarray(value).reshape(-1, 1).view(np.uint8)
    memory, starts = _memory(at, dtype.itemsize)
    memory[starts[:, None] + np.arange(dtype.itemsize)] = raw


