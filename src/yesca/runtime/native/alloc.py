"""The allocator: 64-byte-aligned blocks, kept for reuse by size class.

A block is preceded by a header of one cache line. Classes have four steps to a power of two, so
any freed block serves later requests of its class at once, without page faults. Small blocks are
cut from slabs and never go back to the system; larger ones come from the system one by one, and
go back when the free ones together exceed a limit, the largest first. Blocks of some megabytes
are mapped on 2 MB boundaries and asked to be huge pages.

A spin lock guards everything, so blocks may be released without the GIL. Around a fork the lock is
held (`lock`, `unlock`): the child finds it free and the lists whole.
"""

import sys
from types import SimpleNamespace

from ...targets.native import (
    Unit, address_of, atomic_cas_i32, atomic_store_i32, count_leading_zeros, external, i32, i64,
    load_i64, load_ptr, obj, pause, ptr, stack, store_i64, store_ptr, u64, unlikely, void,
)  # fmt: skip
from .objects import (
    as_integer, capsule_new, capsule_pointer, decref, long_from, none, out_of_memory,
    tuple_new, tuple_set,
)  # fmt: skip

unit = Unit("alloc")

HEADER_BYTES = 64
Header = SimpleNamespace(CLASS=0, REQUESTED=8, NEXT=16, BASE=24, MAPPED=32, MARK=40)
_ALIVE, _FREE = 0x6C6976656C697665, 0x66726565  # what MARK holds

State = SimpleNamespace(
    LOCK=0, ALLOCATED=64, PEAK=72, RESERVED=80, FREE=88, LIMIT=96, COUNT=104, LIVE=112,
    SYSTEM_COUNT=120, SLAB=128, SLAB_END=136, HEADS=192, NBYTES=192 + 8 * 256,
)  # fmt: skip
state = unit.global_("state", State.NBYTES)

_CLASSES = 172  # up to 2 ** 48 bytes
_SMALL_CLASS = 40  # from here on (65536 bytes) blocks are the system's, not cut from slabs
_HUGE_BYTES = 4 << 20
_SLAB_BYTES = 1 << 20
_MOST_BYTES = 1 << 47
# A free block of a slightly larger class is taken rather than new memory.
_CLASSES_ABOVE = 2

_MAPS = sys.platform == "linux"
_READ_WRITE, _PRIVATE_ANONYMOUS, _ADVISE_HUGE = 3, 0x22, 14
_PAGE_BYTES, _HUGE_PAGE_BYTES = 4096, 2 << 20

_system_allocate = external("posix_memalign", [ptr, u64, u64], i32)
_system_free = external("free", [ptr])
_map = external("mmap", [ptr, u64, i32, i32, i32, i64], ptr)
_unmap = external("munmap", [ptr, u64], i32)
_advise = external("madvise", [ptr, u64, i32], i32)
_yield = external("sched_yield", [], i32)


@unit.function
def lock() -> void:
    """Take the allocator's lock."""
    turns = 0
    while atomic_cas_i32(state, State.LOCK, 0, 1) != 0:
        pause()
        turns += 1
        if turns > 200:
            _yield()


@unit.function
def unlock() -> void:
    """Give the allocator's lock back."""
    atomic_store_i32(state, State.LOCK, 0)


@unit.function(inline=True)
def size_class(nbytes: i64) -> i64:
    """The number of the smallest class that holds `nbytes` (at least 1)."""
    last = max(nbytes, 64) - 1
    power = 63 - i64(count_leading_zeros(u64(last)))
    step = (last >> (power - 2)) & 3
    return max((power - 6) * 4 + step + 1, 0)


@unit.function(inline=True)
def class_bytes(number: i64) -> i64:
    """The bytes that a block of a class holds."""
    power = 6 + ((number - 1) >> 2)
    step = (number - 1) & 3
    return 64 if number == 0 else ((step + 5) << (power - 2))


@unit.function(inline=True)
def add(counter: i64, amount: i64) -> void:
    """Change one of the counters."""
    store_i64(state, counter, load_i64(state, counter) + amount)


