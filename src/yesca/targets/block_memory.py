"""Loads and stores of a block's elements: as vectors where neighbours are neighbours in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.dtypes import DType, bool_, int64
from ..loops.blocks import TRUE, Atomic, Write, number_of, split
from ..loops.ir import Expr, cast, const
from .llvm_values import Value, memory_type, splat, vector_type

if TYPE_CHECKING:
    from .block_text import BlockText, Level


class Address:
    """Where the elements of the lanes are: `kind` is "one", "run" (neighbours) or "each"."""

    def __init__(self, writer: BlockText, level: Level, base: str, dtype: DType, offset: Expr
                 ) -> None:
        text, element = writer.text, memory_type(dtype)
        self.kind = "one"
        if level.lanes == 1:
            self.text = _moved(writer, base, element, writer.value(level, offset))
            return
        assert level.axis is not None
        made = split(offset, level.axis)
        if made is not None and number_of(made[1]) == 1:
            self.kind = "run"
            start = _moved(writer, base, element, writer.value(level, made[0]))
            self.text = text.let(f"getelementptr {element}, ptr {start}, i64 {level.index}")
            return
        self.kind = "each"
        place = splat(text, writer.wide(writer.value(level, offset)), level.lanes)
        self.text = text.let(f"getelementptr {element}, ptr {base}, {place.typed}")


def _moved(writer: BlockText, base: str, element: str, offset: Value) -> str:
    return writer.text.let(
        f"getelementptr {element}, ptr {base}, i64 {writer.wide(offset).text}")


def load(writer: BlockText, level: Level, node: Expr) -> Value:
    """Elements of a tensor where the mask holds, others elsewhere."""
    offset, mask, other = node.args
    return _load(writer, level, writer.pointers[node.attr[0]], node.dtype, offset, mask, other)


def load_local(writer: BlockText, level: Level, node: Expr) -> Value:
    """Elements of a place."""
    place = writer.program.places[node.attr]
    return _load(writer, level, writer.place(node.attr), node.dtype,
                 linear(node.args, place.shape), TRUE, const(0, node.dtype))


def linear(index: tuple[Expr, ...], shape: tuple[int, ...]) -> Expr:
    """The offset of an element in row-major order."""
    total, stride = const(0, int64), 1
    for one, extent in zip(index[::-1], shape[::-1], strict=True):
        if extent > 1:
            total = total + cast(one, int64) * stride
        stride *= extent
    return total


def _suffix(dtype: DType, lanes: int) -> str:
    kind = memory_type(dtype)
    return f"v{lanes}" + {"half": "f16", "float": "f32", "double": "f64"}.get(kind, kind)


def _load(writer: BlockText, level: Level, base: str, dtype: DType, offset: Expr, mask: Expr,
          other: Expr) -> Value:
    text, element = writer.text, memory_type(dtype)
    if level.lanes == 1:
        return _load_one(writer, level, base, dtype, offset, mask, other)
    address = Address(writer, level, base, dtype, offset)
    lanes = level.lanes
    kind = vector_type(element, lanes)
    if address.kind == "run" and mask is TRUE:
        raw = text.let(f"load {kind}, ptr {address.text}, align {dtype.itemsize}")
        return _read(writer, raw, dtype, lanes)
    held = splat(text, writer.value(level, mask), lanes)
    rest = in_memory(writer, splat(text, writer.value(level, other), lanes))
    word, pointer = ("load", "ptr") if address.kind == "run" else ("gather", f"<{lanes} x ptr>")
    ending = "p0" if address.kind == "run" else f"v{lanes}p0"
    name = f"llvm.masked.{word}.{_suffix(dtype, lanes)}.{ending}"
    flags = f"<{lanes} x i1>"
    text.declarations.add(f"declare {kind} @{name}({pointer}, i32, {flags}, {kind})")
    raw = text.let(f"call {kind} @{name}({pointer} {address.text}, i32 {dtype.itemsize}, "
                   f"{flags} {held.text}, {kind} {rest})")
    return _read(writer, raw, dtype, lanes)


def _load_one(writer: BlockText, level: Level, base: str, dtype: DType, offset: Expr, mask: Expr,
              other: Expr) -> Value:
    text, element = writer.text, memory_type(dtype)
    place = Address(writer, level, base, dtype, offset).text
    if mask is TRUE:
        return _read(writer, text.let(f"load {element}, ptr {place}, align {dtype.itemsize}"),
                     dtype, 1)
    held, rest = writer.value(level, mask), in_memory(writer, writer.value(level, other))
    found = writer.alloca(element)
    text.line(f"store {element} {rest}, ptr {found}")

    def read() -> None:
        raw = text.let(f"load {element}, ptr {place}, align {dtype.itemsize}")
        text.line(f"store {element} {raw}, ptr {found}")

    writer.branch(held.text, read)
    return _read(writer, text.let(f"load {element}, ptr {found}"), dtype, 1)


def _read(writer: BlockText, raw: str, dtype: DType, lanes: int) -> Value:
    if dtype is bool_:
        kind = vector_type("i8", lanes)
        zero = "zeroinitializer" if lanes > 1 else "0"
        raw = writer.text.let(f"icmp ne {kind} {raw}, {zero}")
    return Value(raw, dtype, lanes)


def in_memory(writer: BlockText, value: Value) -> str:
    """A value as its bytes in memory are."""
    if value.dtype is not bool_:
        return value.text
    return writer.text.let(f"zext {value.typed} to {vector_type('i8', value.lanes)}")


def write(writer: BlockText, level: Level, item: Write) -> None:
    """Store to a tensor where the mask holds."""
    if item.mask.op == "const" and not item.mask.attr:
        return
    put(writer, level, writer.pointers[item.pointer], item.dtype, item.offset,
        writer.value(level, item.value), item.mask)


def put(writer: BlockText, level: Level, base: str, dtype: DType, offset: Expr, value: Value,
        mask: Expr = TRUE) -> None:
    """Store the elements of the lanes."""
    text, element, lanes = writer.text, memory_type(dtype), level.lanes
    address = Address(writer, level, base, dtype, offset)
    kind = vector_type(element, lanes)
    raw = in_memory(writer, splat(text, value, lanes))
    plain = f"store {kind} {raw}, ptr {address.text}, align {dtype.itemsize}"
    if address.kind != "each" and mask is TRUE:
        text.line(plain)
        return
    held = writer.value(level, mask)
    if lanes == 1:
        writer.branch(held.text, lambda: text.line(plain))
        return
    held = splat(text, held, lanes)
    word, pointer = ("store", "ptr") if address.kind == "run" else ("scatter", f"<{lanes} x ptr>")
    ending = "p0" if address.kind == "run" else f"v{lanes}p0"
    name = f"llvm.masked.{word}.{_suffix(dtype, lanes)}.{ending}"
    flags = f"<{lanes} x i1>"
    text.declarations.add(f"declare void @{name}({kind}, {pointer}, i32, {flags})")
    text.line(f"call void @{name}({kind} {raw}, {pointer} {address.text}, i32 {dtype.itemsize}, "
              f"{flags} {held.text})")


_INTEGER = {"add": "add", "and": "and", "or": "or", "xor": "xor", "xchg": "xchg"}


def atomic(writer: BlockText, level: Level, item: Atomic) -> Value:
    """Change one element of memory; gives what was there, 0 where the mask does not hold."""
    text = writer.text
    values = [writer.value(level, v) for v in item.values]
    dtype = values[0].dtype
    element = memory_type(dtype)
    place = Address(writer, level, writer.pointers[item.pointer], dtype, item.offset).text
    held = writer.value(level, item.mask)
    found = writer.alloca(element)
    zero = "0.0" if dtype.is_floating_point else "0"
    text.line(f"store {element} {zero}, ptr {found}")

    def change() -> None:
        if item.kind == "cas":
            old = _exchange(writer, place, values[1], values[0])
        else:
            word = _INTEGER.get(item.kind) or ("" if dtype.is_signed else "u") + item.kind
            if dtype.is_floating_point and item.kind != "xchg":
                word = "f" + item.kind
            old = text.let(f"atomicrmw {word} ptr {place}, {values[0].typed} monotonic")
        text.line(f"store {element} {old}, ptr {found}")

    writer.branch(held.text, change)
    return Value(text.let(f"load {element}, ptr {found}"), dtype)


def _exchange(writer: BlockText, place: str, expected: Value, new: Value) -> str:
    text, bits = writer.text, f"i{8 * new.dtype.itemsize}"
    old, put_there = (v.text if v.type == bits else text.let(f"bitcast {v.typed} to {bits}")
                      for v in (expected, new))
    pair = text.let(f"cmpxchg ptr {place}, {bits} {old}, {bits} {put_there} monotonic monotonic")
    found = text.let(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
    return found if new.type == bits else text.let(f"bitcast {bits} {found} to {new.type}")

