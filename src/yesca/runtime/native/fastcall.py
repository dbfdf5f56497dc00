"""The fast call path: the builtin behind every operator, method and Python operator.

`fast_call` encodes the arguments (`fastkey`), finds the plan and runs it (`fastrun`). A call that
it cannot encode goes to the operator's Python twin; one whose plan is not known yet goes to
`learn`, which runs the twin and enters its plan here.

An operator block: Python twin, number of parameters, position of the one that is spread over the
arguments (or -1), position of `out` (or -1), whether no more of its plans are entered, then per
parameter its mode, the number that stands for it when it is left out (NULL: none) and its name.
"""

from ...targets.native import (
    Unit, bool_, external, i64, load_i64, load_obj, load_ptr, memcpy, memset, obj, ptr, stack,
    store_i64, store_obj, store_ptr, u64, unlikely,
)  # fmt: skip
from .. import layout
from ..recording import WATCHED
from . import fastkey as k
from .capture import TAPE, capture_compute, capture_inplace, recordable, runs_alone
from .fastcasts import KEPT, castable, run_casts
from .fastobjects import BIRTH, CPU, ZERO, shared
from .fastrun import (
    APART, CASTS, COMPUTE, INPLACE, OUT, RECORDED, RECORDS, TWIN, VIEW, VIEWS, run_compute,
    run_inplace,
)  # fmt: skip
from .fastviews import run_view, run_views
from .objects import (
    as_integer, decref, incref, long_as, long_from, none, type_of, wrong_count,
)

unit = Unit("fastcall")

# Places in fastkey's state.
TABLE, CAPACITY, FLAGS, THREAD, OPERATORS, LEARN, REFRESH = 0, 8, 16, 24, 32, 152, 160
DEFAULT_DTYPES, DEFAULT_DEVICES = 208, 216  # lists: the default is the last item
GRAD_ON, SLOW, RECORDING = 1, 2, 4
LOWER_BFLOAT16, LOWER_FLOAT16 = 8, 16  # autocast is on, with this lower precision
AUTOCAST = LOWER_BFLOAT16 | LOWER_FLOAT16
SPREAD_AT, OUT_AT, CLOSED = 16, 24, 32
MODE, STANDING, NAME, PARAMETER = 40, 48, 56, 24
PARAMETER_LIMIT = 32

vectorcall = external("PyObject_Vectorcall", [obj, ptr, u64, obj], obj)
call_nothing = external("PyObject_CallNoArgs", [obj], obj)
_decrease = external("Py_DecRef", [obj])
_thread_state = external("PyThreadState_Get", [], ptr)
_thread_number = external("PyThreadState_GetID", [ptr], i64)
_malloc = external("PyMem_Malloc", [u64], ptr)
_free = external("PyMem_Free", [ptr])
_bytes_from = external("PyBytes_FromStringAndSize", [ptr, i64], obj)


@unit.function(inline=True)
def this_thread() -> i64:
    """The running thread's number; unlike its state's address, no later thread gets it again."""
    return _thread_number(_thread_state())


@unit.function(inline=True)
def unhindered() -> bool_:
    """Whether the flags are the running thread's, and nothing stands in the builtin path's way."""
    return load_i64(k.state, THREAD) == this_thread() and load_i64(k.state, FLAGS) & SLOW == 0


