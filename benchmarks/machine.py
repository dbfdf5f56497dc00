"""What the machine can do at most, measured beside the suites: FLOP/s and bytes/s.

The loops are written in LLVM's language, so that the limit does not depend on either contender:
independent fused multiply-adds in registers, and a large memory read, or copied, by every thread.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

ACCUMULATORS = 12  # enough to hide the latency of a multiply-add on two ports
READERS = 8
BUFFER = 192 << 20  # bytes for each thread, larger than caches


@dataclass(frozen=True)
class Limits:
    """Float32 operations and bytes a second, over all threads."""

    flops: float
    bytes: float

    def better_of(self, other: Limits | None) -> Limits:
        """What was reached in either of two measurements."""
        if other is None:
            return self
        return Limits(max(self.flops, other.flops), max(self.bytes, other.bytes))

    def share(self, flops: float, traffic: float, seconds: float) -> float | None:
        """How much of the nearer limit a body reached; None where nothing was declared."""
        needed = max(flops / self.flops, traffic / self.bytes)
        return needed / seconds if needed else None


def describe() -> dict[str, object]:
    """What a reader of the figures must know of the machine."""
    return {
        "cpu": _cpu_name(),
        "cpus": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "system": platform.platform(),
        "python": sys.version.split()[0],
    }


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def measure(threads: int) -> Limits:
    """Measure both limits on this many threads; takes about two seconds."""
    lanes, engine = compiled_loops()
    multiply_add, read = loop_functions(engine)
    turns = 4_000_000
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(pool, threads, lambda _: multiply_add(turns))
        flops = 2.0 * ACCUMULATORS * lanes * turns * threads / seconds
        traffic = _memory_rate(pool, threads, read, lanes)
    return Limits(flops, traffic)


def _memory_rate(
    pool: ThreadPoolExecutor, threads: int, read: Callable[..., float], lanes: int
) -> float:
    """The better of reading and of copying; a copy moves every byte twice."""
    sources = [(ctypes.c_char * BUFFER)() for _ in range(threads)]
    targets = [(ctypes.c_char * BUFFER)() for _ in range(threads)]
    for buffer in (*sources, *targets):
        ctypes.memset(buffer, 1, BUFFER)  # the first touch makes the pages
    turns = BUFFER // (4 * lanes * READERS)
    reading = _best(pool, threads, lambda number: read(ctypes.addressof(sources[number]), turns))
    copying = _best(
        pool, threads, lambda number: ctypes.memmove(targets[number], sources[number], BUFFER)
    )
    return max(threads * BUFFER / reading, 2 * threads * BUFFER / copying)


def _best(
    pool: ThreadPoolExecutor, threads: int, job: Callable[[int], object], tries: int = 5
) -> float:
    """The shortest time in which every thread does its job once."""
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        list(pool.map(job, range(threads)))
        best = min(best, time.perf_counter() - start)
    return best


# --- the two loops --------------------------------------------------------------------------------


def compiled_loops() -> tuple[int, Any]:
    """(floats in a vector, the engine that holds both loops and must outlive them)"""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_source(lanes)), machine)
    engine.finalize_object()
    return lanes, engine


def loop_functions(engine: Any) -> tuple[Callable[..., float], Callable[..., float]]:
    """multiply_add(turns) and read(address, turns); both release the interpreter lock."""
    multiply_add = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)
    read = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int64)
    return (
        multiply_add(engine.get_function_address("multiply_add")),
        read(engine.get_function_address("read")),
    )


def _source(lanes: int) -> str:
    vector = f"<{lanes} x float>"

    def multiply_add(n: int) -> str:
        operands = f"{vector} %s{n}, {vector} splat (float 0.5), {vector} splat (float 1.0)"
        return f"  %t{n} = call {vector} @llvm.fma.v{lanes}f32({operands})\n"

    def read(n: int) -> str:
        return (
            f"  %first{n} = mul i64 %turn, {READERS}\n"
            f"  %place{n} = add i64 %first{n}, {n}\n"
            f"  %address{n} = getelementptr {vector}, ptr %buffer, i64 %place{n}\n"
            f"  %value{n} = load {vector}, ptr %address{n}, align 4\n"
            f"  %t{n} = fadd {vector} %s{n}, %value{n}\n"
        )

    return (
        f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})\n"
        f"declare float @llvm.vector.reduce.fadd.v{lanes}f32(float, {vector})\n"
        + _loop("multiply_add(i64 %turns)", lanes, ACCUMULATORS, multiply_add)
        + _loop("read(ptr %buffer, i64 %turns)", lanes, READERS, read)
    )


def _loop(signature: str, lanes: int, count: int, body: Callable[[int], str]) -> str:
    """A function that takes `count` vectors %s through `body`, which gives %t, in each turn.

    The sums start from different values, so that none of them is left out as a duplicate.
    """
    vector = f"<{lanes} x float>"
    sums = "".join(
        f"  %s{n} = phi {vector} [ splat (float {n}.0), %entry ], [ %t{n}, %loop ]\n"
        for n in range(count)
    )
    total = "".join(
        f"  %u{n} = fadd {vector} {f'%u{n - 1}' if n > 1 else '%t0'}, %t{n}\n"
        for n in range(1, count)
    )
    return (
        f"define float @{signature} {{\nentry:\n  br label %loop\nloop:\n"
        "  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
        + sums
        + "".join(body(n) for n in range(count))
        + "  %next = add i64 %turn, 1\n  %more = icmp slt i64 %next, %turns\n"
        + "  br i1 %more, label %loop, label %done\ndone:\n"
        + total
        + f"  %sum = call float @llvm.vector.reduce.fadd.v{lanes}f32"
        + f"(float 0.0, {vector} %u{count - 1})\n  ret float %sum\n}}\n"
    )
