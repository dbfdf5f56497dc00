"""Mean and sum of squared differences over several dimensions, without cancellation.

Each piece of the data gives its own sum and squares about its own mean; pieces are joined about
the common mean. The pieces depend on sizes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtypes import DType
from ..core.views import collapse, storage_order
from ..loops.ir import Expr, cast, fold
from .folding import COLUMN_CHUNK, ROW_CHUNK, Grid, Source


def moments(p: Any, x: Any, dims: Sequence[int], wide: DType, final: Callable[..., Any],
            inputs: Sequence[Any], outs: Sequence[Any]) -> None:
    """outs = final(mean, sum of squared differences, *inputs) for what is left beside dims.

    inputs and outs have one value per row: the shape of x without dims.
    """
    shape, strides = tuple(x.spec.shape), tuple(x.spec.strides)
    keep = [d for d in range(len(shape)) if d not in dims]
    order = [dims[k] for k in storage_order(tuple(shape[d] for d in dims),
                                            [strides[d] for d in dims])]
    outer = tuple(shape[d] for d in keep)
    sizes, (steps,) = collapse([shape[d] for d in order], [[strides[d] for d in order]])
    source = Source(x, tuple(strides[d] for d in keep), tuple(steps) or (1,))
    count = math.prod(shape[d] for d in dims)
    size = 0 if count == 0 else sizes[0] if sizes else 1
    rows = [r.as_rows() for r in (*inputs, *outs)]
    given, made = rows[:len(inputs)], rows[len(inputs):]
    columns = bool(outer) and source.inner[0] != 1 and min(source.outer) == 1
    chunk = COLUMN_CHUNK if columns else ROW_CHUNK
    if count == size and size <= 2 * chunk:
        def whole(load: Expr, *rest: Expr) -> Any:
            middle, squares, _ = _piece(p, cast(load, wide), size)
            return final(middle, squares, *rest)

        p.rows(whole, [source.seen(outer, [(size, source.inner[0])], 0), *given], made, outer,
               size)
        return
    parts = _pieces(p, source, outer, sizes, min(chunk, size), wide, columns)

    def joined(middles: Expr, squares: Expr, counts: Expr, *rest: Expr) -> Any:
        middle = fold("sum", middles * counts) / p.fixed(count, wide)
        apart = middles - middle
        left = fold("sum", apart * counts) / p.fixed(count, wide)
        total = fold("sum", squares + apart * apart * counts)
        return final(middle + left, total, *rest)

    steps = parts[0].spec.strides
    flat = math.prod(parts[0].spec.shape[len(outer):])
    p.rows(joined, [*(t.seen(((*outer, flat), (*steps[:len(outer)], steps[-1]), 0))
                      for t in parts), *given], made, outer, flat)


def _piece(p: Any, v: Expr, size: int) -> tuple[Expr, Expr, Expr]:
    """The mean, the squares about it, and the count; the mean's own rounding is made good."""
    many = p.fixed(size, v.dtype)
    first = fold("sum", v) / many
    apart = v - first
    left = fold("sum", apart) / many
    return first + left, fold("sum", apart * apart) - left * left * many, many


def _pieces(p: Any, source: Source, outer: tuple[int, ...], sizes: list[int], chunk: int,
            wide: DType, columns: bool) -> list[Any]:
    """Means, squares and counts of the pieces, each (*outer, ...)."""
    blocks, left = divmod(sizes[0], chunk)
    extra = tuple(reversed(sizes[1:]))
    grid = Grid(outer, (*extra, blocks + (left > 0)), columns)
    made = [grid.temporary(p, wide) for _ in range(3)]
    step = source.inner[0]
    for many, length, begin in ((blocks, chunk, 0), (1, left, blocks)):
        if many == 0 or length == 0:
            continue
        seen = source.seen(outer, [*zip(extra, reversed(source.inner[1:]), strict=True),
                                   (many, chunk * step), (length, step)], begin * chunk * step)
        into = [grid.piece(t, begin, many) for t in made]
        p.rows(lambda load, length=length: _piece(p, cast(load, wide), length), [seen], into,
               into[0].spec.shape, length)
    return made
