"""Folds and scans: the state they keep, how a lane enters it, how lanes are combined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.dtypes import FLOATING, bool_, int64
from ..loops.folds import neutral
from ..loops.ir import Expr, fold_kind
from .llvm_values import Text, Value, literal, memory_type, scalar_type, splat, vector_type

if TYPE_CHECKING:
    from .llvm import Frame, StageText


class Fold:
    """The accumulators of one fold at one width: a value and, for arg-folds, an index."""

    def __init__(self, writer: StageText, node: Expr, lanes: int) -> None:
        self.writer = writer
        self.node = node
        self.kind = fold_kind(node)
        self.lanes = lanes
        self.dtype = bool_ if self.kind in ("any", "all") else node.args[0].dtype
        self.arg = self.kind.startswith("arg")
        text = writer.text
        self.type = vector_type(scalar_type(self.dtype), lanes)
        self.index_type = vector_type("i64", lanes)
        self.state = writer.alloca(self.type)
        start = Value(literal(neutral(self.kind, self.dtype), self.dtype), self.dtype)
        text.line(f"store {splat(text, start, lanes).typed}, ptr {self.state}")
        if self.arg:
            self.where = writer.alloca(self.index_type)
            last = splat(text, Value(str((1 << 63) - 1), int64), lanes)
            text.line(f"store {last.typed}, ptr {self.where}")

    def enter(self, frame: Frame) -> None:
        """Fold the current point's value in; lanes outside the mask leave the state alone."""
        text, writer = self.writer.text, self.writer
        value = writer.value(frame, self.node.args[0])
        if self.dtype is bool_ and value.dtype is not bool_:
            zero = splat(text, Value(literal(0, value.dtype), value.dtype), value.lanes)
            test = "fcmp une" if value.dtype.category == FLOATING else "icmp ne"
            value = Value(text.let(f"{test} {value.typed}, {zero.text}"), bool_, value.lanes)
        value = splat(text, value, self.lanes)
        old = Value(text.let(f"load {self.type}, ptr {self.state}"), self.dtype, self.lanes)
        if self.arg:
            self._enter_arg(frame, old, value)
            return
        if frame.mask is not None and self.kind not in ("max", "min"):
            idle = splat(text, Value(literal(neutral(self.kind, self.dtype), self.dtype),
                                     self.dtype), self.lanes)
            value = self._select(frame.mask, value, idle)
        made = self.combine(old, value)
        if frame.mask is not None and self.kind in ("max", "min"):
            made = self._select(frame.mask, made, old)
        text.line(f"store {made.typed}, ptr {self.state}")

    def _select(self, mask: str, a: Value, b: Value) -> Value:
        kind = vector_type("i1", self.lanes)
        name = self.writer.text.let(f"select {kind} {mask}, {a.typed}, {b.typed}")
        return Value(name, a.dtype, self.lanes)

    def _enter_arg(self, frame: Frame, old: Value, value: Value) -> None:
        text = self.writer.text
        index = splat(text, self.writer.coordinate(frame, "inner"), self.lanes)
        place = Value(text.let(f"load {self.index_type}, ptr {self.where}"), int64, self.lanes)
        better = self._better(value, index, old, place)
        if frame.mask is not None:
            kind = vector_type("i1", self.lanes)
            better = text.let(f"and {kind} {better}, {frame.mask}")
        text.line(f"store {self._select(better, value, old).typed}, ptr {self.state}")
        text.line(f"store {self._select(better, index, place).typed}, ptr {self.where}")

    def _better(self, new: Value, index: Value, old: Value, place: Value) -> str:
        """A NaN beats numbers; equal values go to the lower index."""
        text = self.writer.text
        flag = vector_type("i1", new.lanes)
        less = self.kind == "argmin"
        if new.dtype.category == FLOATING:
            wins = text.let(f"fcmp {'olt' if less else 'ogt'} {new.typed}, {old.text}")
            same = text.let(f"fcmp oeq {new.typed}, {old.text}")
            new_nan = text.let(f"fcmp uno {new.typed}, {new.text}")
            old_nan = text.let(f"fcmp uno {old.typed}, {old.text}")
            first = text.let(f"xor {flag} {old_nan}, "
                             f"{splat(text, Value('true', bool_), new.lanes).text}")
            wins = text.let(f"and {flag} {wins}, {first}")
            wins = text.let(f"or {flag} {wins}, {text.let(f'and {flag} {new_nan}, {first}')}")
            same = text.let(f"or {flag} {same}, {text.let(f'and {flag} {new_nan}, {old_nan}')}")
        else:
            sign = "s" if new.dtype.is_signed and new.dtype is not bool_ else "u"
            wins = text.let(f"icmp {sign}{'lt' if less else 'gt'} {new.typed}, {old.text}")
            same = text.let(f"icmp eq {new.typed}, {old.text}")
        lower = text.let(f"icmp slt {index.typed}, {place.text}")
        return text.let(f"or {flag} {wins}, {text.let(f'and {flag} {same}, {lower}')}")

    def combine(self, a: Value, b: Value) -> Value:
        """Two partial results as one."""
        return combined(self.writer.text, self.kind, a, b)

    def current(self) -> list[Value]:
        """The state: the value and, for arg-folds, the index."""
        text = self.writer.text
        made = [Value(text.let(f"load {self.type}, ptr {self.state}"), self.dtype, self.lanes)]
        if self.arg:
            made.append(Value(text.let(f"load {self.index_type}, ptr {self.where}"), int64,
                              self.lanes))
        return made

    def merge(self, a: list[Value], b: list[Value]) -> list[Value]:
        """Combine two states of the same width."""
        if not self.arg:
            return [self.combine(a[0], b[0])]
        better = self._better(b[0], b[1], a[0], a[1])
        text = self.writer.text
        flag = vector_type("i1", a[0].lanes)
        return [Value(text.let(f"select {flag} {better}, {y.typed}, {x.typed}"), x.dtype, x.lanes)
                for x, y in zip(a, b, strict=True)]

    def halve(self, state: list[Value]) -> list[Value]:
        """Combine the lower half of the lanes with the upper half."""
        text = self.writer.text
        half = state[0].lanes // 2
        return self.merge(*([part(text, v, start, half) for v in state]
                            for start in (0, half)))

    def result(self, state: list[Value]) -> Value:
        """The fold's value once one lane is left."""
        while state[0].lanes > 1 and not self.writer.variant.columns:
            state = self.halve(state)
        return state[-1]


