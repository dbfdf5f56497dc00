"""Loops over the points of a block, lanes over the last dimension that has more than one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import FLOATING, DType
from ..loops.blocks import (
    TRUE, Atomic, Fold, Keep, Nest, Place, Scan, Write, axes_of, beyond, common_bound, coordinate,
    mapped, resolved, roots_of,
)
from ..loops.folds import LANES, WIDE, neutral
from ..loops.ir import Expr, walk
from .block_memory import atomic, linear, put, write
from .block_text import BlockText, Level
from .llvm_folds import combined, part
from .llvm_values import Value, literal, scalar_type, splat, vector_type

CHEAP = 12  # operations of a point up to which its loop takes more lanes at once


def write_nest(writer: BlockText, nest: Nest) -> None:
    """The loops of one nest."""
    dims = [k for k, extent in enumerate(nest.shape) if extent > 1]
    top = Level(writer.entry)
    for effect in nest.effects:
        if isinstance(effect, Scan):
            write_scan(writer, nest.shape, effect, top)
            return
    if not dims:
        _points(writer, nest, top)
        return
    inner = dims[-1]
    for effect in nest.effects:
        if isinstance(effect, Fold) and effect.axis != inner:
            _clear(writer, nest.shape, effect)
    if isinstance(nest.effects[0], Atomic):
        over(writer, nest.shape, dims, top, lambda level: _points(writer, nest, level))
    else:
        over(writer, nest.shape, dims[:-1], top, lambda level: Row(writer, nest, inner, level))


def over(writer: BlockText, shape: tuple[int, ...], dims: list[int], level: Level,
         body: Callable[[Level], object]) -> None:
    """Loops over some dimensions, one point at a time, outermost first."""
    if not dims:
        body(level)
        return
    writer.loop("0", str(shape[dims[0]]), "1", lambda index: over(
        writer, shape, dims[1:], Level(level, dims[0], index), body))


def _points(writer: BlockText, nest: Nest, level: Level) -> None:
    """The effects at one point."""
    for effect in nest.effects:
        if isinstance(effect, Atomic):
            _give(writer, level, effect.into, atomic(writer, level, effect), nest.shape)
        else:
            _apply(writer, level, effect)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1:])


def _give(writer: BlockText, level: Level, into: Any, value: Value, shape: tuple[int, ...]
          ) -> None:
    """A result to its slot, or to its place at the level's point."""
    if isinstance(into, Place):
        offset = linear(tuple(coordinate(k, n) for k, n in enumerate(shape)), shape)
        put(writer, level, writer.place(into.number), into.dtype, offset, value)
    else:
        writer.set(into, value)


def _apply(writer: BlockText, level: Level, effect: Any) -> None:
    if isinstance(effect, Write):
        write(writer, level, effect)
    else:
        assert isinstance(effect, Keep)
        offset = linear(tuple(coordinate(k, n) for k, n in enumerate(effect.place.shape)),
                        effect.place.shape)
        put(writer, level, writer.place(effect.place.number), effect.place.dtype, offset,
            writer.value(level, effect.value))


def _clear(writer: BlockText, shape: tuple[int, ...], effect: Fold) -> None:
    """What a reduction over an outer dimension starts with."""
    from ..loops.ir import const

    assert isinstance(effect.into, Place)
    dtype = effect.into.dtype
    write_nest(writer, Nest(effect.into.shape, (
        Keep(effect.into, const(neutral(effect.kind, dtype), dtype)),)))


