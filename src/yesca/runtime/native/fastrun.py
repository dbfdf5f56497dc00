"""The fast call path, second half: running a plan whose key was found.

A plan block (written by `dispatch.fast`) is 8-byte words; sections follow each other:

    kind (0 compute, 1 view, 2 in place), operands, results, temporaries, launches, differentiable,
    view offset, Plan object, words of the error cell, saved values, other operands written,
    then item sizes of the operands | results: spec, bytes, bytes as an object, carries a gradient |
    temporaries: bytes | saved: is a result, number | operands written |
    launches: address, total, grain, words, pointers, numbers, then the words, the pointers
    (word, slot, bytes beyond) and the numbers (word, position, 0 int, 1 float64, 2 float32)
"""

from ...core.node_base import NodeBase, Saved
from ...core.storage import UntypedStorage
from ...core.tensor_base import Extra
from ...targets.native import (
    Unit, bool_, call_void, external, f32, i64, load_f64, load_i64, load_obj, load_ptr, memcpy,
    memset, obj, ptr, stack, store_f32, store_f64, store_i64, store_obj, store_ptr, u64, void,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .alloc import allocate, allocate_owned, release
from .objects import (
    decref, gil_release, gil_restore, incref, long_as, long_from, none, out_of_memory, tuple_new,
    tuple_set,
)
from .pool import dispatch

unit = Unit("fastrun")

HEADER = 11
PLACES, WORDS = 144, 512

S_ADDRESS = layout.slot_offset(UntypedStorage, "_address")
S_BYTES = layout.slot_offset(UntypedStorage, "_nbytes")
S_DEVICE = layout.slot_offset(UntypedStorage, "_device")
S_OWNER = layout.slot_offset(UntypedStorage, "_owner")
S_FLAGS = layout.slot_offset(UntypedStorage, "_flags")
S_TYPED = layout.slot_offset(UntypedStorage, "_typed")
N_PLAN = layout.slot_offset(NodeBase, "_plan")
N_SCALARS = layout.slot_offset(NodeBase, "_scalars")
N_EDGES = layout.slot_offset(NodeBase, "_edges")
N_PORTS = layout.slot_offset(NodeBase, "_ports")
N_MASK = layout.slot_offset(NodeBase, "_mask")
N_SAVED = layout.slot_offset(NodeBase, "_saved")
N_SEQUENCE = layout.slot_offset(NodeBase, "_sequence")
N_EXTRA = layout.slot_offset(NodeBase, "_extra")
A_STORAGE = layout.slot_offset(Saved, "storage")
A_SPEC = layout.slot_offset(Saved, "spec")
A_OFFSET = layout.slot_offset(Saved, "offset")
A_COUNTER = layout.slot_offset(Saved, "counter")
A_VERSION = layout.slot_offset(Saved, "version")
E_HOOKS = layout.slot_offset(Extra, "hooks")
E_RETAIN = layout.slot_offset(Extra, "retain")
E_NAME = layout.slot_offset(Extra, "name")
E_AFTER = layout.slot_offset(Extra, "after")

# Places in fastkey's state, besides the types named there.
VERSION_TYPE, NODE_TYPE, SAVED_TYPE, EXTRA_TYPE = 64, 72, 80, 88
CPU, ZERO, FAIL, EMPTY, SEQUENCE = 112, 120, 128, 136, 144
RUNNING = 168  # calls that have let other threads run

new_object = external("PyType_GenericAlloc", [obj, i64], obj)
call_python = external("PyObject_CallFunction", [obj, ptr, obj, i64], obj)


@unit.function(inline=True)
def put(thing: obj, place: i64, value: obj) -> void:
    """Fill an empty slot with a new reference."""
    incref(value)
    store_obj(thing, place, value)


@unit.function(inline=True)
def shared(place: i64) -> obj:
    """An object of the state, borrowed."""
    return load_obj(k.state, place)


@unit.function
def new_tensor(spec: obj, storage: obj, offset: obj, version: obj) -> obj:
    """A tensor off the tape; takes over the references to storage, offset and version."""
    made = new_object(shared(k.TENSOR_TYPE), 0)
    if made is None:
        return None
    nothing = obj(k.none_object)
    store_obj(made, k.T_STORAGE, storage)
    store_obj(made, k.T_OFFSET, offset)
    store_obj(made, k.T_VERSION, version)
    put(made, k.T_SPEC, spec)
    put(made, k.T_REQUIRES, obj(k.false_object))
    put(made, k.T_NODE, nothing)
    put(made, k.T_OUTPUT, shared(ZERO))
    put(made, k.T_GRAD, nothing)
    put(made, k.T_EXTRA, nothing)
    return made


@unit.function
def new_result(spec: obj, address: ptr, owner: obj, nbytes: obj) -> obj:
    """A tensor over a new storage, which takes the owner's reference over."""
    storage = new_object(shared(k.STORAGE_TYPE), 0)
    if storage is None:
        return None
    store_obj(storage, S_ADDRESS, long_from(i64(address)))
    put(storage, S_BYTES, nbytes)
    put(storage, S_DEVICE, shared(CPU))
    store_obj(storage, S_OWNER, owner)
    put(storage, S_FLAGS, shared(ZERO))
    put(storage, S_TYPED, obj(k.none_object))
    return over(spec, storage)


@unit.function
def over(spec: obj, storage: obj) -> obj:
    """A tensor over all of a storage, whose reference it takes over."""
    version = new_object(shared(VERSION_TYPE), 0)
    if version is None:
        return None
    put(version, k.V_VALUE, shared(ZERO))
    zero = shared(ZERO)
    incref(zero)
    return new_tensor(spec, storage, zero, version)


@unit.function
def address_of_operand(thing: obj, itemsize: i64) -> i64:
    """Where a tensor's first element is."""
    storage = load_obj(thing, k.T_STORAGE)
    start = long_as(load_obj(storage, S_ADDRESS))
    offset = load_obj(thing, k.T_OFFSET)
    if offset == shared(ZERO):
        return start
    return start + long_as(offset) * itemsize


@unit.function
def run_launches(call: ptr, at: ptr, launches: i64, places: ptr) -> void:
    """Fill in each launch's words and run it."""
    words = stack(4096, 64)
    here = at
    for index in range(launches):
        count, pointers, numbers = load_i64(here, 24), load_i64(here, 32), load_i64(here, 40)
        total, grain = load_i64(here, 8), load_i64(here, 16)
        memcpy(words, here + 48, count * 8)
        entry = here + 48 + count * 8
        for p in range(pointers):
            slot = load_i64(entry, 8)
            store_i64(words, load_i64(entry) * 8, load_i64(places, slot * 8) + load_i64(entry, 16))
            entry = entry + 24
        for n in range(numbers):
            position = load_i64(entry, 8)
            word = load_i64(entry) * 8
            if load_i64(entry, 16) == 1:
                store_f64(words, word, load_f64(call, k.FLOATS + position * 8))
            elif load_i64(entry, 16) == 2:
                store_i64(words, word, 0)
                store_f32(words, word, f32(load_f64(call, k.FLOATS + position * 8)))
            else:
                store_i64(words, word, load_i64(call, k.INTEGERS + position * 8))
            entry = entry + 24
        if total > grain:
            dispatch(load_ptr(here), words, total, grain)
        else:
            call_void(load_ptr(here), words, i64(0), total)
        here = entry


@unit.function
def gather(call: ptr, plan: ptr, places: ptr) -> void:
    """The operands' addresses."""
    for o in range(load_i64(plan, 8)):
        thing = load_obj(call, k.TENSORS + o * 8)
        store_i64(places, o * 8, address_of_operand(thing, load_i64(plan, (HEADER + o) * 8)))


@unit.function
def allocate_results(plan: ptr, specs: ptr, places: ptr, owners: ptr) -> bool_:
    """Memory of the results: addresses into the places, references into the owners."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    for r in range(results):
        nbytes = load_i64(specs, r * 32 + 8)
        if nbytes == 0:
            store_ptr(owners, r * 8, ptr(k.none_object))
            incref(obj(k.none_object))
            store_i64(places, (operands + r) * 8, 0)
            continue
        block = allocate_owned(nbytes, owners + r * 8)
        if block is None:
            drop(owners, r)
            return False
        store_ptr(places, (operands + r) * 8, block)
    return True


@unit.function
def drop(things: ptr, count: i64) -> void:
    """Give references back."""
    for index in range(count):
        decref(load_obj(things, index * 8))


@unit.function
def launch_all(call: ptr, plan: ptr, after_results: ptr, places: ptr, first: i64,
               cell: ptr) -> bool_:
    """Temporaries, launches, temporaries back; False with an error set where memory ran out."""
    temporaries = load_i64(plan, 24)
    for t in range(temporaries):
        scratch = allocate(load_i64(after_results, t * 8))
        if scratch is None:
            for u in range(t):
                release(load_ptr(places, (first + u) * 8))
            out_of_memory(u64(load_i64(after_results, t * 8)))
            return False
        store_ptr(places, (first + t) * 8, scratch)
    memset(cell, 0, 64)
    store_ptr(places, (first + temporaries) * 8, cell)
    at = count_writes(call, plan, after_results)
    if load_i64(plan, 48) != 0:
        without_gil(call, plan, at, places)
    else:
        run_launches(call, at, load_i64(plan, 32), places)
    for d in range(temporaries):
        release(load_ptr(places, (first + d) * 8))
    return True


@unit.function
def count_writes(call: ptr, plan: ptr, after_results: ptr) -> ptr:
    """Count the writes to other operands; gives where the launches begin."""
    at = after_results + load_i64(plan, 24) * 8 + load_i64(plan, 72) * 16
    writes = load_i64(plan, 80)
    for w in range(writes):
        count_write(load_obj(call, k.TENSORS + load_i64(at, w * 8) * 8))
    return at + writes * 8


@unit.function
def count_write(target: obj) -> void:
    """One write more to a tensor's memory."""
    version = load_obj(target, k.T_VERSION)
    if version != obj(k.none_object):
        old = load_obj(version, k.V_VALUE)
        store_obj(version, k.V_VALUE, long_from(long_as(old) + 1))
        decref(old)


@unit.function
def without_gil(call: ptr, plan: ptr, at: ptr, places: ptr) -> void:
    """Run long launches while other Python threads go on.

    The operands' bytes stay even if their storage gets others meanwhile, and so does the plan.
    """
    operands = load_i64(plan, 8)
    holders = stack(8 * 64)
    for o in range(operands):
        owner = load_obj(load_obj(load_obj(call, k.TENSORS + o * 8), k.T_STORAGE), S_OWNER)
        incref(owner)
        store_obj(holders, o * 8, owner)
    store_i64(k.state, RUNNING, load_i64(k.state, RUNNING) + 1)
    thread = gil_release()
    run_launches(call, at, load_i64(plan, 32), places)
    gil_restore(thread)
    store_i64(k.state, RUNNING, load_i64(k.state, RUNNING) - 1)
    drop(holders, operands)


@unit.function
def run_compute(call: ptr, plan: ptr) -> obj:
    """Allocate results, launch, wrap, record."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    places, owners, made, cell = stack(8 * 160), stack(8 * 16), stack(8 * 16), stack(64)
    specs = plan + (HEADER + operands) * 8
    after = specs + results * 32
    gather(call, plan, places)
    if not allocate_results(plan, specs, places, owners):
        return None
    if not launch_all(call, plan, after, places, operands + results, cell):
        drop(owners, results)
        return None
    cells = load_i64(plan, 64)
    if cells != 0 and failed(cell, cells):
        drop(owners, results)
        return call_python(shared(FAIL), fail_format, load_obj(plan, 56), i64(cell))
    for f in range(results):
        entry = specs + f * 32
        store_obj(made, f * 8, new_result(load_obj(entry), load_ptr(places, (operands + f) * 8),
                                          load_obj(owners, f * 8), load_obj(entry, 16)))
        if load_obj(made, f * 8) is None:
            return None
    return deliver(call, plan, made)


@unit.function
def deliver(call: ptr, plan: ptr, made: ptr) -> obj:
    """Put the results on the tape; one by itself, several as a tuple."""
    operands, results = load_i64(plan, 8), load_i64(plan, 16)
    specs = plan + (HEADER + operands) * 8
    after = specs + results * 32
    if load_i64(call, k.MASK) != 0 and load_i64(plan, 40) != 0:
        keep = after + load_i64(plan, 24) * 8
        if not record(call, plan, keep, load_i64(plan, 72), made, specs, results):
            return None
    if results == 1:
        return load_obj(made)
    if results == 0:
        return none()
    several = tuple_new(results)
    for g in range(results):
        tuple_set(several, g, load_obj(made, g * 8))
    return several


@unit.function
def run_inplace(call: ptr, plan: ptr) -> obj:
    """Write into operand 0 and count the write."""
    operands = load_i64(plan, 8)
    places, cell = stack(8 * 160), stack(64)
    gather(call, plan, places)
    store_i64(places, operands * 8, load_i64(places))
    target = load_obj(call, k.TENSORS)
    after = plan + (HEADER + operands) * 8 + 32
    incref(target)
    if not launch_all(call, plan, after, places, operands + 1, cell):
        decref(target)
        return None
    count_write(target)
    cells = load_i64(plan, 64)
    if cells != 0 and failed(cell, cells):
        decref(target)
        return call_python(shared(FAIL), fail_format, load_obj(plan, 56), i64(cell))
    return target


fail_format = unit.global_("fail_format", 8, 8)


@unit.function
def failed(cell: ptr, cells: i64) -> bool_:
    """Whether a kernel reported an error."""
    for index in range(cells):
        if load_i64(cell, index * 8) != 0:
            return True
    return False


@unit.function
def run_view(call: ptr, plan: ptr) -> obj:
    """The first operand's storage under another spec."""
    base = load_obj(call, k.TENSORS)
    version = load_obj(base, k.T_VERSION)
    storage = load_obj(base, k.T_STORAGE)
    offset = load_obj(base, k.T_OFFSET)
    moved = load_i64(plan, 48)
    if moved == 0:
        incref(offset)
    else:
        offset = long_from(long_as(offset) + moved)
    incref(storage)
    incref(version)
    specs = plan + HEADER * 8 + 8
    made = new_tensor(load_obj(specs), storage, offset, version)
    if made is None:
        return None
    extra = new_object(shared(EXTRA_TYPE), 0)
    if extra is None:
        return None
    root = base
    before = load_obj(base, k.T_EXTRA)
    if before != obj(k.none_object) and load_obj(before, k.E_BASE) != obj(k.none_object):
        root = load_obj(before, k.E_BASE)
    nothing = obj(k.none_object)
    put(extra, k.E_BASE, root)
    put(extra, k.E_SEEN, load_obj(version, k.V_VALUE))
    put(extra, E_HOOKS, nothing)
    put(extra, E_RETAIN, nothing)
    put(extra, E_NAME, nothing)
    put(extra, E_AFTER, nothing)
    store_obj(made, k.T_EXTRA, extra)
    decref(nothing)
    if load_i64(call, k.MASK) != 0 and load_i64(plan, 40) != 0:
        results = stack(8)
        store_ptr(results, 0, made)
        if not record(call, plan, specs + 32, load_i64(plan, 72), results, specs, 1):
            return None
    return made


# ---- the tape --------------------------------------------------------------------------------

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
    store_obj(node, N_SCALARS, scalars(call))
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
def scalars(call: ptr) -> obj:
    """The run-time numbers as a tuple."""
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
call_one = external("PyObject_CallOneArg", [obj, obj], obj)


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
