"""A recording as steps: each launch, the memory that it reads and writes, and its loop nest.

Memories are numbers: storages of the recording from 0 on, temporaries of single calls below -1;
CELLS are the words in which launches report errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from ..loops.ir import Stage, walk
from ..loops.nests import Nest, Operand, Place
from ..passes.simplify import simplify
from ..passes.widths import widths
from ..runtime import geometry, kernels
from ..runtime.native.replay import LAUNCH_WORDS, NUMBER_WORDS, POINTER_WORDS
from ..runtime.plan import Flat, Launch

CELLS = -1
ARENA = 0  # its place among the bases
KINDS = {"i": 0, "f": 1, "s": 2}


@dataclass(frozen=True)
class Given:
    """A number that comes with each run: its place among the run's values, and its kind."""

    value: int
    kind: int


@dataclass(frozen=True, eq=False)
class Step:
    """One launch of a program.

    pointers: (word, where it points); numbers: (word, what is written there); blocks: see
    `Launch`; parts: the launches that it consists of, if it runs several on each piece
    """

    name: str
    address: int
    words: Sequence[int]
    pointers: tuple[tuple[int, Place], ...]
    numbers: tuple[tuple[int, Given], ...]
    total: int
    grain: int
    reads: frozenset[int]
    writes: frozenset[int]
    nest: Nest | None = None
    long: bool = False  # though it may be one piece of work
    own: bool = False  # its machine code is another than that of its nest
    blocks: Any = None
    parts: tuple[Step, ...] = ()

    @cached_property
    def touched(self) -> frozenset[int]:
        """All memories that it may read or write."""
        return self.reads | self.writes


def of_launch(launch: Launch, stage: Any, places: Sequence[Place], owned: Callable[[int], bool],
              numbers: int) -> Step:
    """A plan's launch as a step.

    places: the memory of each slot; owned: whether launches write a slot; numbers: where the
    call's run-time numbers begin among the run's values.
    """
    pointers = tuple((word, replace(places[slot], offset=places[slot].offset + beyond))
                     for word, slot, beyond in launch.pointers)
    given = tuple((word, Given(numbers + 2 * position, KINDS[kind]))
                  for word, position, kind in launch.numbers)
    every = frozenset(place.memory for _, place in pointers)
    known = launch.written
    writes = {places[slot].memory for word, slot, _ in launch.pointers
              if (owned(slot) if known is None else word in known)}
    reads = every if known is None else {p.memory for word, p in pointers if word not in known}
    step = Step(launch.name, launch.address, launch.words, pointers, given, launch.total,
                launch.grain, frozenset(reads), frozenset(writes), long=launch.long,
                blocks=launch.blocks)
    if isinstance(stage, Flat):
        nest = _said(step, stage, places, numbers)
    elif isinstance(stage, Stage) and stage.kind != "table":
        nest = decoded(step, stage)
    else:
        return step
    reads, writes = nest.memories
    return replace(step, nest=nest, reads=reads, writes=writes, own=isinstance(stage, Flat))


def _said(step: Step, flat: Flat, places: Sequence[Place], numbers: int) -> Nest:
    operands = tuple(Operand(places[slot], (buffer.dtype.itemsize,))
                     for slot, buffer in zip(flat.slots, flat.stage.buffers, strict=True))
    given = tuple(Given(numbers + 2 * position, KINDS[kind]) for position, kind in flat.numbers)
    return Nest(_settled(flat.stage), (flat.points,), operands, given, step.name)


@lru_cache(4096)
def _settled(stage: Stage) -> Stage:
    """The stage as it is computed, whatever it is joined with."""
    return widths(simplify(stage))


def decoded(step: Step, stage: Stage) -> Nest:
    """The nest of a launch, its dimensions in the order in which the machine code walks them."""
    count, given = len(stage.buffers), len(stage.arguments)
    words = step.words[count + given:]
    sizes, strides = [words[0]], [[words[1 + b]] for b in range(count)]
    for d in range(words[1 + count]):
        row = words[2 + count + d * (count + 1):]
        sizes.append(row[0])
        for b in range(count):
            strides[b].append(row[1 + b])
    places = dict(step.pointers)
    operands = tuple(Operand(places[b], tuple(strides[b])) for b in range(count))
    numbers: list[Any] = list(step.words[count:count + given])
    for word, number in step.numbers:
        numbers[word - count] = number
    return Nest(_settled(stage), tuple(sizes), operands, tuple(numbers), step.name)


