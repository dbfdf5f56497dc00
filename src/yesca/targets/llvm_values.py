"""Scalar operations of the loop IR as LLVM text, for one lane or a vector of lanes.

A `Value` is an LLVM operand with its dtype and number of lanes. An operation on mixed lanes
splats the scalar operand, so whatever does not vary along the lanes is computed once.
Booleans are i1 as values and a byte in memory; bfloat16 values are their 16 bits, floats of 8 bits
their byte (`passes.expand_math` has left only moves of them).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ..core.dtypes import (
    BOOL, FLOATING, SMALL_FLOATS, DType, bfloat16, bool_, float16, float32, float64, int32, int64,
    uint64,
)
from ..loops.ir import Expr

_FLOAT_TYPES = {float16: "half", float32: "float", float64: "double", bfloat16: "i16",
                **dict.fromkeys(SMALL_FLOATS, "i8")}
_INTRINSIC_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
_COMPARE = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne"}
_BITS = {"and": "and", "or": "or", "xor": "xor", "shl": "shl"}


@dataclass(frozen=True)
class Value:
    """An LLVM operand: its text, dtype and lanes (1 = scalar)."""

    text: str
    dtype: DType
    lanes: int = 1

    @property
    def type(self) -> str:
        return vector_type(scalar_type(self.dtype), self.lanes)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"


def scalar_type(dtype: DType) -> str:
    """LLVM type of a value (not of its place in memory: that is `memory_type`)."""
    if dtype.category == FLOATING:
        return _FLOAT_TYPES[dtype]
    return "i1" if dtype is bool_ else f"i{dtype.itemsize * 8}"


def memory_type(dtype: DType) -> str:
    """LLVM type of an element in memory."""
    return "i8" if dtype is bool_ else scalar_type(dtype)


def vector_type(kind: str, lanes: int) -> str:
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


def literal(value: object, dtype: DType) -> str:
    """A constant as LLVM writes it."""
    if dtype.category == FLOATING:
        number = float(value)  # type: ignore[arg-type]
        if dtype is float32:
            try:
                number = struct.unpack("f", struct.pack("f", number))[0]
            except OverflowError:
                number = float("inf") if number > 0 else float("-inf")
        if dtype is float16:
            return f"0xH{struct.unpack('H', struct.pack('e', number))[0]:04X}"
        if dtype is bfloat16:
            bits = struct.unpack("I", struct.pack("f", number))[0]
            return str((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)
        return f"0x{struct.unpack('Q', struct.pack('d', number))[0]:016X}"
    if dtype is bool_:
        return "true" if value else "false"
    bits = dtype.itemsize * 8
    wrapped = int(value) & ((1 << bits) - 1)  # type: ignore[call-overload]
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) and dtype.is_signed else wrapped)


class Text:
    """Lines of a function body, fresh names, and the declarations that the lines need."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.count = 0

    def fresh(self, stem: str = "v") -> str:
        self.count += 1
        return f"%{stem}{self.count}"

    def label(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def block(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def let(self, text: str, stem: str = "v") -> str:
        name = self.fresh(stem)
        self.line(f"{name} = {text}")
        return name

    def call(self, intrinsic: str, result: str, *typed: str) -> str:
        kinds = ", ".join(t.rsplit(" ", 1)[0] for t in typed)
        self.declarations.add(f"declare {result} @{intrinsic}({kinds})")
        return self.let(f"call {result} @{intrinsic}({', '.join(typed)})")


def splat(text: Text, value: Value, lanes: int) -> Value:
    """The value in every lane."""
    if value.lanes == lanes:
        return value
    kind = scalar_type(value.dtype)
    vector = f"<{lanes} x {kind}>"
    one = text.let(f"insertelement {vector} poison, {kind} {value.text}, i32 0")
    made = text.let(f"shufflevector {vector} {one}, {vector} poison, "
                    f"<{lanes} x i32> zeroinitializer")
    return Value(made, value.dtype, lanes)


def operation(text: Text, node: Expr, args: list[Value]) -> Value:
    """Emit one operation of the IR."""
    lanes = max(a.lanes for a in args)
    args = [splat(text, a, lanes) for a in args]
    if node.op == "cast":
        return _cast(text, args[0], node.dtype)
    if node.op == "bitcast":
        kind = vector_type(scalar_type(node.dtype), lanes)
        if kind == args[0].type:
            return Value(args[0].text, node.dtype, lanes)
        return Value(text.let(f"bitcast {args[0].typed} to {kind}"), node.dtype, lanes)
    if node.op == "where":
        condition, then, other = args
        made = text.let(f"select {condition.typed}, {then.typed}, {other.typed}")
        return Value(made, node.dtype, lanes)
    if args[0].dtype is bfloat16:  # computed in float32, rounded once
        wide = [_from_bfloat16(text, a) for a in args]
        made = _float_operation(text, node.op, wide)
        if node.dtype is bool_:
            return Value(made, bool_, lanes)
        return _to_bfloat16(text, Value(made, float32, lanes))
    floating = args[0].dtype.category == FLOATING
    name = _float_operation(text, node.op, args) if floating \
        else _integer_operation(text, node.op, args)
    return Value(name, node.dtype, lanes)


def _intrinsic(text: Text, name: str, args: list[Value]) -> str:
    kind = scalar_type(args[0].dtype)
    suffix = _INTRINSIC_SUFFIX.get(kind, kind)
    lanes = args[0].lanes
    full = f"llvm.{name}.{suffix}" if lanes == 1 else f"llvm.{name}.v{lanes}{suffix}"
    return text.call(full, args[0].type, *(a.typed for a in args))


_FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_FLOAT_INTRINSICS = {
    "abs": "fabs", "fma": "fma", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "round": "rint", "copysign": "copysign",
}


def _float_operation(text: Text, op: str, args: list[Value]) -> str:
    a = args[0]
    rest = ", ".join([a.typed] + [x.text for x in args[1:]])
    if op in _FLOAT_BINARY:
        return text.let(f"{_FLOAT_BINARY[op]} {rest}")
    if op == "neg":
        return text.let(f"fneg {a.typed}")
    if op in _COMPARE:
        flag = "une" if op == "ne" else "o" + _COMPARE[op]
        return text.let(f"fcmp {flag} {rest}")
    if op in _FLOAT_INTRINSICS:
        return _intrinsic(text, _FLOAT_INTRINSICS[op], args)
    if op in ("minimum", "maximum"):
        flag = "olt" if op == "minimum" else "ogt"
        kind = vector_type("i1", a.lanes)
        better = text.let(f"fcmp {flag} {rest}")
        picked = text.let(f"select {kind} {better}, {a.typed}, {args[1].typed}")
        nan = text.let(f"fcmp uno {a.typed}, {a.text}")
        return text.let(f"select {kind} {nan}, {a.typed}, {a.type} {picked}")
    raise NotImplementedError(f"[llvm] no float operation {op!r}; expand it first")


def _integer_operation(text: Text, op: str, args: list[Value]) -> str:
    a = args[0]
    signed = a.dtype.is_signed
    rest = ", ".join([a.typed] + [x.text for x in args[1:]])
    if a.dtype is bool_ and op in ("add", "mul", "maximum", "minimum"):
        return text.let(f"{'or' if op in ('add', 'maximum') else 'and'} {rest}")
    if op in ("add", "sub", "mul") or op in _BITS:
        return text.let(f"{_BITS.get(op, op)} {rest}")
    if op == "shr":
        return text.let(f"{'ashr' if signed else 'lshr'} {rest}")
    if op == "not":
        ones = splat(text, Value(literal(-1 if a.dtype is not bool_ else 1, a.dtype), a.dtype),
                     a.lanes)
        return text.let(f"xor {a.typed}, {ones.text}")
    if op == "neg":
        zero = "zeroinitializer" if a.lanes > 1 else "0"
        return text.let(f"sub {a.type} {zero}, {a.text}")
    if op in _COMPARE:
        prefix = "" if op in ("eq", "ne") else "s" if signed and a.dtype is not bool_ else "u"
        return text.let(f"icmp {prefix}{_COMPARE[op]} {rest}")
    if op in ("minimum", "maximum"):
        return _intrinsic(text, ("s" if signed else "u") + op[:3], args)
    if op == "abs":
        if not signed:
            return a.text
        return text.let(f"call {a.type} {_abs_name(text, a)}({a.typed}, i1 false)")
    if op == "fma":
        return text.let(f"add {a.type} {text.let(f'mul {a.typed}, {args[1].text}')}, "
                        f"{args[2].text}")
    if op in ("idiv", "irem"):
        return _divide(text, op, a, args[1], signed)
    raise NotImplementedError(f"[llvm] no integer operation {op!r}; expand it first")


def _abs_name(text: Text, a: Value) -> str:
    kind = scalar_type(a.dtype)
    name = f"llvm.abs.{kind}" if a.lanes == 1 else f"llvm.abs.v{a.lanes}{kind}"
    text.declarations.add(f"declare {a.type} @{name}({a.type}, i1)")
    return f"@{name}"


def _divide(text: Text, op: str, a: Value, b: Value, signed: bool) -> str:
    """Division that cannot trap: x / 0 gives 0's replacement (checked above), MIN / -1 wraps."""
    one = splat(text, Value("1", a.dtype), a.lanes)
    zero = "zeroinitializer" if a.lanes > 1 else "0"
    kind = vector_type("i1", a.lanes)
    unsafe = text.let(f"icmp eq {b.typed}, {zero}")
    if signed:
        minus = splat(text, Value("-1", a.dtype), a.lanes)
        negative = text.let(f"icmp eq {b.typed}, {minus.text}")
        unsafe = text.let(f"or {kind} {unsafe}, {negative}")
    safe = text.let(f"select {kind} {unsafe}, {one.typed}, {b.typed}")
    prefix = "s" if signed else "u"
    if op == "irem":
        made = text.let(f"{prefix}rem {a.typed}, {safe}")
        return made
    made = text.let(f"{prefix}div {a.typed}, {safe}")
    if not signed:
        return made
    flipped = text.let(f"sub {a.type} {zero}, {a.text}")
    return text.let(f"select {kind} {negative}, {a.type} {flipped}, {a.type} {made}")


def _cast(text: Text, a: Value, to: DType) -> Value:
    source = a.dtype
    if source is to:
        return a
    if source is bfloat16:
        return _cast(text, _from_bfloat16(text, a), to)
    if source is float16 and to is not float32:
        return _cast(text, _cast(text, a, float32), to)
    if to is bfloat16:
        return _to_bfloat16(text, _cast(text, a, float32))
    if to is float16 and source is not float32:
        return _cast(text, _cast(text, a, float32), float16)
    kind = vector_type(scalar_type(to), a.lanes)
    zero = "zeroinitializer" if a.lanes > 1 else \
        ("0.0" if source.category == FLOATING else "0")
    if to is bool_:
        test = "fcmp une" if source.category == FLOATING else "icmp ne"
        return Value(text.let(f"{test} {a.typed}, {zero}"), to, a.lanes)
    if source.category == FLOATING:
        if to.category != FLOATING:
            return _float_to_integer(text, a, to)
        word = "fpext" if to.itemsize > source.itemsize else "fptrunc"
    elif to.category == FLOATING:
        word = "sitofp" if source.is_signed and source is not bool_ else "uitofp"
    elif source.category == BOOL:
        word = "zext"
    elif to.itemsize == source.itemsize:
        return Value(a.text, to, a.lanes)
    elif to.itemsize < source.itemsize:
        word = "trunc"
    else:
        word = "sext" if source.is_signed else "zext"
    return Value(text.let(f"{word} {a.typed} to {kind}"), to, a.lanes)


def _float_to_integer(text: Text, a: Value, to: DType) -> Value:
    """Truncation as x86 does it: a value out of range gives the lowest integer.

    Small integers are the low bits of 32.
    """
    middle = int32 if to is int32 or to.itemsize <= 2 else int64
    bound = 2.0 ** (31 if middle is int32 else 63)
    limit = splat(text, Value(literal(bound, a.dtype), a.dtype), a.lanes)
    size = _intrinsic(text, "fabs", [a])
    flag = vector_type("i1", a.lanes)
    fits = text.let(f"fcmp olt {a.type} {size}, {limit.text}")
    zero = splat(text, Value(literal(0.0, a.dtype), a.dtype), a.lanes)
    safe = text.let(f"select {flag} {fits}, {a.typed}, {zero.typed}")
    kind = vector_type(scalar_type(middle), a.lanes)
    number = text.let(f"fptosi {a.type} {safe} to {kind}")
    lowest = splat(text, Value(literal(-int(bound), middle), middle), a.lanes)
    made = Value(text.let(f"select {flag} {fits}, {kind} {number}, {lowest.typed}"), middle,
                 a.lanes)
    if to is uint64:
        return _float_to_uint64(text, a, made)
    return _cast(text, made, to)


def _float_to_uint64(text: Text, a: Value, low: Value) -> Value:
    """Values from 2^63 on need their own conversion."""
    half = splat(text, Value(literal(2.0 ** 63, a.dtype), a.dtype), a.lanes)
    flag = vector_type("i1", a.lanes)
    large = text.let(f"fcmp oge {a.typed}, {half.text}")
    shifted = text.let(f"fsub {a.typed}, {half.text}")
    below = splat(text, Value(literal(2.0 ** 63, a.dtype), a.dtype), a.lanes)
    fits = text.let(f"fcmp olt {a.type} {shifted}, {below.text}")
    both = text.let(f"and {flag} {large}, {fits}")
    zero = splat(text, Value(literal(0.0, a.dtype), a.dtype), a.lanes)
    safe = text.let(f"select {flag} {both}, {a.type} {shifted}, {zero.typed}")
    number = text.let(f"fptosi {a.type} {safe} to {low.type}")
    top = splat(text, Value(literal(-(1 << 63), int64), int64), a.lanes)
    high = text.let(f"xor {low.type} {number}, {top.text}")
    none = splat(text, Value("0", int64), a.lanes)
    over = text.let(f"select {flag} {large}, {none.typed}, {low.typed}")
    made = text.let(f"select {flag} {both}, {low.type} {high}, {low.type} {over}")
    return Value(made, uint64, a.lanes)


def _from_bfloat16(text: Text, a: Value) -> Value:
    wide = vector_type("i32", a.lanes)
    bits = text.let(f"zext {a.typed} to {wide}")
    sixteen = splat(text, Value("16", int32), a.lanes)
    moved = text.let(f"shl {wide} {bits}, {sixteen.text}")
    kind = vector_type("float", a.lanes)
    return Value(text.let(f"bitcast {wide} {moved} to {kind}"), float32, a.lanes)


def _to_bfloat16(text: Text, a: Value) -> Value:
    """Round to nearest, ties to even; any NaN becomes the quiet one."""
    wide = vector_type("i32", a.lanes)
    narrow = vector_type("i16", a.lanes)

    def number(value: int) -> str:
        return splat(text, Value(str(value), int32), a.lanes).text

    bits = text.let(f"bitcast {a.typed} to {wide}")
    odd = text.let(f"and {wide} {text.let(f'lshr {wide} {bits}, {number(16)}')}, {number(1)}")
    up = text.let(f"add {wide} {bits}, {text.let(f'add {wide} {odd}, {number(0x7FFF)}')}")
    top = text.let(f"lshr {wide} {up}, {number(16)}")
    nan = text.let(f"fcmp uno {a.typed}, {a.text}")
    flag = vector_type("i1", a.lanes)
    picked = text.let(f"select {flag} {nan}, {wide} {number(0x7FC0)}, {wide} {top}")
    return Value(text.let(f"trunc {wide} {picked} to {narrow}"), bfloat16, a.lanes)