class Row:
    """The innermost loop: whole vectors while a mask is known to hold, one more, and the rest."""

    def __init__(self, writer: BlockText, nest: Nest, axis: int, outer: Level) -> None:
        self.writer, self.axis, self.outer, self.shape = writer, axis, outer, nest.shape
        self.extent = nest.shape[axis]
        roots = [r for e in nest.effects for r in roots_of(e)]
        cheap = sum(n.op not in ("load", "local", "const", "argument") for n in walk(*roots))
        self.lanes = min(self.extent, WIDE if cheap <= CHEAP else LANES)
        self.folds = {e: State(writer, e, self.lanes) for e in nest.effects
                      if isinstance(e, Fold) and e.axis == axis}
        for node in walk(*roots):
            if axis not in axes_of(node):
                writer.value(outer, node)
        found = common_bound(nest) if axis == len(nest.shape) - 1 else None
        if found is None or self.extent == self.lanes:
            self.all(nest.effects)
        else:
            self.bounded(nest.effects, *found)
        for effect, state in self.folds.items():
            _give(writer, outer, effect.into, state.result(), _without(nest.shape, axis))

    def all(self, effects: tuple[Any, ...]) -> None:
        if self.extent == self.lanes:
            self.turn("0", effects, effects)
        else:
            self.writer.loop("0", str(self.extent), str(self.lanes),
                             lambda index: self.turn(index, effects, effects))

    def bounded(self, effects: tuple[Any, ...], mask: Expr, place: Expr) -> None:
        writer, text = self.writer, self.writer.text
        limit = writer.smaller(writer.value(self.outer, place).text, str(self.extent))
        below = text.let(f"icmp slt i64 {limit}, 0")
        limit = text.let(f"select i1 {below}, i64 0, i64 {limit}")
        whole = text.let(f"and i64 {limit}, {-self.lanes}")
        inside = tuple(mapped(e, lambda x: resolved(x, mask, TRUE)) for e in effects)
        writer.loop("0", whole, str(self.lanes),
                    lambda index: self.turn(index, inside, effects))
        done = writer.alloca("i64")
        text.line(f"store i64 {whole}, ptr {done}")

        def last() -> None:
            self.turn(whole, effects, effects)
            text.line(f"store i64 {text.let(f'add i64 {whole}, {self.lanes}')}, ptr {done}")

        writer.branch(text.let(f"icmp slt i64 {whole}, {limit}"), last)
        if self.folds:
            left = text.let(f"sub i64 {self.extent}, {text.let(f'load i64, ptr {done}')}")
            for effect, state in self.folds.items():
                state.rest = (writer.value(self.outer, beyond(effect.value, mask)), left)

    def turn(self, index: str, effects: tuple[Any, ...], names: tuple[Any, ...]) -> None:
        """The effects at the points of one vector; `names` are the effects as the nest has them."""
        level = Level(self.outer, self.axis, index, self.lanes)
        for effect in effects:
            self.writer.value(level, effect.value)  # first: a store may change what others read
        for effect, name in zip(effects, names, strict=True):
            if name in self.folds:
                self.folds[name].enter(self.writer.value(level, effect.value))
            elif isinstance(effect, Fold):
                self._accumulate(level, effect)
            else:
                _apply(self.writer, level, effect)

    def _accumulate(self, level: Level, effect: Fold) -> None:
        """A reduction over an outer dimension adds a row to its place."""
        assert isinstance(effect.into, Place)
        writer, place = self.writer, effect.into
        index = [coordinate(k, n) for k, n in enumerate(self.shape)]
        here = tuple(e for k, e in enumerate(index) if k != effect.axis)
        fresh = Level(level.parent, level.axis, level.index, level.lanes)
        old = splat(writer.text, writer.value(fresh, place.at(*here)), level.lanes)
        value = splat(writer.text, writer.value(level, effect.value), level.lanes)
        put(writer, level, writer.place(place.number), place.dtype, linear(here, place.shape),
            folded(writer, effect.kind, old, value))


