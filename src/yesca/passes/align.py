"""Two nests over the same points: find dimensions that both can be written in.

Nests over the same memory seldom have the same dimensions: neighbouring ones are joined where
strides allow it, and their order follows the memory. A *guide* is a buffer of one nest that lies
at the same place as a buffer of the other: where the strides of the two agree, the points do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..loops.ir import walk
from ..loops.nests import Nest, Operand

Dim = tuple[int, tuple[int, ...]]  # size; strides of the buffers in bytes, of POINT and of ROW
POINT, ROW = -2, -1  # the index of the point, and of the row (of the point in a flat nest)


def alignments(a: Nest, b: Nest) -> Iterator[tuple[Nest, Nest]]:
    """The two nests in common dimensions, likeliest way first.

    A rows nest keeps its inner axis; a flat nest beside it has the points of its rows' elements,
    or one point a row.
    """
    frame, other = (b, a) if b.rows and not a.rows else (a, b)
    outer_only = _once_a_row(frame, other)
    if other.total != frame.total and not outer_only:
        return
    fixed, loose = _dims(frame), _dims(other)
    if frame.rows and outer_only:
        fixed = fixed[1:]
    for guide, own in _guides(frame, other, ROW if outer_only else POINT):
        found = _aligned(fixed, guide, loose, own)
        if found is None or not _keeps(frame, other, *found, outer_only):
            continue
        first, second = found
        if outer_only:
            first = [_dims(frame)[0], *first]
            second = [(frame.sizes[0], (0,) * (len(other.operands) + 2)), *second]
        made = _over(frame, first), _over(other, second)
        yield made if frame is a else (made[1], made[0])


def in_order(nest: Nest, buffer: int, sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a nest visits a buffer of its as this walk does, from its first point on to its last.

    sizes, strides: of the walk, innermost first; rows of a rows nest are pieces of it
    """
    walk_dims = [(n, (s,)) for n, s in zip(sizes, strides, strict=True)]
    found = _aligned(walk_dims, 0, _dims(nest), buffer)
    if found is None:
        return False
    dims, point = found[1], 1
    for size, steps in dims:
        if steps[POINT] != point:
            return False
        point *= size
    return not nest.rows or bool(dims) and dims[0][0] == nest.sizes[0]


def _once_a_row(frame: Nest, other: Nest) -> bool:
    return frame.rows and not other.rows and frame.sizes[0] > 1 \
        and other.total * frame.sizes[0] == frame.total


def _dims(nest: Nest) -> list[Dim]:
    """The dimensions that have more than one index, innermost first."""
    made: list[Dim] = []
    point = 1
    for d, size in enumerate(nest.sizes):
        if size > 1:
            row = point if not nest.rows else point // nest.sizes[0]
            made.append((size, (*(o.strides[d] for o in nest.operands), point, row)))
        point *= size
    return made


def _guides(frame: Nest, other: Nest, index: int) -> Iterator[tuple[int, int]]:
    """Pairs of buffers in one place, those first that one of the nests writes."""
    pairs = []
    written, made = frame.stage.written, other.stage.written
    for k, p in enumerate(frame.operands):
        for j, o in enumerate(other.operands):
            if p.place == o.place and \
                    frame.stage.buffers[k].dtype is other.stage.buffers[j].dtype:
                moving = sum(s != 0 for s in p.strides)
                pairs.append(((k in written or j in made, moving), (k, j)))
    pairs.sort(key=lambda pair: pair[0], reverse=True)
    yield from (guides for _, guides in pairs)
    if pairs:
        yield index, index


def _aligned(fixed: list[Dim], guide: int, loose: list[Dim], own: int
             ) -> tuple[list[Dim], list[Dim]] | None:
    """Split dimensions until each of `fixed` has one of `loose` with its size and guide stride."""
    rest = list(loose)
    first: list[Dim] = []
    second: list[Dim] = []
    for size, strides in fixed:
        while size > 1:
            at = _dim_of(rest, own, strides[guide])
            if at is None:
                return None
            many, steps = rest[at]
            common = min(size, many)
            if size % common or many % common:
                return None
            first.append((common, strides))
            second.append((common, steps))
            size //= common
            strides = tuple(s * common for s in strides)
            if many == common:
                del rest[at]
            else:
                rest[at] = (many // common, tuple(s * common for s in steps))
    return None if rest else (first, second)


def _dim_of(rest: list[Dim], own: int, stride: int) -> int | None:
    """Which dimension has a guide stride; one that only runs over it is cut there."""
    for k, (_, steps) in enumerate(rest):
        if steps[own] == stride:
            return k
    for k, (many, steps) in enumerate(rest):
        below, uneven = divmod(stride, steps[own]) if steps[own] > 0 else (0, 1)
        if not uneven and below > 1 and many % below == 0 and many > below:
            rest[k:k + 1] = [(below, steps), (many // below, tuple(s * below for s in steps))]
            return k + 1
    return None


def _keeps(frame: Nest, other: Nest, first: list[Dim], second: list[Dim], outer_only: bool
           ) -> bool:
    """Whether inner axes stay whole, and indices that a stage reads stay what they are."""
    for nest, dims in ((frame, first), (other, second)):
        if nest.rows and not (outer_only and nest is frame) and (
                dims[0][0] != nest.sizes[0] or dims[0][1][POINT] != 1):
            return False
        if any(n.op == "coord" for n in walk(*nest.stage.roots())):
            order = [s[ROW] for _, s in dims]
            if order != sorted(order):
                return False
    return True


def _over(nest: Nest, dims: list[Dim]) -> Nest:
    operands = tuple(Operand(o.place, tuple(s[k] for _, s in dims))
                     for k, o in enumerate(nest.operands))
    return replace(nest, sizes=tuple(n for n, _ in dims), operands=operands)
