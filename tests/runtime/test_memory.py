"""The allocator: alignment, reuse, limits, errors, threads and forks."""

import ctypes
import gc
import os
import random
import threading

import pytest

from yesca.runtime import memory, units
from yesca.runtime.native import alloc

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
              pytest.mark.every_cpu]


@pytest.fixture(params=["builtin", "portable"])
def allocate(request):
    memory.allocate(1)
    return memory.allocate if request.param == "builtin" else memory.portable_allocate


def test_blocks_are_aligned_writable_and_apart(allocate):
    generator = random.Random(1)
    sizes = [generator.choice((1, 64, 65, 1000, 70_000, 5_000_000)) for _ in range(60)]
    blocks = [allocate(size) for size in sizes]
    for index, ((address, _), size) in enumerate(zip(blocks, sizes, strict=True)):
        assert address % 64 == 0
        ctypes.memset(address, index, size)
    for index, ((address, _), size) in enumerate(zip(blocks, sizes, strict=True)):
        assert ctypes.string_at(address, size) == bytes([index]) * size


def test_sizes_and_classes():
    size_class, class_bytes = alloc.size_class, alloc.class_bytes  # as Python functions
    previous = 0
    for number in range(100):
        assert class_bytes(number) >= previous
        previous = class_bytes(number)
    for nbytes in (1, 64, 65, 80, 81, 127, 128, 129, 1000, 65_536, 65_537, 10**7, 2**40 + 1):
        number = size_class(nbytes)
        assert class_bytes(number) >= nbytes
        assert number == 0 or class_bytes(number - 1) < nbytes
        assert class_bytes(number) <= nbytes * 1.25 + 64


def test_freed_memory_is_reused(allocate):
    for size in (100, 3_000, 200_000, 30_000_000):
        address, owner = allocate(size)
        del owner
        again, owner = allocate(size)
        assert again == address
    del owner
    before = memory.memory_stats()["system_allocations"]
    for _ in range(100):
        allocate(30_000_000)
    assert memory.memory_stats()["system_allocations"] == before


def test_counters(allocate):
    gc.collect()
    before = memory.memory_stats()
    memory.reset_peak()
    _, first = allocate(1_000_000)
    _, second = allocate(500)
    now = memory.memory_stats()
    assert now["allocated_bytes"] - before["allocated_bytes"] == 1_000_500
    assert now["live_blocks"] - before["live_blocks"] == 2
    del first, second
    after = memory.memory_stats()
    assert after["allocated_bytes"] == before["allocated_bytes"]
    assert after["peak_allocated_bytes"] == now["allocated_bytes"]
    assert after["allocations"] - before["allocations"] == 2


def test_free_blocks_are_bounded(allocate):
    limit = memory.memory_stats()["free_limit_bytes"]
    try:
        memory.empty_cache()
        assert memory.memory_stats()["free_bytes"] == 0
        memory.set_free_limit(20_000_000)
        held = [allocate(6_000_000) for _ in range(10)]
        held.clear()
        assert 0 < memory.memory_stats()["free_bytes"] <= 20_000_000
        memory.empty_cache()
        assert memory.memory_stats()["free_bytes"] == 0
    finally:
        memory.set_free_limit(limit)


def test_errors(allocate):
    for wrong in (1 << 46, 1 << 60, -1):
        with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory: you"):
            allocate(wrong)
    with pytest.raises((TypeError, ctypes.ArgumentError)):
        allocate("many")
    assert allocate(0) == (0, None)


def test_a_second_release_is_ignored():
    native_allocate, release = units.callable_of(alloc.allocate), units.callable_of(alloc.release)
    address = native_allocate(100)
    live = memory.memory_stats()["live_blocks"]
    release(address)
    release(address)
    release(None)
    assert memory.memory_stats()["live_blocks"] == live - 1


def test_threads_without_the_gil():
    native_allocate, release = units.callable_of(alloc.allocate), units.callable_of(alloc.release)
    live = memory.memory_stats()["live_blocks"]
    failures = []

    def work(seed):
        generator = random.Random(seed)
        held = []
        for _ in range(1500):
            size = generator.choice((8, 100, 5_000, 100_000))
            address = native_allocate(size)
            ctypes.c_int64.from_address(address).value = address + seed
            held.append(address)
            if len(held) > 20:
                address = held.pop(generator.randrange(20))
                if ctypes.c_int64.from_address(address).value != address + seed:
                    failures.append(address)
                release(address)
        for address in held:
            release(address)

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in running:
        thread.start()
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            _, owner = memory.allocate(1000)
            os._exit(0 if owner is not None else 1)
        assert os.waitpid(pid, 0)[1] == 0
    for thread in running:
        thread.join()
    assert not failures and memory.memory_stats()["live_blocks"] == live
