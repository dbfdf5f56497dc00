"""A stage with its geometry: what one launch visits, and which memory each buffer is.

A stage knows no sizes; a *nest* is a stage over given sizes, with the byte strides of every buffer
and the place where it begins. It still knows no tensors: memories are numbers that whoever makes
the nest gives out. Dimensions are listed innermost first; the first one of a rows nest is the
inner axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .ir import Expr, Stage, Store, make, rewrite, walk


@dataclass(frozen=True)
class Place:
    """Where a buffer begins: in which memory, at what bytes.

    shift: names a run-time number of bytes that comes on top; -1 for none.
    """

    memory: int
    shift: int = -1
    offset: int = 0


@dataclass(frozen=True)
class Operand:
    """A buffer of a nest: its place and its byte stride in each dimension."""

    place: Place
    strides: tuple[int, ...]

    def span(self, sizes: tuple[int, ...], item: int) -> tuple[int, int]:
        """The bytes between which all elements lie."""
        ends = [(n - 1) * s for n, s in zip(sizes, self.strides, strict=True)]
        start = self.place.offset
        return start + sum(min(e, 0) for e in ends), start + sum(max(e, 0) for e in ends) + item


@dataclass(frozen=True, eq=False)
class Nest:
    """One launch of a stage.

    numbers: what each argument of the stage is, in any form that compares by value.
    """

    stage: Stage
    sizes: tuple[int, ...]
    operands: tuple[Operand, ...]
    numbers: tuple[Any, ...]
    name: str = ""

    @property
    def total(self) -> int:
        """How many points there are."""
        return math.prod(self.sizes)

    @property
    def rows(self) -> bool:
        return self.stage.kind == "rows"

    @cached_property
    def memories(self) -> tuple[frozenset[int], frozenset[int]]:
        """The memories that are read and those that are written."""
        written = {self.operands[b].place.memory for b in self.stage.written}
        read = {self.operands[b].place.memory for b in self.stage.loaded}
        for store in self.stage.stores:
            if store.accumulate:
                read.add(self.operands[store.buffer].place.memory)
        return frozenset(read), frozenset(written)


def apart(a: Nest, k: int, b: Nest, j: int) -> bool:
    """Whether buffer k of one nest and buffer j of another share no byte, at any point."""
    one, other = a.operands[k], b.operands[j]
    if one.place.memory != other.place.memory:
        return True
    if one.place.shift != other.place.shift or k in a.stage.elsewhere or j in b.stage.elsewhere:
        return False
    item, size = a.stage.buffers[k].dtype.itemsize, b.stage.buffers[j].dtype.itemsize
    (low, high), (below, above) = one.span(a.sizes, item), other.span(b.sizes, size)
    if high <= below or above <= low:
        return True
    steps = [s for n, s in zip(a.sizes, one.strides, strict=True) if n > 1]
    steps += [s for n, s in zip(b.sizes, other.strides, strict=True) if n > 1]
    period = math.gcd(*steps)
    if not period:
        return False
    gap = (other.place.offset - one.place.offset) % period
    return gap >= item and period - gap >= size


def conflict(a: Nest, b: Nest) -> bool:
    """Whether the order of two nests matters: one writes what the other touches."""
    first, second = a.stage.written, b.stage.written
    for k, one in enumerate(a.operands):
        for j, other in enumerate(b.operands):
            if one.place.memory == other.place.memory and (k in first or j in second) \
                    and not apart(a, k, b, j):
                return True
    return False


def pruned(nest: Nest, kept: tuple[Store, ...]) -> Nest:
    """The nest with these stores only, without the buffers and numbers that nobody uses then."""
    stage = replace(nest.stage, stores=kept)
    nodes = list(walk(*stage.roots()))
    buffers = sorted({n.attr for n in nodes if n.op == "load"} | {s.buffer for s in kept})
    arguments = sorted({n.attr for n in nodes if n.op == "argument"})
    new_buffer = {old: k for k, old in enumerate(buffers)}
    new_argument = {old: k for k, old in enumerate(arguments)}
    stores = renumbered(kept, new_buffer, new_argument)
    written = {s.buffer for s in kept}
    made = Stage(stage.kind, tuple(replace(stage.buffers[b], output=b in written) for b in buffers),
                 tuple(stage.arguments[a] for a in arguments), stores)
    return replace(nest, stage=made, operands=tuple(nest.operands[b] for b in buffers),
                   numbers=tuple(nest.numbers[a] for a in arguments))


def renumbered(stores: tuple[Store, ...], buffers: dict[int, int], arguments: dict[int, int],
               values: dict[int, Expr] | None = None) -> tuple[Store, ...]:
    """Stores over other buffers and arguments; `values` stand for loads of some old buffers."""
    known = values or {}

    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "load":
            if node.attr in known:
                return known[node.attr]
            return make("load", node.dtype, args, buffers[node.attr])
        if node.op == "argument":
            return make("argument", node.dtype, (), arguments[node.attr])
        return None

    roots = tuple(_parts(stores))
    new = iter(rewrite(roots, rule))
    return tuple(Store(buffers[s.buffer], next(new),
                       None if s.offset is None else next(new),
                       None if s.guard is None else next(new), s.accumulate) for s in stores)


def _parts(stores: tuple[Store, ...]) -> Iterator[Expr]:
    for s in stores:
        yield from (e for e in (s.value, s.offset, s.guard) if e is not None)
