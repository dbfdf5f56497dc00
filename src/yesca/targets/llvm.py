"""Stages of the loop IR as LLVM text.

One stage is one function `void symbol(ptr words, i64 lo, i64 hi)`. Its words, 8 bytes each:

    pointers of the buffers | arguments | inner size | inner strides | rank |
    per outer dimension, innermost first: size, strides                (all strides in bytes)

flat     [lo, hi) are points; the inner size counts the innermost, contiguous-most dimension
rows     [lo, hi) are rows; the inner axis is folded, scanned or mapped for each
tiled    [lo, hi) are squares of TILE by TILE points in the two innermost dimensions
table    [lo, hi) are rows of a table that follows the arguments; a row holds the pointers and a
         count of elements (multi-tensor kernels)

`Variant` says what the text may assume: nothing ("general", with a fast branch for contiguous
data), a pattern of inner strides, or "columns": a rows stage whose lanes run over the innermost
outer dimension. Loop counters and accumulators live in allocas; LLVM makes registers of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..core.dtypes import DType, bool_, float32, float64, int64
from ..loops.folds import LANES, WIDE
from ..loops.ir import Expr, Stage, Store, inner_varying, walk
from .llvm_folds import Fold, combined, emit_scan
from .llvm_function import FunctionText
from .llvm_scratch import Scratch
from .llvm_values import (
    Value, literal, memory_type, operation, scalar_type, splat, vector_type,
)

REGISTERED = 6  # so many constants stay in registers beside the values of a loop
ARITHMETIC = ("add", "sub", "mul", "fma", "where", "lt", "le", "gt", "ge")
TILE = 32  # points on a side of the squares of a tiled stage


@dataclass(frozen=True)
class Variant:
    """What the machine code may assume of the layout.

    pattern: per buffer "c" (stride of one item), "0" (stride zero) or "g" (any); empty: general.
    columns: the pattern is that of the innermost outer dimension, over which the lanes run.
    tiled: a flat stage goes over its two innermost dimensions in squares (a transposing copy).
    kept: rows are short enough to keep values on the stack that several passes over a row need.
    """

    pattern: str = ""
    columns: bool = False
    tiled: bool = False
    kept: bool = False


GENERAL = Variant()


class Frame:
    """Values known at one loop level; what does not vary here is found in the level above."""

    def __init__(self, parent: Frame | None, inner: bool, lanes: int = 1,
                 mask: str | None = None) -> None:
        self.parent = parent
        self.inner = inner
        self.lanes = lanes
        self.mask = mask
        self.index = ""  # scalar i64: the inner index of lane 0
        self.point = ""  # scalar i64: the linear index of the point
        self.values: dict[Expr, Value] = {}
        self.address: Callable[[int], tuple[str, bool]] | None = None


class StageText(FunctionText):
    """Writes one stage."""

    def __init__(self, stage: Stage, symbol: str, variant: Variant) -> None:
        super().__init__(symbol)
        self.stage = stage
        self.variant = variant
        self.buffers = len(stage.buffers)
        self.arguments = len(stage.arguments)
        self.varying = inner_varying(stage)
        self.entry = Frame(None, False)
        self.scratch: Scratch | None = None

    # ---- words ---------------------------------------------------------------------------

    def read_header(self) -> None:
        stage, text = self.stage, self.text
        if stage.kind == "table":
            base = 0
        else:
            self.pointers = [self.word(b, "ptr") for b in range(self.buffers)]
            base = self.buffers
        for slot, dtype in enumerate(stage.arguments):
            self.entry.values[Expr_argument(slot, dtype)] = self.argument(base + slot, dtype)
        base += self.arguments
        if stage.kind == "table":
            self.table = text.let(f"getelementptr i64, ptr %w, i64 {base}")
            return
        self.size = self.word(base)
        self.strides = [self.word(base + 1 + b) for b in range(self.buffers)]
        self.rank = self.word(base + 1 + self.buffers)
        self.dims = text.let(f"getelementptr i64, ptr %w, i64 {base + 2 + self.buffers}")

    def park_coefficients(self) -> None:
        """Put the many constants of long polynomials where loops read them as plain operands.

        More of them than there are registers are made anew in each turn of a loop, by the two
        instructions that an address of 64 bits takes: for a polynomial that is a second one. A
        value that LLVM cannot see through is spread out once before the loop instead.
        """
        found = coefficients(self.stage)
        if len(found) <= REGISTERED:
            return
        for node in found:
            kind = scalar_type(node.dtype)
            place = self.alloca(kind)
            self.text.line(f"store {kind} {literal(node.attr, node.dtype)}, ptr {place}")
            self.entry.values[node] = Value(
                self.text.let(f"load volatile {kind}, ptr {place}"), node.dtype)

    def turn(self, number: int) -> None:
        """Which pass over the row comes next."""
        if self.scratch is not None:
            self.scratch.now = number

    def bases(self, row: str, first: int = 0) -> list[str]:
        """The buffers' addresses at an index over the outer dimensions from `first` on."""
        text, count = self.text, self.buffers
        places = [self.alloca("ptr") for _ in range(count)]
        rest = self.alloca("i64")
        for place, pointer in zip(places, self.pointers, strict=True):
            text.line(f"store ptr {pointer}, ptr {place}")
        text.line(f"store i64 {row}, ptr {rest}")

        def dimension(d: str) -> None:
            at = text.let(f"mul i64 {d}, {count + 1}")
            here = text.let(f"getelementptr i64, ptr {self.dims}, i64 {at}")
            size = text.let(f"load i64, ptr {here}")
            left = text.let(f"load i64, ptr {rest}")
            quotient = text.let(f"udiv i64 {left}, {size}")
            index = text.let(f"sub i64 {left}, {text.let(f'mul i64 {quotient}, {size}')}")
            text.line(f"store i64 {quotient}, ptr {rest}")
            for b, place in enumerate(places):
                cell = text.let(f"getelementptr i64, ptr {here}, i64 {b + 1}")
                stride = text.let(f"load i64, ptr {cell}")
                moved = text.let(f"mul i64 {index}, {stride}")
                old = text.let(f"load ptr, ptr {place}")
                text.line(f"store ptr {text.let(f'getelementptr i8, ptr {old}, i64 {moved}')}, "
                          f"ptr {place}")

        self.loop(str(first), self.rank, "1", dimension)
        return [text.let(f"load ptr, ptr {place}", "p") for place in places]

    # ---- expressions ---------------------------------------------------------------------

    def value(self, frame: Frame, node: Expr) -> Value:
        """The value of an expression at this loop level."""
        if node.op == "const" and node not in self.entry.values:
            return Value(literal(node.attr, node.dtype), node.dtype)
        level: Frame | None = frame
        while level is not None:
            if node in level.values:
                return level.values[node]
            level = level.parent
        home = frame
        while home.inner and node not in self.varying and home.parent is not None:
            home = home.parent
        if node.op == "load":
            made = self.load(home, node)
        elif node.op == "coord":
            made = self.coordinate(home, node.attr)
        else:
            args = [self.value(frame, a) for a in node.args]
            if all(a.lanes == 1 for a in args) and node.args[0].op == "const":
                args[0] = Value(args[0].text, args[0].dtype)
            made = operation(self.text, node, args)
        home.values[node] = made
        return made

    def prepare(self, frame: Frame, roots: list[Expr]) -> None:
        """Compute in `frame` what the roots need and does not vary on the inner axis."""
        stack = list(roots)
        seen: set[Expr] = set()
        while stack:
            node = stack.pop()
            if node in seen or node.op in ("fold", "scan") and node in frame.values:
                continue
            seen.add(node)
            if node not in self.varying:
                self.value(frame, node)
            elif node.op != "scan":
                stack.extend(node.args)

    def coordinate(self, frame: Frame, axis: str) -> Value:
        text = self.text
        start = frame.index if axis == "inner" else frame.point
        if frame.lanes == 1 or (axis == "inner" and self.variant.columns):
            return Value(start, int64)
        steps = ", ".join(f"i64 {k}" for k in range(frame.lanes))
        base = splat(text, Value(start, int64), frame.lanes)
        return Value(text.let(f"add {base.typed}, <{steps}>"), int64, frame.lanes)

    def place(self, frame: Frame, buffer: int, offset: Expr | None) -> tuple[str, bool]:
        assert frame.address is not None
        pointer, vector = frame.address(buffer)
        if offset is not None:
            size = self.stage.buffers[buffer].dtype.itemsize
            shift = self.text.let(f"mul i64 {self.value(frame, offset).text}, {size}")
            pointer = self.text.let(f"getelementptr i8, ptr {pointer}, i64 {shift}")
        return pointer, vector

    def load(self, frame: Frame, node: Expr) -> Value:
        text, dtype = self.text, node.dtype
        pointer, vector = self.place(frame, node.attr, node.args[0] if node.args else None)
        lanes = frame.lanes if vector else 1
        kind = vector_type(memory_type(dtype), lanes)
        group = "" if self.stage.kind == "rows" else ", !llvm.access.group !0"
        if frame.mask is not None and lanes > 1:
            suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(
                memory_type(dtype), memory_type(dtype))
            name = f"llvm.masked.load.v{lanes}{suffix}.p0"
            text.declarations.add(
                f"declare {kind} @{name}(ptr, i32, <{lanes} x i1>, {kind})")
            raw = text.let(f"call {kind} @{name}(ptr {pointer}, i32 {dtype.itemsize}, "
                           f"<{lanes} x i1> {frame.mask}, {kind} zeroinitializer)")
        else:
            raw = text.let(f"load {kind}, ptr {pointer}, align {dtype.itemsize}{group}")
        if dtype is bool_:
            zero = "zeroinitializer" if lanes > 1 else "0"
            raw = text.let(f"icmp ne {kind} {raw}, {zero}")
        return Value(raw, dtype, lanes)

    def store(self, frame: Frame, item: Store) -> None:
        if item.guard is None:
            self.write(frame, item)
            return
        guard = self.value(frame, item.guard)
        self.value(frame, item.value)
        if item.offset is not None:
            self.value(frame, item.offset)
        self.branch(guard.text, lambda: self.write(frame, item))

    def write(self, frame: Frame, item: Store) -> None:
        text = self.text
        dtype = self.stage.buffers[item.buffer].dtype
        value = self.value(frame, item.value)
        pointer, vector = self.place(frame, item.buffer, item.offset)
        lanes = frame.lanes if vector else 1
        value = splat(text, value, lanes)
        kind = vector_type(memory_type(dtype), lanes)
        masked = frame.mask is not None and lanes > 1
        if item.accumulate:
            old = Value(self.load_raw(frame, pointer, dtype, lanes), dtype, lanes)
            value = combined(text, item.accumulate, old, value)
        raw = value.text
        if dtype is bool_:
            raw = text.let(f"zext {value.typed} to {kind}")
        if masked:
            suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(
                memory_type(dtype), memory_type(dtype))
            name = f"llvm.masked.store.v{lanes}{suffix}.p0"
            text.declarations.add(f"declare void @{name}({kind}, ptr, i32, <{lanes} x i1>)")
            text.line(f"call void @{name}({kind} {raw}, ptr {pointer}, i32 {dtype.itemsize}, "
                      f"<{lanes} x i1> {frame.mask})")
            return
        group = "" if self.stage.kind == "rows" else ", !llvm.access.group !0"
        text.line(f"store {kind} {raw}, ptr {pointer}, align {dtype.itemsize}{group}")

    def load_raw(self, frame: Frame, pointer: str, dtype: DType, lanes: int) -> str:
        kind = vector_type(memory_type(dtype), lanes)
        if frame.mask is None or lanes == 1:
            return self.text.let(f"load {kind}, ptr {pointer}, align {dtype.itemsize}")
        suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(
            memory_type(dtype), memory_type(dtype))
        name = f"llvm.masked.load.v{lanes}{suffix}.p0"
        self.text.declarations.add(f"declare {kind} @{name}(ptr, i32, <{lanes} x i1>, {kind})")
        return self.text.let(f"call {kind} @{name}(ptr {pointer}, i32 {dtype.itemsize}, "
                             f"<{lanes} x i1> {frame.mask}, {kind} zeroinitializer)")