def combined(text: Text, kind: str, a: Value, b: Value) -> Value:
    """Two partial results of a fold as one."""
    floating = a.dtype.category == FLOATING
    if kind in ("any", "all"):
        name = text.let(f"{'or' if kind == 'any' else 'and'} {a.typed}, {b.text}")
    elif kind in ("sum", "prod"):
        word = {"sum": "add", "prod": "mul"}[kind]
        name = text.let(f"{'f' if floating else ''}{word} {a.typed}, {b.text}")
    else:
        name = _extreme(text, kind == "min", a, b, floating)
    return Value(name, a.dtype, a.lanes)


def _extreme(text: Text, less: bool, a: Value, b: Value, floating: bool) -> str:
    flag = vector_type("i1", a.lanes)
    if not floating:
        sign = "s" if a.dtype.is_signed and a.dtype is not bool_ else "u"
        better = text.let(f"icmp {sign}{'lt' if less else 'gt'} {b.typed}, {a.text}")
        return text.let(f"select {flag} {better}, {b.typed}, {a.typed}")
    # not (a >= b) is true where b is larger or either is NaN; a NaN in a must stay
    better = text.let(f"fcmp {'ugt' if less else 'ult'} {a.typed}, {b.text}")
    nan = text.let(f"fcmp uno {a.typed}, {a.text}")
    picked = text.let(f"select {flag} {better}, {b.typed}, {a.typed}")
    return text.let(f"select {flag} {nan}, {a.typed}, {a.type} {picked}")


def part(text: Text, value: Value, start: int, count: int) -> Value:
    if count == 1:
        return Value(text.let(f"extractelement {value.typed}, i32 {start}"), value.dtype)
    picks = ", ".join(f"i32 {start + k}" for k in range(count))
    name = text.let(f"shufflevector {value.typed}, {value.type} poison, <{count} x i32> <{picks}>")
    return Value(name, value.dtype, count)


def emit_scan(writer: StageText, node: Expr, frame: Frame, state: str) -> Value:
    """One step of a scan: the running value with the current point's folded in."""
    text = writer.text
    value = writer.value(frame, node.args[0])
    value = splat(text, value, frame.lanes)
    old = Value(text.let(f"load {value.type}, ptr {state}"), value.dtype, frame.lanes)
    made = combined(text, node.attr, old, value)
    text.line(f"store {made.typed}, ptr {state}")
    return made


__all__ = ["Fold", "combined", "emit_scan", "memory_type"]
