"""The thread pool: chunks of a range, taken one by one by whoever is free.

`dispatch(function, arguments, total, grain)` calls `function(arguments, low, high)` once for each
chunk [k * grain, min((k + 1) * grain, total)). The chunks depend on the sizes only; who does them
and in which order does not matter to the results. The dispatching thread takes chunks as well, so
on a busy machine the work is done at the speed of one thread at least.

One 64-bit *ticket* holds the generation of the job, the number of its chunk groups and the next
group; a compare-and-swap takes a group. Job fields may be read while the next job is being
written, but then the ticket has changed and the swap fails. One job at a time: a dispatcher that
finds the pool taken, a nested one included, does its work alone.

No pool memory is ever freed, and a forked child starts with none (`reset_after_fork`), so no
thread, living or left behind in the parent, can meet memory that is not its own.
"""

import signal
import sys
from types import SimpleNamespace

from ...base import settings
from ...targets.native import (
    Unit, address_of, atomic_add_i32, atomic_add_i64, atomic_cas_i32, atomic_cas_u64,
    atomic_load_i32, atomic_load_i64, atomic_load_ptr, atomic_load_u64, atomic_store_i32,
    atomic_store_i64, atomic_store_ptr, atomic_store_u64, atomic_sub_i32, atomic_sub_i64,
    call_void, external, i32, i64, load_i32, load_i64, load_ptr, load_u8, memcpy, memset, pause,
    ptr, stack, store_i32, store_i64, store_ptr, store_u8, u8, u64, void,
)  # fmt: skip
from . import waiting
from .waiting import prepare, wait_while_equal, wake

unit = Unit("pool")

State = SimpleNamespace(POOL=0, BUSY=64, THREADS=128, SPIN=136, NBYTES=192)
state = unit.global_("state", State.NBYTES)

# What several threads write has a cache line of its own.
Pool = SimpleNamespace(
    TICKET=0, GENERATION=4, DONE=64, WAITING=68, SLEEPERS=128, FUNCTION=192, ARGUMENTS=200,
    TOTAL=208, GRAIN=216, GROUP=224, SPIN=256, ACTIVE=264, CPU=272, MASK=320, WORKERS=448,
    JOB_CELL=512, DONE_CELL=512 + waiting.CELL_BYTES, NBYTES=512 + 2 * waiting.CELL_BYTES,
)  # fmt: skip
Worker = SimpleNamespace(POOL=0, INDEX=8, SEEN=16, NBYTES=64)

_MOST_GROUPS = 65535  # 16 bits of the ticket
_STACK_BYTES = 8 << 20
_SET_MASK = int(signal.SIG_SETMASK)
_KNOWS_CPUS = sys.platform == "linux" and not settings.PORTABLE.get()
_MASK_BYTES = 128  # glibc's cpu_set_t: 1024 CPUs

_allocate = external("posix_memalign", [ptr, u64, u64], i32)
_free = external("free", [ptr])
_thread_create = external("pthread_create", [ptr, ptr, ptr, ptr], i32)
_attributes_init = external("pthread_attr_init", [ptr], i32)
_attributes_destroy = external("pthread_attr_destroy", [ptr], i32)
_attributes_detached = external("pthread_attr_setdetachstate", [ptr, i32], i32)
_attributes_stack = external("pthread_attr_setstacksize", [ptr, u64], i32)
_signals_fill = external("sigfillset", [ptr], i32)
_signals_mask = external("pthread_sigmask", [i32, ptr, ptr], i32)
_yield = external("sched_yield", [], i32)
_current_cpu = external("sched_getcpu", [], i32)
_get_affinity = external("sched_getaffinity", [i32, u64, ptr], i32)
_set_affinity = external("sched_setaffinity", [i32, u64, ptr], i32)
_DETACHED = 1  # PTHREAD_CREATE_DETACHED of glibc and musl; elsewhere the call fails harmlessly


@unit.function
def run_chunks(function: ptr, arguments: ptr, low: i64, end: i64, grain: i64) -> void:
    """The chunks of [low, end) in order."""
    while low < end:
        high = min(low + grain, end)
        call_void(function, arguments, low, high)
        low = high


@unit.function
def drain(pool: ptr) -> void:
    """Take groups of chunks until the job has none left."""
    while True:
        ticket = atomic_load_u64(pool, Pool.TICKET)
        index = ticket & 65535
        groups = (ticket >> 16) & 65535
        if index >= groups:
            return
        function = atomic_load_ptr(pool, Pool.FUNCTION)
        arguments = atomic_load_ptr(pool, Pool.ARGUMENTS)
        total = atomic_load_i64(pool, Pool.TOTAL)
        grain = atomic_load_i64(pool, Pool.GRAIN)
        group = atomic_load_i64(pool, Pool.GROUP)
        if atomic_cas_u64(pool, Pool.TICKET, ticket, ticket + 1) == ticket:
            low = i64(index) * group * grain
            run_chunks(function, arguments, low, min(total, low + group * grain), grain)
            done = atomic_add_i32(pool, Pool.DONE, 1) + 1
            if u64(done) == groups and atomic_load_i32(pool, Pool.WAITING) != 0:
                wake(pool + Pool.DONE, pool + Pool.DONE_CELL, 1)


