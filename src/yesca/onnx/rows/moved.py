"""What moves elements and changes shapes: views, joins, indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._building import Graph
from .._sizes import Size
from .._tracing import Step, Value
from . import row

_END = (1 << 63) - 1


@row("view", "reshape", "flatten", "unflatten", "view_as", "copy_like")
def _reshape(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    if s.name == "view" and s.dtype is not x.dtype:
        raise g.unable("another dtype of the same bytes")
    return g.reshape(g.operand(x), s.shape)


@row("permute", "transpose", "t")
def _permute(g: Graph, s: Step, x: Value, *dims: Any) -> str:
    order = list(range(x.rank))
    if s.name == "permute":
        given = dims[0] if isinstance(dims[0], (tuple, list)) else dims
        order = [d % x.rank for d in given]
    elif x.rank:
        a, b = (0, x.rank - 1) if s.name == "t" else (d % x.rank for d in dims)
        order[a], order[b] = order[b], order[a]
    return g.op("Transpose", g.operand(x), perm=order)


@row("squeeze")
def _squeeze(g: Graph, s: Step, x: Value, dim: Any = None) -> str:
    given = range(x.rank) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    axes = [d % x.rank for d in given if x.rank and x.shape[d] == 1]
    return g.op("Squeeze", g.operand(x), g.ints(axes)) if axes else g.operand(x)


@row("unsqueeze")
def _unsqueeze(g: Graph, s: Step, x: Value, dim: int) -> str:
    return g.op("Unsqueeze", g.operand(x), g.ints([dim % (x.rank + 1)]))


@row("expand", "expand_as", "broadcast_to")
def _expand(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    return g.op("Expand", g.operand(x), g.ints(s.shape))


@row("repeat")
def _repeat(g: Graph, s: Step, x: Value, repeats: Any) -> str:
    name = g.operand(x)
    if len(repeats) > x.rank:
        name = g.reshape(name, [1] * (len(repeats) - x.rank) + list(x.shape))
    return g.op("Tile", name, g.ints(repeats))


@row("flip")
def _flip(g: Graph, s: Step, x: Value, dims: Any) -> str:
    n = len(dims)
    return g.op("Slice", g.operand(x), g.ints([-1] * n), g.ints([-_END] * n), g.ints(list(dims)),
                g.ints([-1] * n))


@row("roll_one")
def _roll(g: Graph, s: Step, x: Value, shift: int, dim: int) -> str:
    size = g.fixed(x.shape[dim])
    cut = -shift % size if size else 0
    if not cut:
        return g.operand(x)
    first, second = g.op("Split", g.operand(x), g.ints([cut, size - cut]), outputs=2, axis=dim)
    return g.op("Concat", second, first, axis=dim)


# ---- joins and parts -------------------------------------------------------------------------

@row("cat")
def _cat(g: Graph, s: Step, tensors: Any, dim: int = 0) -> str:
    parts = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    return g.op("Concat", *[g.operand(t, s.dtype) for t in parts], axis=dim)


@row("stack")
def _stack(g: Graph, s: Step, tensors: Any, dim: int = 0) -> str:
    place = dim % len(s.shape)
    parts = [g.op("Unsqueeze", g.operand(t, s.dtype), g.ints([place])) for t in tensors]
    return g.op("Concat", *parts, axis=place)


@row("split", "split_with_sizes", "chunk")
def _split(g: Graph, s: Step, x: Value, sizes: Any, dim: int = 0) -> Any:
    parts = len(s.results)
    made = g.op("Split", g.operand(x), g.ints([r.shape[dim] for r in s.results]), outputs=parts,
                axis=dim)
    return made if parts > 1 else (made,)


@row("unbind")
def _unbind(g: Graph, s: Step, x: Value, dim: int = 0) -> Any:
    return tuple([g.op("Gather", g.operand(x), g.constant(np.array(k)), axis=dim)
                  for k in range(len(s.results))])


@row("select")
def _select(g: Graph, s: Step, x: Value, dim: int, index: Any) -> str:
    return g.op("Gather", g.operand(x), g.operand(index, None) if isinstance(index, Size)
                else g.constant(np.array(index)), axis=dim)


@row("slice")
def _slice(g: Graph, s: Step, x: Value, dim: int = 0, start: Any = None, end: Any = None,
           step: Any = 1) -> str:
    return _cut(g, g.operand(x), {dim % x.rank: slice(start, end, step)})


@row("narrow")
def _narrow(g: Graph, s: Step, x: Value, dim: int, start: Any, length: Any) -> str:
    first, count = g.ints([start]), g.ints([length])
    return g.op("Slice", g.operand(x), first, g.op("Add", first, count), g.ints([dim % x.rank]))


def _cut(g: Graph, name: str, cuts: dict[int, slice]) -> str:
    cuts = {d: c for d, c in cuts.items() if (c.start, c.stop, c.step) != (None, None, None)}
    if not cuts:
        return name
    starts = [0 if c.start is None else c.start for c in cuts.values()]
    ends = [_END if c.stop is None else c.stop for c in cuts.values()]
    steps = [1 if c.step is None else c.step for c in cuts.values()]
    return g.op("Slice", name, g.ints(starts), g.ints(ends), g.ints(list(cuts)), g.ints(steps))


@row("getitem")
def _getitem(g: Graph, s: Step, x: Value, index: Any) -> str:
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(i is not None and i is not Ellipsis and not isinstance(i, bool) for i in items)
    if Ellipsis in items:
        place = items.index(Ellipsis)
        items[place:place + 1] = [slice(None)] * (x.rank - used)
    name, dim, made = g.operand(x), 0, 0
    cuts: dict[int, slice] = {}
    gone: list[tuple[int, Any]] = []
    new: list[int] = []
    for item in items:
        if item is None or item is True:
            new.append(made)
            made += 1
        elif isinstance(item, slice):
            cuts[dim] = item
            dim, made = dim + 1, made + 1
        else:
            gone.append((dim, item))
            dim += 1
    name = _cut(g, name, cuts)
    for place, item in reversed(gone):
        at = g.operand(item) if isinstance(item, Size) else g.constant(np.array(int(item)))
        name = g.op("Gather", name, at, axis=place)
    return g.op("Unsqueeze", name, g.ints(new)) if new else name


@row("constant_pad_nd")
def _constant_pad(g: Graph, s: Step, x: Value, pad: Any, value: Any = 0) -> str:
    front, back = [0] * x.rank, [0] * x.rank
    for k in range(len(pad) // 2):
        front[x.rank - 1 - k], back[x.rank - 1 - k] = pad[2 * k], pad[2 * k + 1]
    return g.op("Pad", g.operand(x), g.ints([*front, *back]), g.operand(value or 0, s.dtype))


# ---- by index --------------------------------------------------------------------------------

@row("embedding")
def _embedding(g: Graph, s: Step, weight: Value, indices: Value, *rest: Any) -> str:
    return g.op("Gather", g.operand(weight), g.operand(indices), axis=0)


@row("index_select")
def _index_select(g: Graph, s: Step, x: Value, dim: int, index: Value) -> str:
    return g.op("Gather", g.operand(x), g.operand(index), axis=dim)


@row("index_at")
def _index_at(g: Graph, s: Step, x: Value, where: Any, indices: Any) -> str:
    if len(where) == 1:
        return g.op("Gather", g.operand(x), g.operand(indices[0]), axis=where[0])
    if list(where) != list(range(len(where))):
        raise g.unable("index tensors for dimensions that are not the first")
    columns = [g.operand(i, i.dtype) for i in indices]
    rank = max(i.rank for i in indices)
    shape = g.ints(s.shape[:rank])
    columns = [g.op("Unsqueeze", g.op("Expand", c, shape), g.ints([rank])) for c in columns]
    return g.op("GatherND", g.operand(x), g.op("Concat", *columns, axis=rank))


@row("gather")
def _gather(g: Graph, s: Step, x: Value, dim: int, index: Value, *rest: Any) -> str:
    shape = [n if d == dim % x.rank else m for d, (n, m) in enumerate(zip(x.shape, index.shape))]
    name = g.operand(x)
    if shape != list(x.shape):  # ONNX wants the other dimensions to be the same
        name = g.op("Slice", name, g.ints([0] * x.rank), g.ints(shape), g.ints(range(x.rank)))
    return g.op("GatherElements", name, g.operand(index), axis=dim)


@row("scatter", "scatter_add")
def _scatter(g: Graph, s: Step, x: Value, dim: int, index: Value, source: Any = None,
             value: Any = None, reduce: Any = None) -> str:
    if source is None:
        given = g.op("Expand", g.operand(value, s.dtype), g.ints(index.shape))
    else:
        given = g.operand(source, s.dtype)
        if source.shape != index.shape:
            given = g.op("Slice", given, g.ints([0] * x.rank), g.ints(index.shape))
    how = "add" if s.name == "scatter_add" else {"add": "add", "multiply": "mul"}.get(reduce)
    return g.op("ScatterElements", g.operand(x), g.operand(index), given, axis=dim, reduction=how)