def Expr_argument(slot: int, dtype: DType) -> Expr:  # noqa: N802 - reads as the node it finds
    from ..loops.ir import argument

    return argument(slot, dtype)


def coefficients(stage: Stage) -> list[Expr]:
    """The constants that floating-point arithmetic reads, but for those that simplify it."""
    found = {arg: None for node in walk(*stage.roots()) if node.op in ARITHMETIC
             for arg in node.args if arg.op == "const" and arg.dtype in (float32, float64)
             and math.isfinite(arg.attr) and arg.attr not in (0.0, -1.0)}
    return list(found)


def emit_stage(stage: Stage, symbol: str, variant: Variant = GENERAL) -> tuple[str, set[str]]:
    """LLVM text of one stage's function, and the declarations that it needs."""
    from .llvm_stages import write_columns, write_flat, write_rows, write_table, write_tiled

    writer = StageText(stage, symbol, variant)
    writer.read_header()
    writer.park_coefficients()
    if variant.tiled:
        write_tiled(writer)
    elif stage.kind == "flat":
        write_flat(writer)
    elif stage.kind == "table":
        write_table(writer)
    elif variant.columns:
        write_columns(writer)
    else:
        write_rows(writer)
    return writer.finish(), writer.text.declarations


# Loops are as fast where LLVM does not unroll them for counts that it cannot know, and it needs a
# fifth less time then.
FOOTER = """
attributes #0 = {{ nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}
!0 = distinct !{{}}
!1 = distinct !{{!1, !2, !3, !5}}
!2 = !{{!"llvm.loop.parallel_accesses", !0}}
!3 = !{{!"llvm.loop.mustprogress"}}
!4 = distinct !{{!4, !5}}
!5 = !{{!"llvm.loop.unroll.runtime.disable"}}
"""


def emit_module(functions: list[tuple[Stage, str, Variant]], width: int = 512) -> str:
    """One LLVM module with the functions of several stages."""
    texts: list[str] = []
    declarations: set[str] = set()
    for stage, symbol, variant in functions:
        body, needs = emit_stage(stage, symbol, variant)
        texts.append(body)
        declarations |= needs
    return "\n".join([*sorted(declarations), *texts, FOOTER.format(width=width)])


__all__ = ["GENERAL", "LANES", "WIDE", "Fold", "StageText", "Variant", "emit_module",
           "emit_scan", "emit_stage"]