@unit.function
def python_adopt(module: obj, arguments: ptr, count: i64) -> obj:
    """`adopt(flags, tape, birth, casts)`: the running thread's flags, the tape that its calls write
    or 0, what its version counters start with, and the casts that autocast keeps or None."""
    if unlikely(count != 4):
        return wrong_count(4, count)
    failed = stack(8)
    store_i64(failed, 0, 0)
    flags = as_integer(load_obj(arguments, 0), failed)
    tape = ptr(as_integer(load_obj(arguments, 8), failed))
    if unlikely(load_i64(failed) != 0):
        return None
    store_ptr(k.state, TAPE, tape)
    store_ptr(k.state, k.RECORDED_TYPE, None if tape is None else load_ptr(tape, WATCHED * 8))
    casts = load_obj(arguments, 24)
    before, kept = load_obj(k.state, BIRTH), load_obj(k.state, KEPT)
    store_obj(k.state, BIRTH, load_obj(arguments, 16))
    incref(load_obj(arguments, 16))
    store_obj(k.state, KEPT, casts)
    incref(casts)
    store_i64(k.state, FLAGS, flags)
    store_i64(k.state, THREAD, this_thread())
    if before is not None:
        decref(before)
    if kept is not None:
        decref(kept)
    return none()


@unit.function
def python_tape(module: obj, on: obj) -> obj:
    """`tape(on)`: switch the tape of the running thread, if the flags are its own; where they are
    another thread's, they are copied anew before its next call."""
    if load_i64(k.state, THREAD) == this_thread():
        flags = load_i64(k.state, FLAGS)
        store_i64(k.state, FLAGS, (flags & ~GRAD_ON) | (long_as(on) & GRAD_ON))
    return none()


@unit.function
def python_twin(operator: ptr, number: i64, first: obj, arguments: ptr, count: i64, names: obj,
                learn: ptr) -> obj:
    """Call the operator's Python function; through `learn` if its plan shall be entered.

    `learn`: NULL, or the call block, whose key goes along: other threads may call meanwhile.
    """
    extra = i64(0) if names is None else load_i64(names, layout.TUPLE_SIZE)
    total = count + extra
    given = stack(8 * 72)
    if total > 64:
        given = _malloc(u64(8 * (total + 8)))
        if given is None:
            return None
    used = i64(0)
    if learn is not None:
        store_ptr(given, 0, long_from(number))
        key = _bytes_from(learn + k.KEY, load_i64(learn, k.LENGTH) * 8)
        if key is None:
            return None
        store_ptr(given, 8, key)
        used = 2
    if first is not None:
        store_ptr(given, used * 8, first)
        used = used + 1
    memcpy(given + used * 8, arguments, total * 8)
    target = load_obj(operator) if learn is None else load_obj(k.state, LEARN)
    made = vectorcall(target, given, u64(used + count), names)
    if learn is not None:
        give_back(load_obj(given))
        give_back(load_obj(given, 8))
    if total > 64:
        _free(given)
    return made


@unit.function
def give_back(thing: obj) -> i64:
    """Give a reference back."""
    _decrease(thing)
    return i64(0)


@unit.function
def find(call: ptr) -> ptr:
    """The plan of a key, or NULL."""
    count = load_i64(call, k.LENGTH)
    code = hash_words(call + k.KEY, count)
    table = load_ptr(k.state, TABLE)
    mask = load_i64(k.state, CAPACITY) - 1
    slot = i64(code) & mask
    while True:
        entry = table + slot * 32
        key = load_ptr(entry, 8)
        if key is None:
            return None
        if load_i64(entry) == i64(code) and load_i64(key) == count:
            same = True
            for index in range(count):
                if load_i64(key, 8 + index * 8) != load_i64(call, k.KEY + index * 8):
                    same = False
                    break
            if same:
                return load_ptr(entry, 16)
        slot = (slot + 1) & mask
    return None


@unit.function
def hash_words(words: ptr, count: i64) -> u64:
    """A hash of the key."""
    code = u64(0x9E3779B97F4A7C15)
    for index in range(count):
        code = (code ^ u64(load_i64(words, index * 8))) * u64(0xD6E8FEB86659FD93)
        code = code ^ (code >> 32)
    return code


