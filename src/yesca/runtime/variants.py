"""Which of a stage's kernels to run: by strides and sizes, and in how large pieces for a thread.

Each stage has one general kernel; layouts that pay get kernels of their own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..loops.ir import FUNCTIONS, Expr, Stage, walk
from ..targets.llvm import GENERAL, TILE, Variant

TILED_FROM = 16384  # elements from which a transposing stage goes in squares
LEAST_GRAIN, MOST_GRAIN = 2048, 32768  # elements of a chunk, by the work on each:
FUNCTION_WORK, WORK = 6, 8  # that of exp and its like; how much of it halves a chunk
SPECIALISE_FROM = 32768  # elements from which a layout gets its own kernel, at its second use;
AT_ONCE_FROM = 1 << 17  # from here at the first, as a plan keeps the kernel that it began with
_layout_uses: Counter[tuple[Stage, str]] = Counter()


def pattern(inner: Sequence[int]) -> str:
    """Strides of the innermost dimension, a letter each: see `targets.llvm.Variant`."""
    return "".join("0" if s == 0 else "c" if s == 1 else "g" for s in inner)


def flat_variant(stage: Stage, inner: Sequence[int], numel: int, exact: bool = False) -> Variant:
    """A kernel for the strides of the innermost dimension, where it is worth one."""
    seen = pattern(inner)
    if exact:
        return Variant(seen)
    if numel < SPECIALISE_FROM or "g" in seen or set(seen) == {"c"}:
        return GENERAL
    _layout_uses[stage, seen] += 1
    early = numel < AT_ONCE_FROM and _layout_uses[stage, seen] == 1
    return GENERAL if early else Variant(seen)


def crossing(stage: Stage, sizes: Sequence[int], steps: Sequence[Sequence[int]]) -> int:
    """The dimension along which some operand is contiguous that is not so along the innermost.

    0 where there is none, where it does not pay, or where the order of points matters.
    """
    if math.prod(sizes) < TILED_FROM or sizes[0] < TILE // 2 or any(
            s.accumulate or s.offset is not None or s.guard is not None for s in stage.stores):
        return 0
    if any(n.op == "coord" or n.op == "load" and n.args for n in walk(*stage.roots())):
        return 0
    for d in range(1, len(sizes)):
        if sizes[d] >= TILE // 2 and any(s[d] == 1 and s[0] not in (0, 1) for s in steps):
            return d
    return 0


def grain(stage: Stage) -> int:
    """How many elements are worth a thread's while.

    Each operation counts, and each buffer, as its elements have to be moved.
    """
    work = len(stage.buffers)
    for node in walk(*stage.roots()):
        if node.op in FUNCTIONS:
            work += FUNCTION_WORK
        elif node.op not in ("load", "const", "argument", "coord"):
            work += 1
    return max(LEAST_GRAIN, MOST_GRAIN // (1 + work // WORK))


def row_variant(stage: Stage, in_rows: Sequence[bool], inner: Sequence[int], sizes: Sequence[int],
                steps: Sequence[Sequence[int]]) -> Variant:
    """Lanes over the innermost outer dimension where that one is contiguous and the axis not."""
    if not sizes or sizes[0] < 8 or any(s and s[0] not in (0, 1) for s in steps):
        return GENERAL
    seen = "".join("c" if s[0] == 1 else "0" for s in steps)
    scattered = any(s.offset is not None or s.accumulate for s in stage.stores)
    if not scattered and not any(
            row and i not in (0, 1) for row, i in zip(in_rows, inner, strict=True)):
        return GENERAL
    if _columns_clash(stage, seen):
        return GENERAL
    return Variant(seen, columns=True)


def _columns_clash(stage: Stage, seen: str) -> bool:
    """Whether neighbouring columns differ in an offset or guard, or in what one place gets.

    The word that says that a check failed is such a place: all columns say the same of an index.
    """
    differs: set[Expr] = set()
    for node in walk(*stage.roots()):
        own = node.op == "load" and seen[node.attr] == "c" or \
            node.op == "coord" and node.attr == "point"
        if own or any(a in differs for a in node.args):
            differs.add(node)
    places = [e for s in stage.stores for e in (s.offset, s.guard) if e is not None]
    shared = [s for s in stage.stores if seen[s.buffer] == "0" and s.offset is None]
    if any(s.accumulate for s in shared):
        return True
    places += [s.value for s in shared]
    places += [n.args[0] for n in walk(*stage.roots()) if n.op == "load" and n.args]
    return any(e in differs for e in places)