@unit.function
def cut_small(number: i64) -> ptr:
    """A new small block, from the current slab or a new one; NULL without memory."""
    room = (HEADER_BYTES + class_bytes(number) + 63) & ~63
    base = load_ptr(state, State.SLAB)
    if base is None or base + room > load_ptr(state, State.SLAB_END):
        place = stack(8)
        if _system_allocate(place, 64, _SLAB_BYTES) != 0:
            return None
        base = load_ptr(place)
        store_ptr(state, State.SLAB_END, base + _SLAB_BYTES)
        add(State.RESERVED, _SLAB_BYTES)
        add(State.SYSTEM_COUNT, 1)
    store_ptr(state, State.SLAB, base + room)
    store_i64(base, Header.MAPPED, 0)
    return base


@unit.function
def map_huge(nbytes: i64) -> ptr:
    """Pages on a 2 MB boundary, huge ones if the system has them; NULL without memory."""
    whole = (nbytes + (_PAGE_BYTES - 1)) & ~(_PAGE_BYTES - 1)
    asked = whole + _HUGE_PAGE_BYTES
    start = i64(_map(None, u64(asked), _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0))
    if start == -1:
        return None
    base = (start + (_HUGE_PAGE_BYTES - 1)) & ~(_HUGE_PAGE_BYTES - 1)
    if base > start:
        _unmap(ptr(start), u64(base - start))
    after = start + asked - (base + whole)
    if after > 0:
        _unmap(ptr(base + whole), u64(after))
    _advise(ptr(base), u64(whole), _ADVISE_HUGE)
    store_i64(ptr(base), Header.MAPPED, whole)
    return ptr(base)


@unit.function
def take_large(number: i64) -> ptr:
    """A new block from the system; NULL without memory."""
    nbytes = HEADER_BYTES + class_bytes(number)
    if _MAPS and nbytes >= _HUGE_BYTES:
        base = map_huge(nbytes)
    else:
        place = stack(8)
        base = ptr(0)
        if _system_allocate(place, 64, u64(nbytes)) == 0:
            base = load_ptr(place)
            store_i64(base, Header.MAPPED, 0)
    if base is not None:
        add(State.RESERVED, nbytes)
        add(State.SYSTEM_COUNT, 1)
    return base


@unit.function
def give_large(base: ptr) -> void:
    """Return a block to the system."""
    nbytes = HEADER_BYTES + class_bytes(load_i64(base, Header.CLASS))
    add(State.RESERVED, -nbytes)
    mapped = load_i64(base, Header.MAPPED)
    if mapped > 0:
        _unmap(base, u64(mapped))
    else:
        _system_free(base)


@unit.function
def trim(keep: i64) -> void:
    """Return free large blocks, the largest first, until at most `keep` bytes are free."""
    number = _CLASSES - 1
    while number >= _SMALL_CLASS and load_i64(state, State.FREE) > keep:
        head = state + (State.HEADS + number * 8)
        block = load_ptr(head)
        if block is None:
            number -= 1
        else:
            store_ptr(head, 0, load_ptr(block, Header.NEXT))
            add(State.FREE, -class_bytes(number))
            give_large(block)


@unit.function(inline=True)
def pop(number: i64) -> ptr:
    """A free block of a class, or NULL."""
    head = state + (State.HEADS + number * 8)
    block = load_ptr(head)
    if block is not None:
        store_ptr(head, 0, load_ptr(block, Header.NEXT))
    return block


@unit.function
def find_large(number: i64) -> ptr:
    """A large block: free, from the system, or from the system after trimming; else NULL."""
    for candidate in range(number, min(number + (_CLASSES_ABOVE + 1), _CLASSES)):
        block = pop(candidate)
        if block is not None:
            add(State.FREE, -class_bytes(candidate))
            return block
    block = take_large(number)
    if block is None:
        trim(0)
        block = take_large(number)
    if block is not None:
        store_i64(block, Header.CLASS, number)
    return block


