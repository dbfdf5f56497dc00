"""Join two nests into one that visits the points once.

The second nest may read what the first one writes only at the same point; then it takes the value
instead, just as it would have been stored, so that no bit of any result changes. Everything else
that both touch must be read only, or lie apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..loops.ir import Buffer, Expr, Stage, walk
from ..loops.nests import Nest, apart, pruned, renumbered
from .align import alignments

MOST_BUFFERS, MOST_NODES = 24, 400  # of a stage: more would not stay in registers


def fusions(a: Nest, b: Nest) -> Iterator[Nest]:
    """One nest in place of a and, directly after it, b: the ways to do it, likeliest first."""
    if fusable(a) and fusable(b):
        for first, second in alignments(a, b):
            made = _joined(first, second)
            if made is not None:
                yield made


def fusable(nest: Nest) -> bool:
    """Whether each point writes to its own place, in any order."""
    stage = nest.stage
    if stage.kind not in ("flat", "rows") or nest.rows and nest.sizes[0] < 2:
        return False
    if any(s.accumulate or s.offset is not None for s in stage.stores):
        return False
    nodes = list(walk(*stage.roots()))
    if any(n.op == "scan" or n.op == "coord" and not nest.rows for n in nodes):
        return False
    return len(nodes) <= MOST_NODES and len(stage.buffers) <= MOST_BUFFERS


def _joined(a: Nest, b: Nest) -> Nest | None:
    """Both over the same dimensions; None where points would meet."""
    met = _meetings(a, b)
    if met is None:
        return None
    shared, values, dropped = met
    kept = [k for k in range(len(b.operands)) if k not in shared and k not in values]
    first = len(a.operands)
    buffers = {**shared, **{k: first + n for n, k in enumerate(kept)}}
    numbers = list(zip(a.numbers, a.stage.arguments, strict=True))
    arguments = {}
    for k, number in enumerate(zip(b.numbers, b.stage.arguments, strict=True)):
        if number not in numbers:
            numbers.append(number)
        arguments[k] = numbers.index(number)
    stores = (*(s for s in a.stage.stores if s.buffer not in dropped),
              *renumbered(b.stage.stores, buffers, arguments, values))
    kind = "rows" if a.rows or b.rows else "flat"
    made = Stage(kind, (*_buffers(a, kind), *(_buffers(b, kind)[k] for k in kept)),
                 tuple(dtype for _, dtype in numbers), stores)
    if len(made.buffers) > MOST_BUFFERS or sum(1 for _ in walk(*made.roots())) > MOST_NODES:
        return None
    joined = Nest(made, a.sizes, (*a.operands, *(b.operands[k] for k in kept)),
                  tuple(number for number, _ in numbers), f"{a.name}+{b.name}")
    return pruned(joined, stores) if dropped else joined


def _buffers(nest: Nest, kind: str) -> list[Buffer]:
    """What a flat stage's buffers are in a rows stage."""
    if kind == nest.stage.kind:
        return list(nest.stage.buffers)
    return [replace(b, inner=o.strides[0] != 0)
            for b, o in zip(nest.stage.buffers, nest.operands, strict=True)]


Meeting = tuple[dict[int, int], dict[int, Expr], set[int]]


def _meetings(a: Nest, b: Nest) -> Meeting | None:
    """How b's buffers stand to a's: the same input, a value of a's, or (of a's) written again."""
    shared: dict[int, int] = {}
    values: dict[int, Expr] = {}
    dropped: set[int] = set()
    made, written = {s.buffer: s for s in a.stage.stores}, b.stage.written
    for j, other in enumerate(b.operands):
        for k, one in enumerate(a.operands):
            if one.place.memory != other.place.memory:
                continue
            if k not in made and j not in written:
                if _same(a, k, b, j):
                    shared.setdefault(j, k)
            elif not apart(a, k, b, j):
                if not _same_point(a, k, b, j):
                    return None
                if k in made and j in written:
                    dropped.add(k)
                elif k in made:
                    values[j] = made[k].value
    return shared, values, dropped


def _same(a: Nest, k: int, b: Nest, j: int) -> bool:
    one, other = a.stage.buffers[k], b.stage.buffers[j]
    return a.operands[k] == b.operands[j] and one.dtype is other.dtype and (
        a.stage.kind != b.stage.kind or one.inner == other.inner)


def _same_point(a: Nest, k: int, b: Nest, j: int) -> bool:
    """Whether both touch one element at each point, which no other point touches."""
    if a.operands[k] != b.operands[j] or k in a.stage.elsewhere or j in b.stage.elsewhere \
            or a.stage.buffers[k].dtype is not b.stage.buffers[j].dtype:
        return False
    stores = [s for nest, n in ((a, k), (b, j)) for s in nest.stage.stores if s.buffer == n]
    if any(s.guard is not None for s in stores):
        return False
    skipped = int((a.rows or b.rows) and _once(a, k) and _once(b, j))
    return _injective(a.sizes[skipped:], a.operands[k].strides[skipped:],
                      a.stage.buffers[k].dtype.itemsize)


def _injective(sizes: tuple[int, ...], strides: tuple[int, ...], item: int) -> bool:
    """Whether each dimension steps over all that the narrower ones reach, so that no two points
    share an element (memory that overlaps itself has them)."""
    reach = item
    for stride, size in sorted((abs(s), n) for n, s in zip(sizes, strides, strict=True) if n > 1):
        if stride < reach:
            return False
        reach += (size - 1) * stride
    return True


def _once(nest: Nest, k: int) -> bool:
    """Whether a buffer has one value a row."""
    return not nest.stage.buffers[k].inner or not nest.rows and nest.operands[k].strides[0] == 0