def moved(step: Step, renamed: Mapping[int, int]) -> Step:
    """The step with other memories in place of some."""
    if renamed.keys().isdisjoint(step.touched):
        return step

    def place(old: Place) -> Place:
        found = renamed.get(old.memory)
        return old if found is None else replace(old, memory=found)

    def change(found: frozenset[int]) -> frozenset[int]:
        return frozenset(renamed.get(m, m) for m in found)

    nest = step.nest
    if nest is not None:
        nest = replace(nest, operands=tuple(
            replace(o, place=place(o.place)) for o in nest.operands))
    return replace(step, pointers=tuple((word, place(p)) for word, p in step.pointers),
                   reads=change(step.reads), writes=change(step.writes), nest=nest)


# ---- from a nest to a launch -----------------------------------------------------------------

def layout(nest: Nest) -> geometry.Geometry:
    """The kernel and the order of dimensions for a nest."""
    stage = nest.stage
    items = [b.dtype.itemsize for b in stage.buffers]
    strides = [[s // item for s in o.strides]
               for o, item in zip(nest.operands, items, strict=True)]
    main = _main_buffer(nest)
    if not nest.rows:
        shape = nest.sizes[::-1]
        return geometry.flat(stage, shape, [s[::-1] for s in strides], main, exact=True)
    return geometry.rows(stage, nest.sizes[:0:-1], [s[:0:-1] for s in strides],
                         None if _numbered(stage) else main, nest.sizes[0],
                         [s[0] for s in strides], exact=True)


def _numbered(stage: Stage) -> bool:
    """Whether the stage reads the index of its rows."""
    return any(n.op == "coord" and n.attr == "point" for n in walk(*stage.roots()))


def _main_buffer(nest: Nest) -> int:
    """The buffer whose order in memory the loops follow."""
    written = [s.buffer for s in nest.stage.stores]
    moving = [b for b in written if sum(s != 0 for s in nest.operands[b].strides)]
    if nest.rows:
        moving = [k for k, b in enumerate(nest.stage.buffers) if b.inner]
    return (moving or written)[0]


def of_nest(nest: Nest) -> Step:
    """A step for a nest: its kernel, compiled or found, and its words."""
    over = layout(nest)
    items = [b.dtype.itemsize for b in nest.stage.buffers]
    count = len(items)
    fixed = [0 if isinstance(n, Given) else n for n in nest.numbers]
    given = tuple((count + k, n) for k, n in enumerate(nest.numbers) if isinstance(n, Given))
    reads, writes = nest.memories
    return Step(nest.name, kernels.address(nest.stage, over.variant, symbol_name(nest.name)),
                over.words(items, fixed), tuple(enumerate(o.place for o in nest.operands)), given,
                over.total, over.grain, reads, writes, nest)


def table_words(step: Step, base: Callable[[int], tuple[int, int]]) -> list[int]:
    """A step as `runtime/native/replay.py` walks it; base: on which one a memory lies, and how
    many bytes beyond."""
    words = [step.address, step.total, step.grain, len(step.words), len(step.pointers),
             len(step.numbers), *step.words]
    for word, place in step.pointers:
        number, beyond = base(place.memory)
        words += [word, number, place.shift, beyond + place.offset]
    for word, given in step.numbers:
        words += [word, given.value, given.kind]
    return words


def launches_in(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where in a table of launches each of them begins and ends; its address comes first."""
    at = 1
    for _ in range(words[0]):
        own, pointers, numbers = words[at + 3:at + LAUNCH_WORDS]
        end = at + LAUNCH_WORDS + own + POINTER_WORDS * pointers + NUMBER_WORDS * numbers
        yield at, end
        at = end


def symbol_name(name: str) -> str:
    """The name of a joined kernel, as short as a symbol should be."""
    return "_".join(dict.fromkeys(name.split("+")))[:60]
