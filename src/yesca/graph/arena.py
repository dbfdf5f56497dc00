"""Where temporaries live: one arena, places by lifetime, results over operands not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..loops.nests import Nest
from .steps import Step

ALIGNMENT = 64  # of a place in the arena: a cache line, as the allocator's blocks


class Arena:
    """Places for blocks that live from one step to another."""

    def __init__(self, start: int) -> None:
        self.taken: list[tuple[int, int, int]] = []  # offset, end, last step
        self.size = self.start = start

    def place(self, nbytes: int, first: int, last: int) -> int:
        """The lowest free place for a block; steps come in order."""
        self.taken = [block for block in self.taken if block[2] >= first]
        self.taken.sort()
        offset = self.start
        for begin, end, _ in self.taken:
            if offset + nbytes <= begin:
                break
            offset = max(offset, end)
        end = offset + -(-nbytes // ALIGNMENT) * ALIGNMENT
        self.taken.append((offset, end, last))
        self.size = max(self.size, end)
        return offset

    def hand_over(self, offset: int, last: int) -> None:
        """The block at a place now lives longer."""
        self.taken = [(begin, end, last if begin == offset else old)
                      for begin, end, old in self.taken]


def placed(given: Sequence[Step], sizes: Mapping[int, int], start: int
           ) -> tuple[dict[int, int], int]:
    """The offset of each memory that has a size here, and where the arena ends."""
    last = last_uses(given)
    arena = Arena(start)
    offsets: dict[int, int] = {}
    for k, step in enumerate(given):
        for m in sorted(step.touched):
            if m not in sizes or m in offsets:
                continue
            over = _operand_to_replace(step, m, k, last, sizes, offsets)
            if over is None:
                offsets[m] = arena.place(sizes[m], k, last[m])
            else:
                offsets[m] = offsets[over]
                arena.hand_over(offsets[m], last[m])
                last[over] = -1  # its place is given away
    return offsets, arena.size


def last_uses(given: Sequence[Step]) -> dict[int, int]:
    """The last step that touches each memory."""
    return {m: k for k, step in enumerate(given) for m in step.touched}


def _operand_to_replace(step: Step, made: int, k: int, last: Mapping[int, int],
                        sizes: Mapping[int, int], offsets: Mapping[int, int]) -> int | None:
    """A memory of the same size that a step reads for the last time, point by point as it writes
    `made`."""
    nest = step.nest
    if nest is None or made not in step.writes or made in step.reads:
        return None
    for m in sorted(step.reads - step.writes):
        if m in offsets and last[m] == k and sizes[m] == sizes[made] and _in_step(nest, m, made):
            return m
    return None


def _in_step(nest: Nest, read: int, written: int) -> bool:
    """Whether each point reads just that element of one memory which it writes of the other."""
    far = nest.stage.elsewhere
    own = [b for b, o in enumerate(nest.operands) if o.place.memory in (read, written)]
    first = nest.operands[own[0]]
    kinds = {nest.stage.buffers[b].dtype.itemsize for b in own}
    return len(kinds) == 1 and 0 not in first.strides and not far & set(own) and all(
        nest.operands[b].strides == first.strides
        and nest.operands[b].place.offset == first.place.offset for b in own)
