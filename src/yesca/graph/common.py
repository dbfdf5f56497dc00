"""Equal launches made once (common subexpressions).

A launch repeats an earlier one if it runs the same machine function over the same words and
numbers, on memory that nobody has written since, and both write memory that nobody else writes.
Whoever reads its results then reads the earlier ones, and nothing needs it any more. Values are
kept for this up to some bytes together: who computes one again, as `checkpoint` does, wants its
memory meanwhile, and many small ones are a large one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from . import again
from .arena import last_uses
from .steps import CELLS, Step, moved


def without_repeats(given: Sequence[Step], sizes: Mapping[int, int], kept: frozenset[int]
                    ) -> list[Step]:
    """The steps without those that repeat earlier ones.

    sizes: bytes of the memories of the recording; kept: memories that are read afterwards
    """
    writers = Counter(m for step in given for m in step.writes)
    last = last_uses(given)
    known: dict[Any, Step] = {}
    renamed: dict[int, int] = {}
    written: Counter[int] = Counter()
    spare = again.LEAST_BYTES
    made = []
    for k, step in enumerate(given):
        step = moved(step, renamed)
        if all(m in sizes and m != CELLS and writers[m] == 1 for m in step.writes):
            earlier = known.setdefault(_key(step, written), step)
            pairs = [] if earlier is step else _pairs(earlier, step)
            longer = sum(sizes[n] for n, _ in pairs if n not in kept and last[n] < k)
            if pairs and longer <= spare and all(
                    m not in kept and sizes[m] == sizes[n] for n, m in pairs):
                spare -= longer
                for n, m in pairs:
                    renamed[m] = n
                    last[n] = max(last[n], last[m])
                continue
        written.update(step.writes)
        made.append(step)
    return made


def _key(step: Step, written: Mapping[int, int]) -> Any:
    """What a step does, whatever the memory is called that it writes."""
    own = [place.memory for _, place in step.pointers if place.memory in step.writes]
    places = []
    for word, place in step.pointers:
        known = own.index(place.memory) if place.memory in step.writes else place.memory
        places.append((word, place.memory in step.writes, known, place.shift, place.offset,
                       written.get(place.memory, 0)))
    return (step.address, step.total, step.grain, bytes(memoryview(step.words)),  # type: ignore
            tuple(places), step.numbers)


def _pairs(earlier: Step, step: Step) -> list[tuple[int, int]]:
    """The memories that equal steps write: the earlier one's, and this one's."""
    return list(dict.fromkeys(
        (one.memory, other.memory) for (_, one), (_, other)
        in zip(earlier.pointers, step.pointers, strict=True) if other.memory in step.writes))
