"""The fast call path's tape: the node of a call, what it keeps, and kept values as tensors."""

from ...targets.native import (
    Unit, bool_, i64, load_i64, load_obj, load_ptr, obj, ptr, store_i64, store_obj,
)  # fmt: skip
from . import fastkey as k
from .fastobjects import (
    A_COUNTER, A_OFFSET, A_SPEC, A_STORAGE, A_VERSION, EMPTY, N_EDGES, N_EXTRA, N_MASK, N_PLAN,
    N_PORTS, N_SAVED, N_SCALARS, N_SEQUENCE, NODE_TYPE, SAVED_TYPE, SEQUENCE, ZERO, new_object,
    new_tensor, put, shared,
)  # fmt: skip
from .objects import call_one, decref, incref, long_as, long_from, tuple_new, tuple_set

unit = Unit("fasttape")

FIXED_NUMBERS = 120  # in a plan block, see fastrun


@unit.function
def kept(thing: obj) -> obj:
    """What the tape keeps of a tensor."""
    made = new_object(shared(SAVED_TYPE), 0)
    if made is None:
        return None
    version = load_obj(thing, k.T_VERSION)
    put(made, A_STORAGE, load_obj(thing, k.T_STORAGE))
    put(made, A_SPEC, load_obj(thing, k.T_SPEC))
    put(made, A_OFFSET, load_obj(thing, k.T_OFFSET))
    put(made, A_COUNTER, version)
    if version == obj(k.none_object):
        put(made, A_VERSION, shared(ZERO))
    else:
        put(made, A_VERSION, load_obj(version, k.V_VALUE))
    return made


@unit.function
def record(call: ptr, plan: ptr, keep: ptr, saved: i64, made: ptr, specs: ptr,
           results: i64) -> bool_:
    """Make the call's node and put it on the results that carry gradients."""
    operands, mask = load_i64(plan, 8), load_i64(call, k.MASK)
    node = new_object(shared(NODE_TYPE), 0)
    edges, ports = tuple_new(operands), tuple_new(operands)
    values = tuple_new(saved)
    if node is None or edges is None or ports is None or values is None:
        return False
    for o in range(operands):
        edge = obj(k.none_object)
        port = shared(ZERO)
        if (mask >> o) & 1 != 0:
            thing = load_obj(call, k.TENSORS + o * 8)
            edge = load_obj(thing, k.T_NODE)
            port = load_obj(thing, k.T_OUTPUT)
            if edge == obj(k.none_object):
                edge = thing
        incref(edge)
        incref(port)
        tuple_set(edges, o, edge)
        tuple_set(ports, o, port)
    for s in range(saved):
        which = load_i64(keep, s * 16 + 8)
        source = load_obj(call, k.TENSORS + which * 8)
        if load_i64(keep, s * 16) != 0:
            source = load_obj(made, which * 8)
        one = kept(source)
        if one is None:
            return False
        tuple_set(values, s, one)
    store_obj(node, N_SCALARS, scalars(call, load_obj(plan, FIXED_NUMBERS)))
    put(node, N_PLAN, load_obj(plan, 56))
    store_obj(node, N_EDGES, edges)
    store_obj(node, N_PORTS, ports)
    store_obj(node, N_MASK, long_from(mask))
    store_obj(node, N_SAVED, values)
    counter = load_ptr(k.state, SEQUENCE)
    number = load_i64(counter) + 1
    store_i64(counter, 0, number)
    store_obj(node, N_SEQUENCE, long_from(number))
    put(node, N_EXTRA, obj(k.none_object))
    for r in range(results):
        if load_i64(specs, r * 32 + 24) != 0:
            result = load_obj(made, r * 8)
            decref(load_obj(result, k.T_NODE))
            put(result, k.T_NODE, node)
            decref(load_obj(result, k.T_REQUIRES))
            put(result, k.T_REQUIRES, obj(k.true_object))
            if r != 0:
                decref(load_obj(result, k.T_OUTPUT))
                store_obj(result, k.T_OUTPUT, long_from(r))
    decref(node)
    return True


@unit.function
def scalars(call: ptr, fixed: obj) -> obj:
    """The run-time numbers as a tuple; those that the key fixes, if it does."""
    if fixed is not None:
        incref(fixed)
        return fixed
    used = load_i64(call, k.NUMBERS_USED)
    if used == 0:
        nothing = shared(EMPTY)
        incref(nothing)
        return nothing
    made = tuple_new(used)
    for index in range(used):
        value = load_obj(call, k.OBJECTS + index * 8)
        incref(value)
        tuple_set(made, index, value)
    return made


# ---- saved values ----------------------------------------------------------------------------

CHANGED = 184


@unit.function
def restore(module: obj, saved: obj) -> obj:
    """A tensor off the tape from what was kept; `CHANGED` raises if it was written to since."""
    counter = load_obj(saved, A_COUNTER)
    if counter != obj(k.none_object):
        now, then = load_obj(counter, k.V_VALUE), load_obj(saved, A_VERSION)
        if now != then and long_as(now) != long_as(then):
            return call_one(shared(CHANGED), saved)
    storage, offset = load_obj(saved, A_STORAGE), load_obj(saved, A_OFFSET)
    incref(storage)
    incref(offset)
    incref(counter)
    return new_tensor(load_obj(saved, A_SPEC), storage, offset, counter)
