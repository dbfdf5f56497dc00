"""From a recording to a program: what must run, where its values live, the table of launches.

`build(entries, live)` drops what nobody can see, joins launches (`groups.py`), gives every
temporary a place in one arena by its lifetime, and writes launches and storages in the forms that
`runtime/native/replay.py` and `runtime/native/finish.py` walk. A *plain* program has the launches
of its calls as they are: it is made in a fraction of the time, for a recording that may never run
again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..loops.nests import Place
from ..runtime.plan import Plan
from ..runtime.recording import EARLIER, RESULT, TABLE, TEMPORARY
from .again import computed_again
from .arena import ALIGNMENT, last_uses, placed
from .common import without_repeats
from .epilogues import followed
from .groups import grouped
from .steps import ARENA, CELLS, Step, of_launch, table_words

LAUNCH_BYTES = 1 << 11  # what is moved in the time that it takes to begin a launch
Inside = tuple[tuple[Step, ...], dict[int, tuple[int, int, int]]]


@dataclass(frozen=True)
class Operand:
    """A tensor that an entry reads or writes: which storage, and where in it.

    offset: bytes from the storage's start. Those of tensors that existed before the recording come
    with each run instead: `value` is their place among the run's values, else -1.
    """

    number: int
    offset: int
    value: int


@dataclass(frozen=True, eq=False)
class Entry:
    """One recorded call: its plan and what the plan's slots stand for."""

    plan: Plan
    operands: tuple[Operand, ...]
    results: tuple[int, ...]  # numbers of new storages; an in-place plan has none
    numbers: int  # place of its first run-time number among the run's values

    def written(self) -> Iterable[int]:
        """Storages that it writes besides its results."""
        if self.plan.inplace:
            yield self.operands[0].number
        for slot in self.plan.writes:
            yield self.operands[slot].number

    def touched(self) -> Iterable[int]:
        """All storages that its launches may read or write."""
        yield from (operand.number for operand in self.operands)
        yield from self.results


@dataclass(eq=False)
class Program:
    """A recording ready to run.

    bases:   what the launches' addresses start from: (place, number) of earlier storages
    outputs: (place, number, bytes) of storages that live on; each run allocates them
    cells:   words at the arena's `cells_at` in which launches report errors: (plan, word, count)
    saved:   bytes that its launches move less than those of its calls, launches counted as bytes
    plain:   nothing is joined in it
    inside:  gives what only people ask for, and what a stored program must find out again
    """

    words: Any
    frame: Any  # what native code reads of all this
    bases: tuple[tuple[int, int], ...]
    outputs: tuple[tuple[int, int, int], ...]
    arena: int
    slow: bool
    cells: tuple[tuple[Plan, int, int], ...]
    cells_at: int
    inside: Callable[[], Inside]
    saved: int
    plain: bool = False
    runs: int = field(init=False, default=0)  # how often it was looked for
    address: int = field(init=False)
    frame_address: int = field(init=False)

    def __post_init__(self) -> None:
        self.address = ctypes.addressof(self.words)
        self.frame_address = ctypes.addressof(self.frame)
        self.frame[TABLE] = self.address

    @property
    def steps(self) -> tuple[Step, ...]:
        """The launches, in order."""
        return self._inside[0]

    @property
    def memories(self) -> dict[int, tuple[int, int, int]]:
        """Where each memory lies: (base, bytes beyond, its bytes or -1 for an earlier storage)."""
        return self._inside[1]

    @cached_property
    def _inside(self) -> Inside:
        return self.inside()


def needed(entries: Sequence[Entry], live: Iterable[int], sizes: Container[int]) -> list[Entry]:
    """The entries whose effect can be seen: through live results, earlier storages, or an error.

    sizes: has the storages that the recording made.
    """
    wanted = {*live, *(o.number for e in entries for o in e.operands if o.number not in sizes)}
    kept = []
    for entry in reversed(entries):
        seen = any(n in wanted for n in (*entry.results, *entry.written()))
        if seen or entry.plan.checks:
            kept.append(entry)
            wanted.update(operand.number for operand in entry.operands)
    kept.reverse()
    return kept


