"""The counter: how many bytes a stage moves and how much arithmetic it does, for given sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.dtypes import FLOATING
from .ir import FUNCTIONS, Expr, Stage, fold_kind, inner_varying, walk

#: Floating-point operations of one node; whatever is not named here only moves or compares.
_FLOPS = {**dict.fromkeys(FUNCTIONS, 1), "add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2,
          "sqrt": 1, "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "minimum": 1, "maximum": 1}
_FOLDED = ("sum", "prod", "max", "min")


@dataclass(frozen=True)
class Cost:
    """What one run of a stage, or of several, costs. Costs add up.

    bytes_read, bytes_written : memory, each element of a buffer counted once however often the
        same point is read; elements at computed offsets are counted for every access
    flops : floating-point operations; an elementary function is one, and is what it is made of
        once the stage is lowered
    """

    bytes_read: int = 0
    bytes_written: int = 0
    flops: int = 0

    @property
    def nbytes(self) -> int:
        """All bytes moved."""
        return self.bytes_read + self.bytes_written

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.bytes_read + other.bytes_read, self.bytes_written + other.bytes_written,
                    self.flops + other.flops)


def cost(stage: Stage, points: int, inner: int = 1,
         elements: Sequence[int] | None = None) -> Cost:
    """The cost of `points` points, or of `points` rows whose inner axis has `inner`.

    elements : how many elements each buffer has, where that is fewer than the points that read
        them (a broadcast operand); by default every point, or row, has one of its own

    >>> from yesca.core.dtypes import float32
    >>> from yesca.loops import ir
    >>> x, y = ir.load(0, float32), ir.load(1, float32)
    >>> buffers = (ir.Buffer(float32), ir.Buffer(float32), ir.Buffer(float32, output=True))
    >>> add = ir.Stage("flat", buffers, (), (ir.Store(2, x + y),))
    >>> cost(add, 1000)
    Cost(bytes_read=8000, bytes_written=4000, flops=1000)
    >>> cost(add, 1000, elements=(1000, 10, 1000)).bytes_read
    4040
    """
    rows = stage.kind == "rows"
    every = points * inner if rows else points
    varying = inner_varying(stage)
    sizes = [every if b.inner or not rows else points for b in stage.buffers] \
        if elements is None else list(elements)

    def times(node: Expr) -> int:
        return every if node in varying else points

    read, flops = 0, 0
    seen: set[int] = set()
    for node in walk(*stage.roots()):
        if node.op == "load":
            item = node.dtype.itemsize
            if node.args:
                read += item * times(node)
            elif node.attr not in seen:
                seen.add(node.attr)
                read += item * sizes[node.attr]
        else:
            flops += _flops(node, every, times(node))
    written = 0
    for store in stage.stores:
        computed = store.offset is not None or store.guard is not None
        values = [store.value, *(e for e in (store.offset, store.guard) if e is not None)]
        count = (every if any(v in varying for v in values) else points) if computed \
            else sizes[store.buffer]
        moved = stage.buffers[store.buffer].dtype.itemsize * count
        written += moved
        if store.accumulate:
            read += moved
            flops += count if store.value.dtype.category == FLOATING else 0
    return Cost(read, written, flops)


def _flops(node: Expr, every: int, times: int) -> int:
    """The operations of one node at all points where it is computed."""
    if not node.args or node.args[-1].dtype.category != FLOATING:
        return 0
    if node.op in ("fold", "scan"):
        return every if fold_kind(node) in _FOLDED else 0
    if not _depends_on_point(node):
        return 0
    return _FLOPS.get(node.op, 0) * times


def _depends_on_point(node: Expr) -> bool:
    """Numbers made of numbers are computed once a launch."""
    return any(n.op in ("load", "coord") for n in walk(node))