@unit.function
def next_generation(pool: ptr, seen: i32) -> i32:
    """Wait for a generation other than `seen`: spin for a moment, then sleep."""
    for _ in range(atomic_load_i64(pool, Pool.SPIN)):
        generation = atomic_load_i32(pool, Pool.GENERATION)
        if generation != seen:
            return generation
        pause()
    # Whoever publishes a job changes the generation first and reads SLEEPERS afterwards.
    atomic_add_i32(pool, Pool.SLEEPERS, 1)
    while True:
        generation = atomic_load_i32(pool, Pool.GENERATION)
        if generation != seen:
            break
        wait_while_equal(pool + Pool.GENERATION, pool + Pool.JOB_CELL, seen)
    atomic_sub_i32(pool, Pool.SLEEPERS, 1)
    leave_dispatcher(pool)
    return generation


@unit.function
def leave_dispatcher(pool: ptr) -> void:
    """Move to another CPU when this worker was woken on the dispatcher's.

    The scheduler likes to put the woken beside the waker, and leaves them there: each would get
    half a CPU while another stands idle. The dispatcher's own CPU goes out of the worker's mask
    until the worker meets a dispatcher again.
    """
    if _KNOWS_CPUS:
        cpu = _current_cpu()
        if cpu >= 0 and cpu < _MASK_BYTES * 8 and cpu == atomic_load_i32(pool, Pool.CPU):
            mask = stack(_MASK_BYTES)
            memcpy(mask, pool + Pool.MASK, _MASK_BYTES)
            byte = load_u8(mask, i64(cpu >> 3))
            store_u8(mask, i64(cpu >> 3), byte & ~(u8(1) << u8(cpu & 7)))
            _set_affinity(0, _MASK_BYTES, mask)  # refuses an empty mask, as it should


@unit.function
def work(record: ptr) -> ptr:
    """The life of a worker thread."""
    pool = load_ptr(record, Worker.POOL)
    index = load_i64(record, Worker.INDEX)
    seen = load_i32(record, Worker.SEEN)
    _free(record)
    while True:
        seen = next_generation(pool, seen)
        if index >= atomic_load_i64(pool, Pool.ACTIVE):
            break
        drain(pool)
    atomic_sub_i64(pool, Pool.WORKERS, 1)
    return None


@unit.function
def block(nbytes: u64) -> ptr:
    """Zeroed memory on cache lines of its own, or NULL."""
    place = stack(8)
    if _allocate(place, 64, nbytes) != 0:
        return None
    made = load_ptr(place)
    memset(made, 0, i64(nbytes))
    return made


@unit.function
def start_worker(pool: ptr, index: i64) -> i32:
    """Start worker `index`; 0 on success. Workers leave all signals to Python's own threads."""
    record = block(Worker.NBYTES)
    if record is None:
        return 1
    store_ptr(record, Worker.POOL, pool)
    store_i64(record, Worker.INDEX, index)
    store_i32(record, Worker.SEEN, atomic_load_i32(pool, Pool.GENERATION))
    attributes, all_signals, old_signals, thread = stack(256), stack(256), stack(256), stack(16)
    _attributes_init(attributes)
    _attributes_detached(attributes, _DETACHED)
    _attributes_stack(attributes, _STACK_BYTES)
    _signals_fill(all_signals)
    _signals_mask(_SET_MASK, all_signals, old_signals)
    atomic_add_i64(pool, Pool.WORKERS, 1)
    failed = _thread_create(thread, attributes, address_of(work), record)
    _signals_mask(_SET_MASK, old_signals, None)
    _attributes_destroy(attributes)
    if failed != 0:
        atomic_sub_i64(pool, Pool.WORKERS, 1)
        _free(record)
    return failed


@unit.function
def publish(pool: ptr, groups: i64) -> void:
    """Start a job of `groups` whose fields are written; wake as many as can help."""
    generation = (atomic_load_u64(pool, Pool.TICKET) >> 32) + 1
    if _KNOWS_CPUS:
        atomic_store_i32(pool, Pool.CPU, _current_cpu())
    atomic_store_u64(pool, Pool.TICKET, (generation << 32) | (u64(groups) << 16))
    sleepers = i64(atomic_load_i32(pool, Pool.SLEEPERS))
    helpers = sleepers if groups == 0 else min(sleepers, groups - 1)
    if helpers > 0:
        wake(pool + Pool.GENERATION, pool + Pool.JOB_CELL, helpers)


