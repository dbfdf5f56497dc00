"""What a launch visits: the order of dimensions, the kernel for it, the words it reads."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.views import collapse, storage_order
from ..loops.ir import Stage
from ..targets.llvm import TILE, Variant
from . import variants


KEPT = 2048  # elements of a row up to which values of it may be kept on the stack
EVEN = 4  # chunks come in such numbers
LINE = 64  # elements: chunks of a flat stage end where lines of the cache do


@dataclass(frozen=True)
class Geometry:
    """Strides in elements: `inner` those of the inner axis, `steps` per buffer and dimension."""

    variant: Variant
    size: int
    inner: Sequence[int]
    sizes: Sequence[int]
    steps: Sequence[Sequence[int]]
    total: int
    grain: int

    def words(self, items: Sequence[int], given: Sequence[int]) -> array[int]:
        """The words of a launch; those of the pointers are left open.

        items: bytes of an element of each buffer; given: the words of the stage's arguments.
        """
        words = [0] * len(items) + list(given)
        words.append(self.size)
        words += [s * i for s, i in zip(self.inner, items, strict=True)]
        words.append(len(self.sizes))
        for d, extent in enumerate(self.sizes):
            words.append(extent)
            words += [s[d] * i for s, i in zip(self.steps, items, strict=True)]
        return array("q", words)


def evened(total: int, grain: int, step: int = 1) -> int:
    """About this grain, but so that two or four threads have as much to do: chunks of one size,
    of whole `step`s, as many as a multiple of EVEN; how many threads there are plays no part."""
    chunks = -(-total // grain)
    if chunks > 1:
        chunks = -(-chunks // EVEN) * EVEN
        grain = -(-total // chunks)
    return -(-grain // step) * step


def flat(stage: Stage, shape: Sequence[int], strides: Sequence[Sequence[int]], main: int,
         apart: bool = False, exact: bool = False) -> Geometry:
    """A flat stage over `shape`, in the storage order of buffer `main`.

    apart: stores at offsets never meet. exact: a kernel for just this layout, from the first use.
    """
    order = storage_order(tuple(shape), strides[main])
    sizes, steps = collapse([shape[d] for d in order], [[s[d] for d in order] for s in strides])
    if not sizes:
        sizes, steps = [1], [[1] for _ in strides]
    total = math.prod(sizes)
    crossing = variants.crossing(stage, sizes, steps)
    if crossing:
        return _tiled(stage, sizes, steps, crossing)
    inner = [s[0] for s in steps]
    variant = variants.flat_variant(stage, inner, total, exact)
    # Points that meet in one place must do so in order, whatever the number of threads.
    meet = any(s.accumulate or s.offset is not None for s in stage.stores)
    grain = variants.grain(stage)
    grain = total if meet and not apart else evened(total, grain, min(LINE, grain))
    return Geometry(variant, sizes[0], inner, sizes[1:], [s[1:] for s in steps], total, grain)


def _tiled(stage: Stage, sizes: list[int], steps: list[list[int]], crossing: int) -> Geometry:
    """Go over the innermost dimension and `crossing` in squares."""
    order = [0, crossing, *(d for d in range(1, len(sizes)) if d != crossing)]
    sizes = [sizes[d] for d in order]
    steps = [[s[d] for d in order] for s in steps]
    pattern = variants.pattern([s[0] for s in steps])
    squares = -(-sizes[0] // TILE) * -(-sizes[1] // TILE) * math.prod(sizes[2:])
    return Geometry(Variant(pattern, tiled=True), sizes[0], [s[0] for s in steps], sizes[1:],
                    [s[1:] for s in steps], squares,
                    evened(squares, max(1, variants.grain(stage) // (TILE * TILE))))


def rows(stage: Stage, outer: Sequence[int], strides: Sequence[Sequence[int]], main: int | None,
         size: int, inner: Sequence[int], exact: bool = False) -> Geometry:
    """A rows stage: one row per point of `outer`, each with an inner axis of `size`.

    Rows are visited in the storage order of buffer `main`, or in the order of `outer`.
    exact: the kernel may know that rows are short.
    """
    order = range(len(outer)) if main is None else storage_order(tuple(outer), strides[main])
    sizes, steps = collapse([outer[d] for d in order], [[s[d] for d in order] for s in strides])
    variant = variants.row_variant(stage, [b.inner for b in stage.buffers], inner, sizes, steps)
    if exact and not variant.columns and size <= KEPT:
        variant = Variant(kept=True)
    total = math.prod(outer)
    grain = max(1, variants.grain(stage) // max(size, 1))
    # Whole vectors of columns for each thread.
    lanes = 1 if not variant.columns else 64 if sizes[0] >= 256 else 16
    return Geometry(variant, size, inner, sizes, steps, total, evened(total, grain, lanes))
