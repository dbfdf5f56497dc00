"""Products of two places: micro-tiles of a few rows by two vectors, sums in registers."""

from __future__ import annotations

from ..core.dtypes import FLOATING
from ..loops.blocks import Place, Product
from ..loops.folds import LANES
from .block_text import BlockText
from .llvm_values import Value, literal, scalar_type, splat, vector_type

ROWS, VECTORS = 4, 2


def write_product(writer: BlockText, item: Product) -> None:
    """into = a @ b, plus start."""
    rows, columns = item.into.shape
    lanes = min(LANES, columns)
    height = min(ROWS, rows)
    width = min(VECTORS, columns // lanes)
    writer.loop("0", str(columns), str(lanes * width), lambda column: writer.loop(
        "0", str(rows), str(height),
        lambda row: _tile(writer, item, row, column, height, width, lanes)))


def _tile(writer: BlockText, item: Product, row: str, column: str, height: int, width: int,
          lanes: int) -> None:
    text, dtype = writer.text, item.into.dtype
    kind = vector_type(scalar_type(dtype), lanes)
    tiles = [(r, c) for r in range(height) for c in range(width)]
    states = {}
    for r, c in tiles:
        states[r, c] = writer.alloca(kind)
        if item.start is None:
            start = splat(text, Value(literal(0, dtype), dtype), lanes).text
        else:
            place = _at(writer, item.start, row, r, column, c * lanes)
            start = text.let(f"load {kind}, ptr {place}, align {dtype.itemsize}")
        text.line(f"store {kind} {start}, ptr {states[r, c]}")

    def step(k: str) -> None:
        right = []
        for c in range(width):
            place = _at(writer, item.b, k, 0, column, c * lanes)
            right.append(text.let(f"load {kind}, ptr {place}, align {dtype.itemsize}"))
        for r in range(height):
            place = _at(writer, item.a, row, r, k, 0)
            one = text.let(f"load {scalar_type(dtype)}, ptr {place}, align {dtype.itemsize}")
            left = splat(text, Value(one, dtype), lanes)
            for c in range(width):
                old = text.let(f"load {kind}, ptr {states[r, c]}")
                new = _added(writer, kind, left, right[c], old)
                text.line(f"store {kind} {new}, ptr {states[r, c]}")

    writer.loop("0", str(item.a.shape[1]), "1", step)
    for r, c in tiles:
        place = _at(writer, item.into, row, r, column, c * lanes)
        made = text.let(f"load {kind}, ptr {states[r, c]}")
        text.line(f"store {kind} {made}, ptr {place}, align {dtype.itemsize}")


def _added(writer: BlockText, kind: str, left: Value, right: str, old: str) -> str:
    text = writer.text
    if left.dtype.category != FLOATING:
        return text.let(f"add {kind} {text.let(f'mul {left.typed}, {right}')}, {old}")
    suffix = f"v{left.lanes}f{8 * left.dtype.itemsize}" if left.lanes > 1 \
        else f"f{8 * left.dtype.itemsize}"
    return text.call(f"llvm.fma.{suffix}", kind, left.typed, f"{kind} {right}", f"{kind} {old}")


def _at(writer: BlockText, place: Place, row: str, r: int, column: str, c: int) -> str:
    """The address of an element of a place: its row and column, and how far on from there."""
    text = writer.text
    line = text.let(f"mul i64 {text.let(f'add i64 {row}, {r}')}, {place.shape[1]}")
    offset = text.let(f"add i64 {line}, {text.let(f'add i64 {column}, {c}')}")
    return text.let(f"getelementptr {scalar_type(place.dtype)}, ptr "
                    f"{writer.place(place.number)}, i64 {offset}")