@unit.function
def resize(pool: ptr, threads: i64) -> void:
    """Start or end workers until, with the dispatcher, there are `threads`."""
    workers = atomic_load_i64(pool, Pool.WORKERS)
    atomic_store_i64(pool, Pool.ACTIVE, threads)
    while workers + 1 < threads:
        if start_worker(pool, workers + 1) != 0:
            atomic_store_i64(state, State.THREADS, workers + 1)  # the system has no more
            atomic_store_i64(pool, Pool.ACTIVE, workers + 1)
            return
        workers += 1
    if workers + 1 > threads:
        publish(pool, 0)
        while atomic_load_i64(pool, Pool.WORKERS) + 1 > threads:
            _yield()


@unit.function
def ready() -> ptr:
    """The pool with the wanted number of threads; NULL when there is no memory for it."""
    pool = atomic_load_ptr(state, State.POOL)
    if pool is None:
        pool = block(Pool.NBYTES)
        if pool is None:
            return None
        prepare(pool + Pool.JOB_CELL)
        prepare(pool + Pool.DONE_CELL)
        if _KNOWS_CPUS:
            _get_affinity(0, _MASK_BYTES, pool + Pool.MASK)
        atomic_store_ptr(state, State.POOL, pool)
    threads = atomic_load_i64(state, State.THREADS)
    atomic_store_i64(pool, Pool.SPIN, atomic_load_i64(state, State.SPIN))
    if atomic_load_i64(pool, Pool.ACTIVE) != threads:
        resize(pool, threads)
    return pool


@unit.function
def finish(pool: ptr, groups: i64) -> void:
    """Wait until the groups that others took are done."""
    for _ in range(load_i64(pool, Pool.SPIN)):
        if i64(atomic_load_i32(pool, Pool.DONE)) == groups:
            return
        pause()
    atomic_store_i32(pool, Pool.WAITING, 1)
    while True:
        done = atomic_load_i32(pool, Pool.DONE)
        if i64(done) == groups:
            break
        wait_while_equal(pool + Pool.DONE, pool + Pool.DONE_CELL, done)
    atomic_store_i32(pool, Pool.WAITING, 0)


@unit.function
def run_together(pool: ptr, function: ptr, arguments: ptr, total: i64, grain: i64) -> void:
    """One job for all threads, the calling one included."""
    chunks = (total + grain - 1) // grain
    group = (chunks + (_MOST_GROUPS - 1)) // _MOST_GROUPS
    groups = (chunks + group - 1) // group
    atomic_store_ptr(pool, Pool.FUNCTION, function)
    atomic_store_ptr(pool, Pool.ARGUMENTS, arguments)
    atomic_store_i64(pool, Pool.TOTAL, total)
    atomic_store_i64(pool, Pool.GRAIN, grain)
    atomic_store_i64(pool, Pool.GROUP, group)
    atomic_store_i32(pool, Pool.DONE, 0)
    publish(pool, groups)
    drain(pool)
    finish(pool, groups)


@unit.function
def dispatch(function: ptr, arguments: ptr, total: i64, grain: i64) -> void:
    """Do [0, total) in chunks of `grain`, on all threads where that can help.

    A grain of 0 is one of 1 whose chunks take long: whoever dispatches them gives the GIL up first.
    """
    if total <= max(grain, 1):
        if total > 0:
            call_void(function, arguments, i64(0), total)
        return
    step = max(grain, 1)
    alone = atomic_load_i64(state, State.THREADS) <= 1
    if alone or atomic_cas_i32(state, State.BUSY, 0, 1) != 0:
        run_chunks(function, arguments, 0, total, step)
        return
    pool = ready()
    if pool is None:
        run_chunks(function, arguments, 0, total, step)
    else:
        run_together(pool, function, arguments, total, step)
    atomic_store_i32(state, State.BUSY, 0)


@unit.function
def rouse() -> void:
    """Wake the workers: there will be work for them soon.

    Waking takes longer than a small job does. Those that watch already do so for as long again.
    """
    pool = atomic_load_ptr(state, State.POOL)
    if pool is None or atomic_load_i64(pool, Pool.SPIN) == 0:
        return  # there are none, or they would sleep again at once
    if atomic_cas_i32(state, State.BUSY, 0, 1) == 0:
        publish(pool, 0)
        atomic_store_i32(state, State.BUSY, 0)


@unit.function
def set_threads(threads: i64, spin: i64) -> void:
    """Wish for a number of threads; the next job that needs the pool sees to it."""
    atomic_store_i64(state, State.SPIN, spin)
    atomic_store_i64(state, State.THREADS, threads)


@unit.function
def worker_count() -> i64:
    """Threads that exist now, the dispatcher not counted."""
    pool = atomic_load_ptr(state, State.POOL)
    return 0 if pool is None else atomic_load_i64(pool, Pool.WORKERS)


@unit.function
def reset_after_fork() -> void:
    """In a forked child: forget the parent's pool, whose threads do not exist here."""
    atomic_store_ptr(state, State.POOL, None)
    atomic_store_i32(state, State.BUSY, 0)


@unit.function
def spin(turns: i64) -> void:
    """Turns of the waiting loop, for measuring how long one takes."""
    for _ in range(turns):
        if atomic_load_i32(state, State.BUSY) == -1:
            return
        pause()
