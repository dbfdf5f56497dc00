"""The fast call path's views: the first operand's storage under one other spec, or several."""

from ...targets.native import Unit, i64, load_i64, load_obj, obj, ptr, stack, store_obj, store_ptr
from .. import layout
from . import fastkey as k
from .fastobjects import (
    E_AFTER, E_HOOKS, E_NAME, E_RETAIN, E_TAKES, EXTRA_TYPE, NO_GRAD_TYPE, SEVERAL_TYPE, new_object,
    new_tensor, put, shared,
)
from .fastrun import HEADER, classed
from .fasttape import record
from .objects import decref, incref, long_as, long_from, tuple_new, tuple_set, type_of

unit = Unit("fastviews")


@unit.function
def seen_as(base: obj, spec: obj, moved: i64, kind: obj) -> obj:
    """A tensor's memory under another spec, `moved` elements further on, off the tape.

    kind: the class of what it has besides; what bars a view bars the views of it.
    """
    version, storage = load_obj(base, k.T_VERSION), load_obj(base, k.T_STORAGE)
    offset = load_obj(base, k.T_OFFSET)
    if moved == 0:
        incref(offset)
    else:
        offset = long_from(long_as(offset) + moved)
    incref(storage)
    incref(version)
    made = new_tensor(spec, storage, offset, version)
    if made is None:
        return None
    root = base
    before = load_obj(base, k.T_EXTRA)
    if before != obj(k.none_object):
        if load_obj(before, k.E_BASE) != obj(k.none_object):
            root = load_obj(before, k.E_BASE)
        if kind == shared(EXTRA_TYPE):
            kind = type_of(before)
    extra = new_object(kind, 0)
    if extra is None:
        return None
    nothing = obj(k.none_object)
    put(extra, k.E_BASE, root)
    put(extra, k.E_SEEN, load_obj(version, k.V_VALUE))
    put(extra, E_HOOKS, nothing)
    put(extra, E_RETAIN, nothing)
    put(extra, E_NAME, nothing)
    put(extra, E_AFTER, nothing)
    put(extra, E_TAKES, nothing)
    store_obj(made, k.T_EXTRA, extra)
    decref(nothing)
    return made


@unit.function
def run_view(call: ptr, plan: ptr) -> obj:
    """One view."""
    specs = plan + HEADER * 8 + 8
    kind = shared(EXTRA_TYPE)
    if load_i64(call, k.GRAD) == 0:
        kind = shared(NO_GRAD_TYPE)
    made = seen_as(load_obj(call, k.TENSORS), load_obj(specs), load_i64(plan, 48), kind)
    if made is None:
        return None
    if load_i64(call, k.MASK) != 0 and load_i64(plan, 40) != 0:
        results = stack(8)
        store_ptr(results, 0, made)
        if not record(call, plan, specs + 32, load_i64(plan, 72), results, specs, 1):
            return None
    return made


@unit.function
def run_views(call: ptr, plan: ptr) -> obj:
    """Several views of one tensor, as a tuple."""
    specs = plan + HEADER * 8 + 8
    count = load_i64(plan, 16)
    several = tuple_new(count)
    if several is None:
        return None
    kind = shared(SEVERAL_TYPE)
    if load_i64(call, k.GRAD) == 0:
        kind = shared(NO_GRAD_TYPE)
    for index in range(count):
        entry = specs + index * 32
        one = seen_as(load_obj(call, k.TENSORS), load_obj(entry), load_i64(entry, 8), kind)
        if one is None:
            decref(several)
            return None
        tuple_set(several, index, one)
    if load_i64(call, k.MASK) != 0 and load_i64(plan, 40) != 0:
        keep, made = specs + count * 32, ptr(several) + layout.TUPLE_ITEMS
        if not record(call, plan, keep, load_i64(plan, 72), made, specs, count):
            decref(several)
            return None
    return classed(several, load_obj(plan, 88))