@unit.function
def find_small(number: i64) -> ptr:
    """A small block, free or new; NULL without memory."""
    block = pop(number)
    if block is None:
        block = cut_small(number)
        if block is not None:
            store_i64(block, Header.CLASS, number)
    return block


@unit.function
def allocate(nbytes: i64) -> ptr:
    """A block of at least `nbytes`, aligned to 64 bytes; NULL without memory."""
    if unlikely(nbytes < 0 or nbytes > _MOST_BYTES):
        return None
    number = size_class(nbytes)
    lock()
    block = find_small(number) if number < _SMALL_CLASS else find_large(number)
    if block is not None:
        store_i64(block, Header.REQUESTED, nbytes)
        store_i64(block, Header.MARK, _ALIVE)
        allocated = load_i64(state, State.ALLOCATED) + nbytes
        store_i64(state, State.ALLOCATED, allocated)
        store_i64(state, State.PEAK, max(load_i64(state, State.PEAK), allocated))
        add(State.COUNT, 1)
        add(State.LIVE, 1)
    unlock()
    return None if block is None else block + HEADER_BYTES


@unit.function
def release(address: ptr) -> void:
    """Take a block back. NULL and blocks that are free already are ignored."""
    if address is None:
        return
    block = address - HEADER_BYTES
    lock()
    if load_i64(block, Header.MARK) == _ALIVE:
        number = load_i64(block, Header.CLASS)
        store_i64(block, Header.MARK, _FREE)
        add(State.ALLOCATED, -load_i64(block, Header.REQUESTED))
        add(State.LIVE, -1)
        head = state + (State.HEADS + number * 8)
        store_ptr(block, Header.NEXT, load_ptr(head))
        store_ptr(head, 0, block)
        if number >= _SMALL_CLASS:
            add(State.FREE, class_bytes(number))
            limit = load_i64(state, State.LIMIT)
            if load_i64(state, State.FREE) > limit:
                # Down to half: the blocks that stay are those that later requests reuse.
                trim(limit >> 1)
    unlock()


@unit.function
def set_limit(nbytes: i64) -> void:
    """How many bytes of free large blocks are kept."""
    lock()
    store_i64(state, State.LIMIT, nbytes)
    trim(nbytes)
    unlock()


@unit.function
def empty() -> void:
    """Return all free large blocks to the system."""
    lock()
    trim(0)
    unlock()


@unit.function
def reset_peak() -> void:
    """Let the peak start again from what is allocated now."""
    lock()
    store_i64(state, State.PEAK, load_i64(state, State.ALLOCATED))
    unlock()


# For Python: the block's owner is a capsule, and its destructor is native.


@unit.function
def destroy(capsule: obj) -> void:
    """The destructor of an owner."""
    release(capsule_pointer(capsule, None))


@unit.function
def allocate_owned(nbytes: i64, owner: ptr) -> ptr:
    """A block whose owner, a new reference, is stored at `owner`; NULL with an error set."""
    address = allocate(nbytes)
    if address is None:
        out_of_memory(u64(nbytes))
        return None
    capsule = capsule_new(address, None, address_of(destroy))
    if capsule is None:
        release(address)
        return None
    store_ptr(owner, 0, capsule)
    return address


@unit.function
def python_allocate(module: obj, size: obj) -> obj:
    """The builtin behind `memory.allocate`: (address, owner), or (0, None) of no bytes."""
    owner, failed = stack(8), stack(8)
    store_i64(failed, 0, 0)
    nbytes = as_integer(size, failed)
    if load_i64(failed) != 0:
        return None
    if nbytes == 0:
        address = ptr(0)
        store_ptr(owner, 0, none())
    else:
        address = allocate_owned(nbytes, owner)
        if address is None:
            return None
    result = tuple_new(2)
    if result is None:
        decref(load_ptr(owner))
        return None
    tuple_set(result, 0, long_from(i64(address)))
    tuple_set(result, 1, load_ptr(owner))
    return result
