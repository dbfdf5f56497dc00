"""Places of temporaries: none that live at once overlap, and little is lost between them."""

import random
from dataclasses import dataclass

import pytest

from yesca.graph import arena


@dataclass(frozen=True)
class Step:
    """As much of a launch as places depend on."""

    reads: frozenset[int]
    writes: frozenset[int]
    nest: None = None

    @property
    def touched(self):
        return self.reads | self.writes


def lives(spans):
    """Steps in which memory m is written at spans[m][0] and read until spans[m][1]."""
    steps = []
    for k in range(max(last for _, last in spans.values()) + 1):
        writes = frozenset(m for m, (first, _) in spans.items() if first == k)
        reads = frozenset(m for m, (first, last) in spans.items() if first < k <= last)
        steps.append(Step(reads, writes))
    return steps


def most_at_once(spans, sizes):
    return max(sum(sizes[m] for m, (first, last) in spans.items() if first <= k <= last)
               for k in range(max(last for _, last in spans.values()) + 1))


@pytest.mark.parametrize("seed", range(20))
def test_what_lives_at_once_lies_apart(seed):
    draw = random.Random(seed)
    spans, sizes = {}, {}
    for m in range(60):
        first = draw.randrange(80)
        spans[m] = (first, first + draw.randrange(30))
        sizes[m] = draw.choice((4, 64, 100, 4096, 10_000, 65_536))
    offsets, end = arena.placed(lives(spans), sizes, 128)
    for m, at in offsets.items():
        assert at >= 128 and at % arena.ALIGNMENT == 0 and at + sizes[m] <= end
        for n, other in offsets.items():
            if m < n and spans[m][0] <= spans[n][1] and spans[n][0] <= spans[m][1]:
                assert at + sizes[m] <= other or other + sizes[n] <= at


def test_a_large_block_takes_the_place_of_small_ones():
    # In order of time a hole of 64 would stay below the block that no longer fits there.
    spans = {0: (0, 1), 1: (0, 5), 2: (2, 5)}
    sizes = {0: 64, 1: 64, 2: 128}
    assert arena.placed(lives(spans), sizes, 0)[1] == most_at_once(spans, sizes) == 192


def test_the_longest_lived_go_first_where_that_is_better():
    spans = {0: (0, 1), 1: (1, 9), 2: (0, 0), 3: (9, 9)}
    sizes = {0: 192, 1: 128, 2: 128, 3: 192}
    assert arena.placed(lives(spans), sizes, 0)[1] == most_at_once(spans, sizes)


def test_no_memory_needs_no_arena():
    assert arena.placed([], {}, 64) == ({}, 64)
    assert arena.placed(lives({0: (0, 1)}), {}, 64) == ({}, 64)