@unit.function
def place_names(operator: ptr, given: ptr, arguments: ptr, names: obj) -> i64:
    """Put keyword arguments to their parameters; 0 if one is not known or given twice."""
    parameters = load_i64(operator, 8)
    for index in range(load_i64(names, layout.TUPLE_SIZE)):
        name = k.tuple_item(names, index)
        found = i64(-1)
        for p in range(parameters):
            if load_obj(operator, NAME + p * PARAMETER) == name:
                found = p
                break
        if found < 0:
            return 0
        if load_ptr(given, found * 8) is not None:
            return 0
        store_ptr(given, found * 8, load_obj(arguments, index * 8))
    return 1


@unit.function
def encode_all(call: ptr, operator: ptr, given: ptr, spread: ptr, spread_count: i64) -> bool_:
    """Every parameter in order; one that is left out counts as absent, with its number if any."""
    for index in range(load_i64(operator, 8)):
        thing = load_obj(given, index * 8)
        mode = load_i64(operator, MODE + index * PARAMETER)
        known = True
        if thing is None:
            standing = load_obj(operator, STANDING + index * PARAMETER)
            k.push(call, 10)
            if standing is not None:
                known = k.encode_number(call, standing, type_of(standing))
        elif mode == 86 and spread_count > 0:  # V: the rest of the arguments
            known = k.encode_rest(call, spread, spread_count)
        elif mode == 86:  # given by name
            known = k.encode_static(call, thing, 0)
        else:
            known = k.encode(call, thing, mode)
        if not known:
            return False
    return True


@unit.function
def encode_out(call: ptr, given: ptr, place: i64) -> bool_:
    """`out=`: the tensor that is written becomes operand 0."""
    thing = load_obj(given, place * 8)
    if thing is None or thing == obj(k.none_object):
        return True
    store_i64(given, place * 8, 0)
    if not k.is_tensor(type_of(thing)):
        return False
    k.push(call, 13)
    return k.encode_tensor(call, thing)


@unit.function(inline=True)
def last_item(things: obj) -> obj:
    """The last item of a list, borrowed."""
    place = load_i64(things, layout.TUPLE_SIZE) - 1
    return load_obj(load_ptr(things, layout.LIST_ITEMS), place * 8)


@unit.function(inline=True)
def made_elsewhere(call: ptr) -> bool_:
    """Whether a call without tensors makes its results on another device than the CPU."""
    if load_i64(call, k.TENSORS_USED) != 0:
        return False
    return last_item(load_obj(k.state, DEFAULT_DEVICES)) != load_obj(k.state, CPU)


@unit.function
def may_fill(call: ptr, plan: ptr) -> bool_:
    """Whether no operand of a call with `out=` shares memory with it, and none needs a tape."""
    if load_i64(call, k.MASK) != 0:
        return False
    storage = load_obj(load_obj(call, k.TENSORS), k.T_STORAGE)
    for o in range(1, load_i64(plan, 8)):
        if load_obj(load_obj(call, k.TENSORS + o * 8), k.T_STORAGE) == storage:
            return False
    return True


@unit.function
def may_write(call: ptr, plan: ptr) -> bool_:
    """Whether an in-place call needs no tape, may write what it finds, and no operand overlaps the
    target askew."""
    if load_i64(call, k.MASK) != 0 or shared(BIRTH) != shared(ZERO):
        return False
    target = load_obj(call, k.TENSORS)
    storage = load_obj(target, k.T_STORAGE)
    for o in range(1, load_i64(plan, 8)):
        other = load_obj(call, k.TENSORS + o * 8)
        if load_obj(other, k.T_STORAGE) == storage:
            if (load_i64(plan, APART) != 0
                    or load_obj(other, k.T_SPEC) != load_obj(target, k.T_SPEC)
                    or load_obj(other, k.T_OFFSET) != load_obj(target, k.T_OFFSET)):
                return False
    return True


