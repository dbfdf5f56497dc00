"""Programs on disk: what the first call of a compiled function in a new process need not find out.

An entry lies beside the machine code that it launches, under a hash of what a program is made of:
the launches of every recorded call, what their operands are, what is held at the end, and the
files that make programs. Launches are named by symbols; a program whose kernels are not all there
is made anew.
"""

from __future__ import annotations

import ctypes
import hashlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..base import settings
from ..loops.printer import describe
from ..runtime import kernels, machine, units
from ..runtime.cache import Entry as Stored
from ..runtime.native import epilogue
from ..runtime.native.epilogue import WORD
from ..runtime.native.replay import LAUNCH_WORDS
from ..runtime.plan import Flat, Plan
from ..runtime.recording import TABLE
from . import again, epilogues, groups
from .program import Entry, Program, build, checked, needed
from .steps import launches_in

LEAST_CALLS = 16  # of shorter recordings a program is made as quickly as it is read


def program(entries: Sequence[Entry], live: tuple[int, ...], sizes: Mapping[int, int],
            count: int, plain: bool = False) -> Program:
    """The program of a recording: read, or made and stored; a plain one is made as quickly.

    live: the new storages that somebody still holds; sizes: bytes of all new storages; count: of
    all storages.
    """
    kept = needed(entries, live, sizes)
    if plain:
        return build(kept, live, sizes, count, plain)
    key = "" if len(kept) < LEAST_CALLS else _key(kept, live, sizes, count)
    if not key:
        return build(kept, live, sizes, count)
    found = machine.fetch(key)
    made = None if found is None else _restored(found, kept, live, sizes, count)
    if made is None:
        made = build(kept, live, sizes, count)
        machine.keep(key, _written(made))
    return made


# ---- names -----------------------------------------------------------------------------------

def _key(entries: Sequence[Entry], live: tuple[int, ...], sizes: Mapping[int, int],
         count: int) -> str:
    """The name of a program; empty for one that no other process could use."""
    if settings.DEBUG.get() >= 3:
        return ""  # who looks at kernels wants to see them made
    state = hashlib.blake2b(digest_size=16)
    words = array("q", (count, groups.LEAST, again.LEAST_BYTES, epilogues.REACH, *live, -1, *sizes,
                        *sizes.values()))
    for entry in entries:
        digest = _digest(entry.plan)
        if not digest:
            return ""
        state.update(digest)
        words.extend((len(entry.operands), len(entry.results), *entry.results, entry.numbers))
        for operand in entry.operands:
            words.extend((operand.number, operand.offset, operand.value))
    state.update(words.tobytes())
    return machine.hash_key("program", _version(), state.digest())


def _digest(plan: Plan) -> bytes:
    """A hash of everything that a program takes from a plan."""
    if plan.digest is None:
        symbols = [machine.symbol_at(one.address) for one in plan.launches]
        state = hashlib.blake2b(repr((
            plan.operands, [s.nbytes for s in plan.results], plan.temporaries, plan.inplace,
            plan.checks, plan.writes, symbols, [
                (one.pointers, one.numbers, one.total, one.grain, one.written, one.long)
                for one in plan.launches])).encode())
        for one, stage in zip(plan.launches, plan.stages, strict=True):
            state.update(one.words)
            if isinstance(stage, Flat):
                said = (describe(stage.stage), stage.points, stage.slots, stage.numbers)
                state.update(repr(said).encode())
        plan.digest = state.digest() if all(symbols) else b""
    return plan.digest


@cache
def _version() -> str:
    """A hash of the files that make programs."""
    root = Path(__file__).parent
    files = [f for room in (root, root.parent / "runtime") for f in sorted(room.glob("*.py"))]
    return machine.hash_key(kernels.compiler_version(), *(f.read_bytes() for f in files))


# ---- writing and reading ---------------------------------------------------------------------

def _written(made: Program) -> Stored:
    names: dict[str, int] = {}
    words, frame = array("q", made.words), array("q", made.frame)
    for at in _functions(words, machine.symbol_at):
        words[at] = names.setdefault(machine.symbol_at(words[at]), len(names))
    frame[TABLE] = 0
    meta = {"symbols": list(names), "bases": made.bases, "outputs": made.outputs,
            "arena": made.arena, "slow": made.slow, "cells": made.cells_at, "words": len(words),
            "saved": made.saved}
    return Stored({"program": meta}, (words + frame).tobytes())


def _functions(words: Sequence[int], symbol: Callable[[int], str]) -> list[int]:
    """Where in a table of launches machine functions are named; symbol: of what stands there."""
    places = []
    for at, _ in launches_in(words):
        places.append(at)
        if symbol(words[at]) == epilogue.run.symbol:
            places += [at + LAUNCH_WORDS + word for word in (WORD.KERNEL, WORD.SECOND)]
    return places


def _restored(found: Stored, entries: Sequence[Entry], live: tuple[int, ...],
              sizes: Mapping[int, int], count: int) -> Program | None:
    known = {machine.symbol_at(one.address): one.address
             for entry in entries for one in entry.plan.launches}
    meta = found.meta["program"]
    symbols = meta["symbols"]
    if epilogue.run.symbol in symbols:
        known[epilogue.run.symbol] = units.address(epilogue.run)
    addresses = [known.get(symbol) or kernels.stored(symbol) for symbol in symbols]
    if not all(addresses):
        return None
    data = array("q", found.code)
    words = (ctypes.c_int64 * meta["words"])(*data[:meta["words"]])
    frame = (ctypes.c_int64 * (len(data) - len(words)))(*data[len(words):])
    for at in _functions(words, symbols.__getitem__):
        words[at] = addresses[words[at]]

    def inside() -> Any:
        return build(entries, live, sizes, count).inside()

    return Program(words, frame, tuple(map(tuple, meta["bases"])),
                   tuple(map(tuple, meta["outputs"])), meta["arena"], meta["slow"],
                   tuple(checked(entries)), meta["cells"], inside,
                   meta["saved"])
