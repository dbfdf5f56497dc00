"""Reductions of any shape as stages: what one pass cannot fold leaves partial results.

The grid of partial results depends on sizes only, so that the result has the same bits whatever
the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.spec import contiguous_strides, spec
from ..core.views import broadcast_shapes, collapse, expand_strides, storage_order
from ..loops import ir
from ..loops.ir import Expr

ROW_CHUNK = 16384  # inner elements that one row of a reduction folds before it is split
COLUMN_CHUNK = 512
VECTOR_ELEMENTS = 16


@dataclass(frozen=True)
class Source:
    """An operand as a reduction sees it: elements to step in each dimension."""

    ref: Any
    outer: tuple[int, ...]
    inner: tuple[int, ...]  # per reduced dimension, innermost first
    broadcast: bool = False  # beside an operand that varies along the innermost

    def seen(self, outer: Sequence[int], inner: Sequence[tuple[int, int]], beyond: int) -> Any:
        """The operand with these (size, step) pairs behind its outer dimensions.

        What is the same along the last of them is one value a row, read once.
        """
        if inner and inner[-1][1] == 0 and self.broadcast:
            inner = inner[:-1]
            return self.ref.seen(((*outer, *(n for n, _ in inner)),
                                  (*self.outer, *(s for _, s in inner)), beyond)).as_rows()
        return self.ref.seen(((*outer, *(n for n, _ in inner)),
                              (*self.outer, *(s for _, s in inner)), beyond))


@dataclass(frozen=True)
class Folding:
    """What is folded: kinds, the value that each folds, and what becomes of them."""

    kinds: tuple[str, ...]
    before: Callable[..., tuple[Expr, ...]]
    final: Callable[..., Any]


class Grid:
    """Partial results: (*outer, *inner), the outer dimensions side by side where columns are."""

    def __init__(self, outer: tuple[int, ...], inner: tuple[int, ...], columns: bool) -> None:
        self.shape = (*outer, *inner)
        across = math.prod(outer) if columns else 1
        along = 1 if columns else math.prod(inner)
        self.steps = (*(s * along for s in contiguous_strides(outer)),
                      *(s * across for s in contiguous_strides(inner)))

    def temporary(self, p: Any, dtype: Any) -> Any:
        """Memory for one value a place."""
        made = p.temporary((math.prod(self.shape),), dtype)
        return made.seen((self.shape, self.steps, 0))

    def piece(self, ref: Any, begin: int, many: int) -> Any:
        """`many` places of the last dimension, one value a row."""
        return ref.seen(((*self.shape[:-1], many), self.steps, begin * self.steps[-1])).as_rows()


def reduce(p: Any, work: Folding, inputs: Sequence[Any], dims: Sequence[int],
           outs: Sequence[Any]) -> None:
    """outs = final(folds of before(inputs) over dims); inputs broadcast to one shape."""
    shape = broadcast_shapes(*(r.spec.shape for r in inputs))
    strides = [expand_strides(r.spec.shape, r.spec.strides, shape) for r in inputs]
    keep = [d for d in range(len(shape)) if d not in dims]
    order = [dims[k] for k in storage_order(tuple(shape[d] for d in dims),
                                            [strides[0][d] for d in dims])]
    outer = tuple(shape[d] for d in keep)
    sizes, steps = collapse([shape[d] for d in order], [[s[d] for d in order] for s in strides])
    if math.prod(shape[d] for d in dims) == 0:
        sizes, steps = [0], [[1]] * len(inputs)
    elif not sizes:
        sizes, steps = [1], [[1]] * len(inputs)
    varies = any(own[0] for own in steps)
    sources = [Source(r, tuple(s[d] for d in keep), tuple(own), varies)
               for r, s, own in zip(inputs, strides, steps, strict=True)]
    targets = [_as_target(p, out, outer) for out in outs]
    _fold(p, work, sources, outer, tuple(sizes), targets)


def _as_target(p: Any, out: Any, outer: tuple[int, ...]) -> Any:
    """A result without the dimensions that `keepdim` kept, one value a row."""
    steps = out.spec.strides if out.spec.ndim == len(outer) else contiguous_strides(outer)
    return replace(out, spec=spec(out.spec.dtype, outer, steps, p.device), row=True)


def _fold(p: Any, work: Folding, sources: list[Source], outer: tuple[int, ...],
          sizes: tuple[int, ...], targets: list[Any]) -> None:
    """Fold the innermost reduced dimension; more of them, or a long one, leave partials."""
    size, rest = sizes[0], sizes[1:]
    first = sources[0]
    columns = bool(first.outer) and first.inner[0] != 1 and min(first.outer) == 1
    chunk = COLUMN_CHUNK if columns else ROW_CHUNK
    if work.kinds[0].startswith("arg"):
        if rest:
            raise NotImplementedError(f"[{p.record.name}] needs one reduced dimension")
        blocks, left = 0, 0
    elif size > 2 * chunk:
        blocks, chunk, left = _pieces(size, chunk)
    else:
        blocks, chunk, left = 0, size, size
    if not blocks and not rest:
        refs = [s.seen(outer, [(size, s.inner[0])], 0) for s in sources]
        p.rows(lambda *v: work.final(*_folds(work, v)), refs, targets, outer, size)
        return
    parts = blocks + (left > 0)
    extra = tuple(reversed(rest))
    grid = Grid(outer, (*extra, parts), columns)
    partials = [grid.temporary(p, f.dtype) for f in _folds(
        work, [ir.load(k, s.ref.spec.dtype) for k, s in enumerate(sources)])]
    counts = [(blocks, chunk, 0)] if blocks else []
    counts += [(1, left, blocks)] if left else []
    for many, length, begin in counts:
        refs = [s.seen(outer, [*zip(extra, reversed(s.inner[1:]), strict=True),
                               (many, chunk * s.inner[0]), (length, s.inner[0])],
                       begin * chunk * s.inner[0]) for s in sources]
        into = [grid.piece(part, begin, many) for part in partials]
        p.rows(lambda *v: tuple(_folds(work, v)), refs, into, into[0].spec.shape, length)
    again = [Source(part, grid.steps[:len(outer)], (grid.steps[-1],)) for part in partials]
    _fold(p, replace(work, before=lambda *v: v), again, outer, (math.prod(extra) * parts,),
          targets)


def _pieces(size: int, chunk: int) -> tuple[int, int, int]:
    """How many equal pieces, how long they are, and what is left over.

    Equal pieces near `chunk` that leave nothing are one stage instead of two, and can be joined
    with what computes their elements; of whole vectors if possible.
    """
    counts = range(-(-size // (2 * chunk)), 2 * size // chunk + 1)
    even = [size // count for count in counts if size % count == 0]
    length = min(even, key=lambda n: (n % VECTOR_ELEMENTS > 0, abs(n - chunk)), default=chunk)
    return size // length, length, size % length


def _folds(work: Folding, values: Sequence[Expr]) -> list[Expr]:
    made = work.before(*values)
    return [ir.fold(kind, value) for kind, value in zip(
        work.kinds, made if isinstance(made, tuple) else (made,), strict=True)]