@unit.function(inline=True)
def way(call: ptr, plan: ptr, flags: i64) -> i64:
    """The kind of a plan that may be run here; TWIN where Python must see to it."""
    kind = load_i64(plan)
    if kind >= TWIN:
        return kind
    if kind == VIEW or kind == VIEWS:
        inferred = load_obj(load_obj(call, k.TENSORS), k.T_VERSION) == obj(k.none_object)
        return i64(TWIN) if inferred else kind
    if flags & RECORDING != 0 and not runs_alone(plan):
        if kind == OUT or load_i64(plan, RECORDS) != RECORDED or not recordable(call, plan):
            return i64(TWIN)
    if kind == INPLACE and not may_write(call, plan):
        return i64(TWIN)
    if kind == OUT and not may_fill(call, plan):
        return i64(TWIN)
    return kind


@unit.function
def fast_call(number: i64, first: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """One operator call. `first`: the object of a method, NULL for a function."""
    operator = load_ptr(load_ptr(k.state, OPERATORS), number * 8)
    while load_i64(k.state, THREAD) != this_thread():  # others may come between
        ignored = call_nothing(load_obj(k.state, REFRESH))
        if ignored is None:
            return None
        give_back(ignored)
    flags = load_i64(k.state, FLAGS)
    parameters, spread_at = load_i64(operator, 8), load_i64(operator, SPREAD_AT)
    given = stack(8 * 32)
    memset(given, 0, parameters * 8)
    taken = i64(0)
    if first is not None:
        store_ptr(given, 0, first)
        taken = 1
    positional = taken + count
    spread_count = positional - spread_at
    if spread_at >= 0 and spread_count > 0:
        positional = spread_at + 1
    if flags & SLOW != 0 or positional > parameters:
        return python_twin(operator, number, first, arguments, count, names, None)
    memcpy(given + taken * 8, arguments, (positional - taken) * 8)
    if names is not None and place_names(operator, given, arguments + count * 8, names) == 0:
        return python_twin(operator, number, first, arguments, count, names, None)
    call = stack(2496, 64)
    store_i64(call, k.LENGTH, 2)
    store_i64(call, k.TENSORS_USED, 0)
    store_i64(call, k.NUMBERS_USED, 0)
    store_i64(call, k.MASK, 0)
    store_i64(call, k.GRAD, flags & GRAD_ON)
    out_at = load_i64(operator, OUT_AT)
    if ((out_at >= 0 and not encode_out(call, given, out_at))
            or not encode_all(call, operator, given, arguments + (spread_at - taken) * 8,
                              spread_count)
            or made_elsewhere(call)):
        return python_twin(operator, number, first, arguments, count, names, None)
    default = i64(last_item(load_obj(k.state, DEFAULT_DTYPES)))
    # Of at most 4096 operators; addresses have 47 bits.
    store_i64(call, k.KEY, (flags & AUTOCAST) << 57 | (default << 12) | number)
    store_i64(call, k.KEY + 8, load_i64(call, k.MASK))
    plan = find(call)
    if plan is None:
        learn = ptr(0) if load_i64(operator, CLOSED) != 0 else call
        return python_twin(operator, number, first, arguments, count, names, learn)
    kind = way(call, plan, flags)
    recording = flags & RECORDING != 0 and not runs_alone(plan)
    if kind == COMPUTE:
        return capture_compute(call, plan) if recording else run_compute(call, plan)
    if kind == VIEW:
        return run_view(call, plan)
    if kind == VIEWS:
        return run_views(call, plan)
    if kind == INPLACE or kind == OUT:
        return capture_inplace(call, plan) if recording else run_inplace(call, plan)
    if kind == CASTS:
        recording = flags & RECORDING != 0
        if castable(call, plan, recording):
            return run_casts(call, plan, recording)
    return python_twin(operator, number, first, arguments, count, names, None)


@unit.function
def fast_function(number: obj, arguments: ptr, count: i64, names: obj) -> obj:
    """A free function: the builtin's `self` is the operator's number."""
    return fast_call(k.long_as(number), None, arguments, count, names)
