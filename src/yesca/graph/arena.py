"""Where temporaries live: one arena, places by lifetime, results over operands not needed."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..loops.nests import Nest
from .steps import Step

ALIGNMENT = 64  # of a place in the arena: a cache line, as the allocator's blocks


@dataclass
class Block:
    """What lies at one place, from the first step that touches it to the last."""

    nbytes: int
    first: int
    last: int

    def size(self) -> int:
        """Its bytes."""
        return self.nbytes

    def span(self) -> int:
        """How many steps it lives."""
        return self.last - self.first


def placed(given: Sequence[Step], sizes: Mapping[int, int], start: int
           ) -> tuple[dict[int, int], int]:
    """The offset of each memory that has a size here, and where the arena ends.

    Blocks go one after another to the lowest place that is free as long as they live. In which
    order decides how much is lost between them: the largest first is best for most programs, the
    longest-lived first for some, and both take less time than one launch's planning.
    """
    owner, blocks = _shared(given, sizes)
    offsets, end = min((_packed(blocks, start, order) for order in (Block.size, Block.span)),
                       key=lambda found: found[1])
    return {memory: offsets[one] for memory, one in owner.items()}, end


def last_uses(given: Iterable[Step]) -> dict[int, int]:
    """The last step that touches each memory."""
    return {m: k for k, step in enumerate(given) for m in step.touched}


def _shared(given: Sequence[Step], sizes: Mapping[int, int]
            ) -> tuple[dict[int, int], dict[int, Block]]:
    """The memory whose place each memory takes, itself or an operand's, and those places."""
    last = last_uses(given)
    owner: dict[int, int] = {}
    blocks: dict[int, Block] = {}
    for k, step in enumerate(given):
        for m in sorted(step.touched):
            if m not in sizes or m in owner:
                continue
            over = _operand_to_replace(step, m, k, last, sizes, owner)
            if over is None:
                owner[m] = m
                blocks[m] = Block(-(-sizes[m] // ALIGNMENT) * ALIGNMENT, k, last[m])
            else:
                owner[m] = owner[over]
                blocks[owner[m]].last = last[m]
                last[over] = -1  # its place is given away
    return owner, blocks


def _packed(blocks: Mapping[int, Block], start: int, order: Callable[[Block], int]
            ) -> tuple[dict[int, int], int]:
    """The offset of each block, the largest by `order` first, and where the last one ends."""
    taken: list[tuple[int, int, int, int]] = []  # offset, end, first step, last step
    offsets: dict[int, int] = {}
    whole = start
    for number, block in sorted(blocks.items(), key=lambda item: -order(item[1])):
        offset = start
        for begin, end, first, last in taken:
            if first <= block.last and block.first <= last:
                if offset + block.nbytes <= begin:
                    break
                offset = max(offset, end)
        offsets[number] = offset
        insort(taken, (offset, offset + block.nbytes, block.first, block.last))
        whole = max(whole, offset + block.nbytes)
    return offsets, whole


def _operand_to_replace(step: Step, made: int, k: int, last: Mapping[int, int],
                        sizes: Mapping[int, int], placed: Mapping[int, int]) -> int | None:
    """A memory of the same size that a step reads for the last time, point by point as it writes
    `made`."""
    nest = step.nest
    if nest is None or made not in step.writes or made in step.reads:
        return None
    for m in sorted(step.reads - step.writes):
        if m in placed and last[m] == k and sizes[m] == sizes[made] and in_step(nest, m, made):
            return m
    return None


def in_step(nest: Nest, read: int, written: int) -> bool:
    """Whether each point reads just that element of one memory which it writes of the other."""
    far = nest.stage.elsewhere
    own = [b for b, o in enumerate(nest.operands) if o.place.memory in (read, written)]
    first = nest.operands[own[0]]
    kinds = {nest.stage.buffers[b].dtype.itemsize for b in own}
    return len(kinds) == 1 and 0 not in first.strides and not far & set(own) and all(
        nest.operands[b].strides == first.strides
        and nest.operands[b].place.offset == first.place.offset for b in own)