class State:
    """The partial results of a reduction along the lanes."""

    def __init__(self, writer: BlockText, effect: Fold, lanes: int) -> None:
        self.writer, self.kind, self.lanes = writer, effect.kind, lanes
        self.dtype: DType = effect.value.dtype
        self.type = vector_type(scalar_type(self.dtype), lanes)
        self.place = writer.alloca(self.type)
        self.rest: tuple[Value, str] | None = None
        start = Value(literal(neutral(self.kind, self.dtype), self.dtype), self.dtype)
        writer.text.line(f"store {splat(writer.text, start, lanes).typed}, ptr {self.place}")

    def enter(self, value: Value) -> None:
        text = self.writer.text
        old = Value(text.let(f"load {self.type}, ptr {self.place}"), self.dtype, self.lanes)
        made = folded(self.writer, self.kind, old, splat(text, value, self.lanes))
        text.line(f"store {made.typed}, ptr {self.place}")

    def result(self) -> Value:
        """All lanes combined, and what is left of the axis where every element is one number."""
        text = self.writer.text
        made = Value(text.let(f"load {self.type}, ptr {self.place}"), self.dtype, self.lanes)
        while made.lanes > 1:
            half = made.lanes // 2
            lower, upper = (part(text, made, start, half) for start in (0, half))
            made = folded(self.writer, self.kind, lower, upper)
        if self.rest is None:
            return made
        value, count = self.rest
        found = self.writer.alloca(scalar_type(self.dtype))
        text.line(f"store {made.typed}, ptr {found}")

        def add() -> None:
            times = value
            if self.kind == "sum":
                kind = scalar_type(self.dtype)
                if self.dtype.category == FLOATING:
                    number = text.let(f"uitofp i64 {count} to {kind}")
                    times = Value(text.let(f"fmul {value.typed}, {number}"), self.dtype)
                else:
                    number = count if kind == "i64" else text.let(f"trunc i64 {count} to {kind}")
                    times = Value(text.let(f"mul {value.typed}, {number}"), self.dtype)
            text.line(f"store {folded(self.writer, self.kind, made, times).typed}, ptr {found}")

        self.writer.branch(text.let(f"icmp sgt i64 {count}, 0"), add)
        return Value(text.let(f"load {scalar_type(self.dtype)}, ptr {found}"), self.dtype)


def folded(writer: BlockText, kind: str, old: Value, new: Value) -> Value:
    """Two partial results as one; in max and min a NaN gives way to a number."""
    if kind not in ("max", "min") or old.dtype.category != FLOATING:
        return combined(writer.text, kind, old, new)
    text = writer.text
    better = text.let(f"fcmp {'ogt' if kind == 'max' else 'olt'} {new.typed}, {old.text}")
    flags = vector_type("i1", old.lanes)
    return Value(text.let(f"select {flags} {better}, {new.typed}, {old.typed}"), old.dtype,
                 old.lanes)


def write_scan(writer: BlockText, shape: tuple[int, ...], scan: Scan, top: Level) -> None:
    """Running values along an axis, one element after the other."""
    dims = [k for k, n in enumerate(shape) if n > 1 and k != scan.axis]
    extent, text = shape[scan.axis], writer.text

    def line(outer: Level) -> None:
        def step(index: str) -> None:
            place = index
            if scan.reverse:
                place = text.let(f"sub i64 {extent - 1}, {index}")
            level = Level(outer, scan.axis, place)
            values = [writer.value(level, v) for v in scan.values]
            first = text.let(f"icmp eq i64 {index}, 0")

            def begin() -> None:
                for slot, value in zip(scan.left, values, strict=True):
                    writer.set(slot, value)

            def go_on() -> None:
                for slot, value in zip(scan.right, values, strict=True):
                    writer.set(slot, value)
                inside = Level(writer.entry)
                made = [writer.value(inside, c) for c in scan.combined]
                for slot, value in zip(scan.left, made, strict=True):
                    writer.set(slot, value)

            for slot in (*scan.left, *scan.right):
                writer.slot(slot)
            writer.branch(first, begin, go_on)
            if not scan.last:
                _store_running(writer, level, scan, shape)

        writer.loop("0", str(extent), "1", step)
        if scan.last:
            kept = Level(outer)
            _store_running(writer, kept, scan, tuple(
                1 if k == scan.axis else n for k, n in enumerate(shape)))

    over(writer, shape, dims, top, line)


def _store_running(writer: BlockText, level: Level, scan: Scan, shape: tuple[int, ...]) -> None:
    from ..loops.ir import argument

    for slot, into in zip(scan.left, scan.into, strict=True):
        dtype = writer.program.slots[slot]
        value = writer.value(Level(writer.entry), argument(slot, dtype))
        _give(writer, level, into, value, shape)