class _Builder:
    """Writes one program."""

    def __init__(self, entries: Sequence[Entry], live: tuple[int, ...], sizes: dict[int, int],
                 plain: bool) -> None:
        self.plain = plain
        self.live = frozenset(live)
        self.sizes = sizes  # bytes of the storages that the recording made, and of temporaries
        self.checks = sum(entry.plan.checks for entry in entries)
        self.reported = 0  # words of checks given out so far
        self.temporaries = 0
        self.cells = checked(entries)
        made = [step for entry in entries for step in self._steps(entry)]
        self.steps = made if plain else self._joined(made)
        self.saved = self._moved(made) - self._moved(self.steps)
        longest = max((len(step.words) for step in self.steps), default=0)
        self.cells_at = 8 * longest
        self.bases_at = self.cells_at + 8 * self.checks
        self.earlier: dict[int, int] = {}
        self.outputs: dict[int, int] = {}
        self.offsets: dict[int, int] = {}
        self.arena = 0  # bytes

    def _joined(self, made: list[Step]) -> list[Step]:
        earlier = {m for step in made for m in step.touched if m >= 0 and m not in self.sizes}
        kept = self.live | earlier
        made = without_repeats(made, self.sizes, kept)
        return followed(computed_again(grouped(made, kept), self.sizes, kept), self.sizes, kept)

    def _moved(self, steps: list[Step]) -> int:
        """Bytes of the recording's own memories that launches read or write, and their starts."""
        return LAUNCH_BYTES * len(steps) + sum(
            self.sizes.get(memory, 0) for step in steps for memory in step.touched)

    # ---- entries to steps --------------------------------------------------------------------

    def _steps(self, entry: Entry) -> Iterator[Step]:
        plan = entry.plan
        places = [Place(o.number, o.value, o.offset) for o in entry.operands]
        places += [places[0]] if plan.inplace else [Place(n) for n in entry.results]
        for nbytes in plan.temporaries:
            self.temporaries += 1
            self.sizes[CELLS - self.temporaries] = nbytes
            places.append(Place(CELLS - self.temporaries))
        if plan.checks:
            places.append(Place(CELLS, -1, 8 * self.reported))
            self.reported += plan.checks
        written = {0, *plan.writes} if plan.inplace else set(plan.writes)
        for launch, stage in zip(plan.launches, plan.stages, strict=True):
            yield of_launch(launch, None if self.plain else stage, places,
                            lambda slot: slot >= plan.operands or slot in written, entry.numbers)

    # ---- the program -------------------------------------------------------------------------

    def build(self, count: int) -> Program:
        """The program; `count`: storages of the recording."""
        self._assign_bases(last_uses(self.steps))
        head = self.bases_at + 8 * (1 + len(self.earlier) + len(self.outputs))
        temporary = {m: nbytes for m, nbytes in self.sizes.items() if m not in self.live}
        self.offsets, self.arena = placed(
            self.steps, temporary, -(-head // ALIGNMENT) * ALIGNMENT)
        words = [word for step in self.steps for word in table_words(step, self._base)]
        slow = any(step.long or step.total > step.grain for step in self.steps)
        block = (ctypes.c_int64 * (len(words) + 1))(len(self.steps), *words)
        bases = tuple((place, n) for n, place in self.earlier.items())
        inside = (tuple(self.steps),
                  {m: (*self._base(m), self._bytes(m)) for m in last_uses(self.steps)})
        return Program(
            block, self._frame(count, slow), bases,
            tuple((place, n, self.sizes[n]) for n, place in self.outputs.items()),
            self.arena, slow, tuple(self.cells), self.cells_at, lambda: inside, self.saved,
            self.plain)

    def _frame(self, count: int, slow: bool) -> Any:
        words = [count, self.arena, self.cells_at, self.bases_at, self.checks, int(slow), 0]
        for n in range(count):
            if n not in self.sizes:
                words += [EARLIER, self.earlier.get(n, -1), 0]
            elif n in self.outputs:
                words += [RESULT, self.outputs[n], self.sizes[n]]
            else:
                words += [TEMPORARY, -1, self.sizes[n]]
        return (ctypes.c_int64 * len(words))(*words)

    def _assign_bases(self, touched: Iterable[int]) -> None:
        """Earlier storages and outputs have bases of their own, in this order.

        Every result that is held is an output: no step touches one without elements.
        """
        for n in sorted(touched):
            if n >= 0 and n not in self.sizes:
                self.earlier[n] = 1 + len(self.earlier)
        for n in sorted(self.live):
            self.outputs[n] = 1 + len(self.earlier) + len(self.outputs)

    def _base(self, memory: int) -> tuple[int, int]:
        """Which base a memory lies on, and how many bytes beyond."""
        if memory == CELLS:
            return ARENA, self.cells_at
        if memory in self.earlier:
            return self.earlier[memory], 0
        if memory in self.outputs:
            return self.outputs[memory], 0
        return ARENA, self.offsets.get(memory, 0)  # none: an operand that no value depends on

    def _bytes(self, memory: int) -> int:
        return 8 * self.checks if memory == CELLS else self.sizes.get(memory, -1)


def checked(entries: Iterable[Entry]) -> list[tuple[Plan, int, int]]:
    """The error words of each entry that checks values: (plan, first word, count)."""
    made = []
    first = 0
    for entry in entries:
        if entry.plan.checks:
            made.append((entry.plan, first, entry.plan.checks))
            first += entry.plan.checks
    return made


def build(kept: Sequence[Entry], live: tuple[int, ...], sizes: Mapping[int, int],
          count: int, plain: bool = False) -> Program:
    """The program of a recording of `count` storages.

    kept: the entries that are needed; live: the new storages that somebody still holds; sizes:
    bytes of all new storages; plain: with the launches as they are.
    """
    return _Builder(kept, live, dict(sizes), plain).build(count)
