"""Nests that run piece by piece inside the launch of the product whose result they read.

A product's units write blocks of its result. A nest over the same points, or over rows of them,
follows as soon as a row of blocks is there, while it is in the cache: no launch of its own, no
barrier, and where nobody else wants the raw result, the product writes it where the nest will
write. Both keep their machine code and their words, so no bit changes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..loops.nests import Nest, Place
from ..passes.align import in_order
from ..runtime import units
from ..runtime.native import epilogue
from ..runtime.native.epilogue import WORD
from . import groups
from .again import LEAST_SHARE, bytes_alive
from .arena import in_step, last_uses
from .steps import Step, decoded

REACH = 32  # how many steps back a product is looked for; 0 leaves every nest by itself
NEAR_BYTES = 1 << 16  # of a product's result that wait for the nest
RESULT = 0  # the word of a product's result


def followed(given: Sequence[Step], sizes: Mapping[int, int], kept: frozenset[int]) -> list[Step]:
    """The steps, nests put into products where that pays.

    sizes: bytes of the memories of the recording; kept: memories that are read afterwards
    """
    found = _Pass(given, sizes, kept)
    for k, step in enumerate(given):
        if step.nest is None or not found.joins(k, step, step.nest):
            found.made.append((k, step))
    return [step for _, step in found.made]


class _Pass:
    """What is known of the steps while nests find their products.

    made: the steps so far, each with the number that it had
    """

    def __init__(self, given: Sequence[Step], sizes: Mapping[int, int], kept: frozenset[int]
                 ) -> None:
        self.made: list[tuple[int, Step]] = []
        self.sizes = {m: nbytes for m, nbytes in sizes.items() if m not in kept}
        uses = Counter(m for step in given for m in step.touched)
        self.own = {m for m in self.sizes if uses[m] == 2}
        self.last = last_uses(given)
        self.first = last_uses(reversed(given))
        self.first = {m: len(given) - 1 - k for m, k in self.first.items()}
        self.alive = bytes_alive([m for m in self.sizes if m in self.last], self.first, self.last,
                                 self.sizes, len(given))
        self.most = max(self.alive, default=0) * (1 + 1 / LEAST_SHARE)

    def joins(self, number: int, step: Step, nest: Nest) -> bool:
        """Put a nest into an earlier product: where that is or, what is between permitting, here,
        if not much more is alive then than was at the worst step."""
        for k in range(len(self.made) - 1, max(-1, len(self.made) - 1 - REACH), -1):
            at, product = self.made[k]
            if product.blocks is None or product.parts or not product.writes & step.reads:
                continue
            joined = _joined(product, step, nest, self.own)
            if joined is None:
                continue
            between = self.made[k + 1:]
            new = (m for m in joined.writes if self.first.get(m) == number)
            if not any(groups.clash(b, step) for _, b in between) and \
                    self._has_room(new, product.writes - joined.writes, range(at, number)):
                self.made[k:] = [(at, joined), *between]
                return True
            old = (m for m in product.touched if self.last.get(m) == at)
            if not any(groups.clash(product, b) for _, b in between) and \
                    self._has_room(old, (), range(at + 1, number + 1)):
                self.made[k:] = [*between, (number, joined)]
                return True
        return False

    def _has_room(self, more: Iterable[int], less: Iterable[int], span: range) -> bool:
        """Whether memories may be alive during steps where they were not, and others are not."""
        change = sum(self.sizes.get(m, 0) for m in more) - sum(self.sizes.get(m, 0) for m in less)
        if any(self.alive[k] + change > self.most for k in span):
            return False
        for k in span:
            self.alive[k] += change
        return True


# ---- which nests may follow a product ------------------------------------------------------------

def _joined(product: Step, step: Step, nest: Nest, own: set[int]) -> Step | None:
    """One launch in place of both; None where that is impossible or does not pay."""
    if step.own or step.total > step.grain and _rows(product) < groups.PIECES:
        return None  # by itself the nest has something to do for more threads
    if not _fits(product, nest):
        return None
    guide = _on(nest, dict(product.pointers)[RESULT])[0]
    points = _points_in_a_row(product, step, nest, guide)
    if points is None:
        return None
    item = nest.stage.buffers[guide].dtype.itemsize
    return _launch(*_over_the_result(product, nest, own), step, points, item)


def _fits(product: Step, nest: Nest) -> bool:
    """Whether the nest touches the result at each point's own element only, and else nothing that
    other units read or write."""
    if any(s.guard is not None or s.accumulate or s.offset is not None for s in nest.stage.stores):
        return False
    place = dict(product.pointers)[RESULT]
    reads, writes = nest.memories
    if writes & product.touched - {place.memory} or reads & product.writes != {place.memory}:
        return False
    on = _on(nest, place)
    return not nest.stage.elsewhere & set(on) and nest.operands[on[0]].place == place \
        and all(nest.operands[b] == nest.operands[on[0]] for b in on)


def _rows(product: Step) -> int:
    """How many rows of blocks there are."""
    return product.total // product.blocks.column_blocks


def _on(nest: Nest, place: Place) -> list[int]:
    """The buffers in a memory."""
    return [b for b, o in enumerate(nest.operands) if o.place.memory == place.memory]


def _points_in_a_row(product: Step, step: Step, nest: Nest, guide: int) -> int | None:
    """Points of the nest in a row of the product; None unless its machine code visits the result
    in order, whole rows of its own in each."""
    blocks = product.blocks
    walked = decoded(step, nest.stage)
    inner = walked.sizes[0] if nest.rows else 1
    points, left = divmod(blocks.columns, inner)
    matrices = _rows(product) // blocks.row_blocks
    sizes = (blocks.columns, blocks.rows, matrices)
    strides = (nest.stage.buffers[guide].dtype.itemsize, blocks.strides[1], blocks.strides[0])
    if left or step.total * inner != nest.total or not in_order(walked, guide, sizes, strides):
        return None
    return points


# ---- the launch ----------------------------------------------------------------------------------

def _over_the_result(product: Step, nest: Nest, own: set[int]) -> tuple[Step, Nest]:
    """Both, the product writing where the nest writes, if that is all that its result is for."""
    place = dict(product.pointers)[RESULT]
    goals = [nest.operands[s.buffer].place for s in nest.stage.stores]
    free = [g for g in goals if g.memory not in product.touched | nest.memories[0]
            and in_step(nest, place.memory, g.memory)]
    if not free or place.memory not in own - product.reads:
        return product, nest
    pointers = tuple((w, free[0] if p == place else p) for w, p in product.pointers)
    operands = tuple(replace(o, place=free[0]) if o.place == place else o for o in nest.operands)
    return (replace(product, pointers=pointers, writes=frozenset({free[0].memory})),
            replace(nest, operands=operands))


def _launch(product: Step, nest: Nest, step: Step, points: int, item: int) -> Step:
    """item: bytes of an element of the result"""
    blocks, own = product.blocks, WORD.COUNT + len(product.words)
    several = blocks.column_blocks > 1
    near = NEAR_BYTES // (blocks.block_rows * blocks.block_columns * item)
    grain = max(1, min(product.grain, product.total * step.grain // step.total))
    head = [0] * WORD.COUNT
    for word, value in {
        WORD.KERNEL: product.address, WORD.SECOND: step.address,
        WORD.NEST: own, WORD.COUNTERS: own + len(step.words), WORD.POINTS: points,
        WORD.TOGETHER: 1 if several else max(1, min(grain, near)),
        WORD.ROWS: blocks.rows, WORD.BLOCK_ROWS: blocks.block_rows,
        WORD.ROW_BLOCKS: blocks.row_blocks, WORD.COLUMN_BLOCKS: blocks.column_blocks,
    }.items():
        head[word] = value
    counters = [0] * (_rows(product) if several else 0)
    reads, writes = nest.memories
    after = replace(step, nest=nest, reads=reads, writes=writes,
                    pointers=tuple(enumerate(o.place for o in nest.operands)))
    parts = [(WORD.COUNT, product), (own, after)]
    return Step(
        f"{product.name}+{step.name}", units.address(epilogue.run),
        array("q", [*head, *product.words, *step.words, *counters]),
        tuple((first + word, place) for first, part in parts for word, place in part.pointers),
        tuple((first + word, given) for first, part in parts for word, given in part.numbers),
        product.total, grain, product.reads | reads, product.writes | writes,
        long=product.long or step.long, parts=(product, after))
