"""The fast call path's casts: a call under autocast, and the casts of its operands before it.

A block of the kind CASTS: kind, the plan of the call itself, the number of operands, then for each
of them the plan of its cast (NULL: it stays as it is), whether the cast of a weight is kept until
the region ends, and the spec that the cast has. The casts that are kept lie in dictionaries of the
running thread, one off the tape and one on it, from the weight's address to (weight, its version,
cast, the version's counter); `dispatch.autocast` is the twin.
"""

from ...targets.native import (
    Unit, bool_, external, i32, i64, load_i64, load_obj, load_ptr, obj, ptr, stack,
    store_i64, store_obj,
)  # fmt: skip
from . import fastkey as k
from .capture import capture_compute, recordable, runs_alone
from .fastrun import RECORDED, RECORDS, drop, run_compute
from .objects import decref, incref, long_as, long_from, tuple_item, tuple_new, tuple_set, type_of

unit = Unit("fastcasts")

KEPT = 496  # place in fastkey's state: the running thread's dictionaries; None: nothing is kept
INNER, OPERANDS, CAST, KEEPS, SPEC, ENTRY = 8, 16, 24, 32, 40, 24

dict_get = external("PyDict_GetItem", [obj, obj], obj)  # borrowed; never sets an error
dict_set = external("PyDict_SetItem", [obj, obj, obj], i32)


@unit.function(inline=True)
def kept_casts(call: ptr) -> obj:
    """The dictionary that holds for a call, borrowed, or None."""
    both = load_obj(k.state, KEPT)
    return both if both == obj(k.none_object) else tuple_item(both, load_i64(call, k.GRAD))


@unit.function(inline=True)
def kept_apart(thing: obj, kept: obj) -> bool_:
    """Whether a tensor is a weight whose cast is kept: a leaf that wants a gradient."""
    if kept == obj(k.none_object) or load_obj(thing, k.T_REQUIRES) != obj(k.true_object):
        return False
    if load_obj(thing, k.T_NODE) != obj(k.none_object):
        return False
    extra = load_obj(thing, k.T_EXTRA)
    return extra == obj(k.none_object) or load_obj(extra, k.E_BASE) == obj(k.none_object)


@unit.function
def look_up(thing: obj, spec: obj, kept: obj) -> obj:
    """The cast of a weight that was kept and still holds, borrowed, or NULL."""
    number = long_from(i64(thing))
    if number is None:
        return None
    entry = dict_get(kept, number)
    decref(number)
    if entry is None:
        return None
    cast, then, counter = tuple_item(entry, 2), tuple_item(entry, 1), load_obj(thing, k.T_VERSION)
    if counter != tuple_item(entry, 3):
        return None
    now = load_obj(counter, k.V_VALUE)
    if load_obj(cast, k.T_SPEC) != spec or (now != then and long_as(now) != long_as(then)):
        return None
    return cast


@unit.function
def store(thing: obj, cast: obj, kept: obj) -> bool_:
    """Keep the cast of a weight; False with an error set where memory ran out."""
    number, entry = long_from(i64(thing)), tuple_new(4)
    if number is None or entry is None:
        return False
    counter = load_obj(thing, k.T_VERSION)
    then = load_obj(counter, k.V_VALUE)
    incref(thing)
    incref(then)
    incref(cast)
    incref(counter)
    tuple_set(entry, 0, thing)
    tuple_set(entry, 1, then)
    tuple_set(entry, 2, cast)
    tuple_set(entry, 3, counter)
    done = dict_set(kept, number, entry) == 0
    decref(number)
    decref(entry)
    return done


@unit.function
def castable(call: ptr, plan: ptr, recording: bool_) -> bool_:
    """Whether the casts and the call can run here: what is kept lies in memory that is known, and
    a recorder takes it all."""
    inner, kept = load_ptr(plan, INNER), kept_casts(call)
    if recording and (load_i64(inner, RECORDS) != RECORDED or not recordable(call, inner)):
        return False
    for index in range(load_i64(plan, OPERANDS)):
        thing = load_obj(call, k.TENSORS + index * 8)
        keeps = load_i64(plan, KEEPS + index * ENTRY) != 0
        if keeps and kept_apart(thing, kept):
            found = look_up(thing, load_obj(plan, SPEC + index * ENTRY), kept)
            if found is not None:
                memory = type_of(load_obj(found, k.T_STORAGE))
                if memory != load_obj(k.state, k.STORAGE_TYPE) and (
                        not recording or memory != load_obj(k.state, k.RECORDED_TYPE)):
                    return False
    return True


@unit.function
def cast_one(call: ptr, one: ptr, cast: ptr, thing: obj, wants: i64, recording: bool_) -> obj:
    """A tensor's cast; `one`: room for the call that makes it."""
    store_i64(one, k.TENSORS_USED, 1)
    store_i64(one, k.NUMBERS_USED, 0)
    store_i64(one, k.MASK, wants)
    store_i64(one, k.GRAD, load_i64(call, k.GRAD))
    store_obj(one, k.TENSORS, thing)
    return capture_compute(one, cast) if recording else run_compute(one, cast)


@unit.function
def run_casts(call: ptr, plan: ptr, recording: bool_) -> obj:
    """Cast the operands, in order, and run the call's plan on them."""
    operands, inner = load_i64(plan, OPERANDS), load_ptr(plan, INNER)
    one, casts, kept = stack(2496, 64), stack(8 * 64), kept_casts(call)
    incref(kept)
    made = i64(0)
    done = True
    for index in range(operands):
        cast = load_ptr(plan, CAST + index * ENTRY)
        if cast is None:
            continue
        thing = load_obj(call, k.TENSORS + index * 8)
        keeps = load_i64(plan, KEEPS + index * ENTRY) != 0 and kept_apart(thing, kept)
        found = obj(ptr(0))
        if keeps:
            found = look_up(thing, load_obj(plan, SPEC + index * ENTRY), kept)
        if found is not None:
            incref(found)
        else:
            wants = load_i64(call, k.MASK) >> index & 1
            found = cast_one(call, one, cast, thing, wants, recording)
            if found is None:
                done = False
                break
            if keeps and not store(thing, found, kept):
                decref(found)
                done = False
                break
        store_obj(casts, made * 8, found)
        store_obj(call, k.TENSORS + index * 8, found)
        made = made + 1
    result = obj(ptr(0))
    if done:
        alone = not recording or runs_alone(inner)
        result = run_compute(call, inner) if alone else capture_compute(call, inner)
    drop(casts, made)
    decref(kept)
    return result
