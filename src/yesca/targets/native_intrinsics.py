"""The operations of the native subset that are not Python syntax.

Each intrinsic says how it is emitted and, where that makes sense, what it does when CPython runs
the function. Memory is addressed as pointer plus a byte offset. All atomics are sequentially
consistent.
"""

import ctypes
import math
import platform
from dataclasses import dataclass

from .native_types import (
    CTYPES, Literal, NativeError, NativeType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64,
    obj, ptr, u8, u16, u32, u64, void,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """`emit(emitter, arguments)` returns a Value or None; `python` runs under CPython."""

    name: str
    emit: object
    python: object = None

    def __call__(self, *arguments):
        if self.python is None:
            raise NativeError(f"{self.name} has no meaning under CPython")
        return self.python(*arguments)


@dataclass(frozen=True)
class _Arguments:
    """The arguments of one intrinsic call, converted on request."""

    emitter: object
    values: tuple
    name: str

    def take(self, *types, optional: int = 0):
        least = len(types) - optional
        if not least <= len(self.values) <= len(types):
            self.emitter.fail(f"{self.name} takes {len(types)} arguments")
        padded = (*self.values, *[Literal(0)] * (len(types) - len(self.values)))
        return [self.emitter.coerce(v, t) for v, t in zip(padded, types, strict=True)]


def _intrinsic(name, types, body, python=None, optional=0):
    def emit(emitter, arguments):
        taken = _Arguments(emitter, tuple(arguments), name).take(*types, optional=optional)
        return body(emitter, *taken)

    return Intrinsic(name, emit, python)


# Memory: load_T(p, offset=0), store_T(p, offset, value).


def emit_load(emitter, type_, pointer, offset):
    place = emitter.offset(pointer, offset)
    return emitter.op(type_, f"load {type_.llvm}, ptr {place.text}, align {type_.nbytes}")


def emit_store(emitter, type_, pointer, offset, value):
    place = emitter.offset(pointer, offset)
    emitter.line(f"store {type_.llvm} {value.text}, ptr {place.text}, align {type_.nbytes}")


def _cell(type_, address):
    # Objects are loaded and stored as addresses under CPython.
    ctype = ctypes.c_void_p if type_.is_pointer else CTYPES[type_]
    return ctype.from_address(address)


def _python_load(type_, pointer, offset=0):
    return _cell(type_, pointer + offset).value or 0


def _python_store(type_, pointer, offset, value):
    _cell(type_, pointer + offset).value = type_(value)


def _memory(type_):
    load_one = _intrinsic(
        f"load_{type_}", (ptr, i64),
        lambda e, p, o: emit_load(e, type_, p, o),
        lambda p, o=0: _python_load(type_, p, o), optional=1,
    )  # fmt: skip
    store_one = _intrinsic(
        f"store_{type_}", (ptr, i64, type_),
        lambda e, p, o, v: emit_store(e, type_, p, o, v),
        lambda p, o, v: _python_store(type_, p, o, v),
    )  # fmt: skip
    return load_one, store_one


load_i64, store_i64 = _memory(i64)
load_i32, store_i32 = _memory(i32)
load_i16, store_i16 = _memory(i16)
load_i8, store_i8 = _memory(i8)
load_u64, store_u64 = _memory(u64)
load_u32, store_u32 = _memory(u32)
load_u16, store_u16 = _memory(u16)
load_u8, store_u8 = _memory(u8)
load_f64, store_f64 = _memory(f64)
load_f32, store_f32 = _memory(f32)
load_ptr, store_ptr = _memory(ptr)
load_obj, store_obj = _memory(obj)


def _generic_type(emitter, arguments, name) -> NativeType:
    if not arguments or not isinstance(arguments[0], NativeType):
        emitter.fail(f"{name} takes a type first, as in {name}(f32, p, offset)")
    return arguments[0]


def _emit_generic_load(emitter, arguments):
    type_ = _generic_type(emitter, arguments, "load")
    taken = _Arguments(emitter, tuple(arguments[1:]), "load").take(ptr, i64, optional=1)
    return emit_load(emitter, type_, *taken)


def _emit_generic_store(emitter, arguments):
    type_ = _generic_type(emitter, arguments, "store")
    taken = _Arguments(emitter, tuple(arguments[1:]), "store").take(ptr, i64, type_)
    emit_store(emitter, type_, *taken)


load = Intrinsic("load", _emit_generic_load, _python_load)
store = Intrinsic("store", _emit_generic_store, _python_store)


# Atomics: the value before the operation is returned.


def _emit_atomic_load(emitter, type_, pointer, offset):
    place = emitter.offset(pointer, offset)
    order = f"seq_cst, align {type_.nbytes}"
    return emitter.op(type_, f"load atomic {type_.llvm}, ptr {place.text} {order}")


def _emit_atomic_store(emitter, type_, pointer, offset, value):
    place = emitter.offset(pointer, offset)
    order = f"seq_cst, align {type_.nbytes}"
    emitter.line(f"store atomic {type_.llvm} {value.text}, ptr {place.text} {order}")


def _emit_cas(emitter, type_, pointer, offset, old, new):
    place = emitter.offset(pointer, offset)
    kind = type_.llvm
    pair = emitter.op(
        type_,
        f"cmpxchg ptr {place.text}, {kind} {old.text}, {kind} {new.text} seq_cst seq_cst",
    )
    return emitter.op(type_, f"extractvalue {{{kind}, i1}} {pair.text}, 0")


def _emit_update(operation):
    def emit(emitter, type_, pointer, offset, value):
        place = emitter.offset(pointer, offset)
        return emitter.op(
            type_, f"atomicrmw {operation} ptr {place.text}, {type_.llvm} {value.text} seq_cst"
        )

    return emit


def _python_cas(type_, pointer, offset, old, new):
    found = _python_load(type_, pointer, offset)
    if found == type_(old):
        _python_store(type_, pointer, offset, new)
    return found


def _python_update(change):
    def update(type_, pointer, offset, value):
        found = _python_load(type_, pointer, offset)
        _python_store(type_, pointer, offset, change(found, value))
        return found

    return update


_UPDATES = {
    "add": ("add", lambda a, b: a + b),
    "sub": ("sub", lambda a, b: a - b),
    "swap": ("xchg", lambda a, b: b),
    "or": ("or", lambda a, b: a | b),
    "and": ("and", lambda a, b: a & b),
}


def _atomic(type_, name, types, emit, python, optional=0):
    return _intrinsic(
        f"atomic_{name}_{type_}", types,
        lambda e, *arguments: emit(e, type_, *arguments),
        lambda *arguments: python(type_, *arguments), optional=optional,
    )  # fmt: skip


def _atomics(type_):
    basic = [
        _atomic(type_, "load", (ptr, i64), _emit_atomic_load, _python_load, optional=1),
        _atomic(type_, "store", (ptr, i64, type_), _emit_atomic_store, _python_store),
        _atomic(type_, "cas", (ptr, i64, type_, type_), _emit_cas, _python_cas),
    ]
    return basic + [
        _atomic(type_, name, (ptr, i64, type_), _emit_update(word), _python_update(change))
        for name, (word, change) in _UPDATES.items()
        if not (type_.is_pointer and name != "swap")
    ]


(
    atomic_load_i64, atomic_store_i64, atomic_cas_i64, atomic_add_i64, atomic_sub_i64,
    atomic_swap_i64, atomic_or_i64, atomic_and_i64,
) = _atomics(i64)  # fmt: skip
(
    atomic_load_i32, atomic_store_i32, atomic_cas_i32, atomic_add_i32, atomic_sub_i32,
    atomic_swap_i32, atomic_or_i32, atomic_and_i32,
) = _atomics(i32)  # fmt: skip
(
    atomic_load_u64, atomic_store_u64, atomic_cas_u64, atomic_add_u64, atomic_sub_u64,
    atomic_swap_u64, atomic_or_u64, atomic_and_u64,
) = _atomics(u64)  # fmt: skip
(
    atomic_load_u32, atomic_store_u32, atomic_cas_u32, atomic_add_u32, atomic_sub_u32,
    atomic_swap_u32, atomic_or_u32, atomic_and_u32,
) = _atomics(u32)  # fmt: skip
atomic_load_ptr, atomic_store_ptr, atomic_cas_ptr, atomic_swap_ptr = _atomics(ptr)


# Indirect calls: call_T(function_pointer, ...); argument types are those of the expressions.


def _indirect(type_):
    def emit(emitter, arguments):
        if not arguments:
            emitter.fail(f"call_{type_} takes a function pointer first")
        target = emitter.coerce(arguments[0], ptr)
        values = [emitter.settle(value) for value in arguments[1:]]
        return emitter.call(type_, target.text, values)

    return Intrinsic(f"call_{type_.name.rstrip('_')}", emit)


call_void, call_obj, call_ptr = _indirect(void), _indirect(obj), _indirect(ptr)
call_i64, call_i32, call_u64, call_u32 = (_indirect(t) for t in (i64, i32, u64, u32))
call_f64, call_f32, call_bool = (_indirect(t) for t in (f64, f32, bool_))


# Blocks of memory, hints, the stack.


def _block(name, second, llvm_name):
    def body(emitter, target, source, count):
        signature = f"void @{llvm_name}"
        emitter.declare(llvm_name, f"declare {signature}(ptr, {second.llvm}, i64, i1)")
        emitter.line(
            f"call {signature}(ptr {target.text}, {second.llvm} {source.text}, "
            f"i64 {count.text}, i1 false)"
        )

    python = ctypes.memset if second is u8 else ctypes.memmove
    return _intrinsic(name, (ptr, second, i64), body, python)


memcpy = _block("memcpy", ptr, "llvm.memcpy.p0.p0.i64")
memmove = _block("memmove", ptr, "llvm.memmove.p0.p0.i64")
memset = _block("memset", u8, "llvm.memset.p0.i64")


def _emit_pause(emitter):
    if platform.machine().lower() in ("x86_64", "amd64", "i686"):
        emitter.declare("llvm.x86.sse2.pause", "declare void @llvm.x86.sse2.pause()")
        emitter.line("call void @llvm.x86.sse2.pause()")
    elif platform.machine().lower() in ("aarch64", "arm64"):
        emitter.declare("llvm.aarch64.hint", "declare void @llvm.aarch64.hint(i32)")
        emitter.line("call void @llvm.aarch64.hint(i32 1)")


def _expectation(expected):
    def body(emitter, condition):
        emitter.declare("llvm.expect.i1", "declare i1 @llvm.expect.i1(i1, i1)")
        return emitter.op(bool_, f"call i1 @llvm.expect.i1(i1 {condition.text}, i1 {expected})")

    def emit(emitter, arguments):
        return body(emitter, emitter.truth(arguments[0]))

    return emit


pause = _intrinsic("pause", (), _emit_pause, lambda: None)
likely = Intrinsic("likely", _expectation("true"), bool)
unlikely = Intrinsic("unlikely", _expectation("false"), bool)

_python_stacks = []  # never freed: only tests run native functions under CPython


def _emit_stack(emitter, arguments):
    sizes = [value.value for value in arguments if isinstance(value, Literal)]
    if not 1 <= len(sizes) <= 2 or len(sizes) != len(arguments):
        emitter.fail("stack(nbytes, align=16) takes compile-time constants")
    return emitter.stack(sizes[0], sizes[1] if len(sizes) == 2 else 16)


def _python_stack(nbytes, align=16):
    _python_stacks.append(ctypes.create_string_buffer(nbytes + align))
    return -(-ctypes.addressof(_python_stacks[-1]) // align) * align


stack = Intrinsic("stack", _emit_stack, _python_stack)


# Floating point and bits. The first argument decides between float32 and float64.


def _maths(name, llvm_name, count, python):
    def emit(emitter, arguments):
        settled = [emitter.settle(value) for value in arguments if not isinstance(value, Literal)]
        type_ = settled[0].type if settled else f64
        if not type_.is_float:
            emitter.fail(f"{name} takes f32 or f64, not {type_}")
        taken = _Arguments(emitter, tuple(arguments), name).take(*[type_] * count)
        full = f"{llvm_name}.{type_}"
        kinds = ", ".join([type_.llvm] * count)
        emitter.declare(full, f"declare {type_.llvm} @{full}({kinds})")
        return emitter.call(type_, f"@{full}", taken)

    return Intrinsic(name, emit, python)


sqrt = _maths("sqrt", "llvm.sqrt", 1, math.sqrt)
fabs = _maths("fabs", "llvm.fabs", 1, math.fabs)
floor = _maths("floor", "llvm.floor", 1, lambda x: float(math.floor(x)))
ceil = _maths("ceil", "llvm.ceil", 1, lambda x: float(math.ceil(x)))
trunc = _maths("trunc", "llvm.trunc", 1, lambda x: float(math.trunc(x)))
rint = _maths("rint", "llvm.rint", 1, lambda x: float(round(x)))
copysign = _maths("copysign", "llvm.copysign", 2, math.copysign)
fma = _maths("fma", "llvm.fma", 3, lambda a, b, c: a * b + c)


def _count(name, llvm_name, flag, python):
    def emit(emitter, arguments):
        value = emitter.settle(arguments[0])
        kind = value.type.llvm
        full = f"{llvm_name}.{kind}"
        extra = ", i1" if flag else ""
        emitter.declare(full, f"declare {kind} @{full}({kind}{extra})")
        flag_text = ", i1 false" if flag else ""
        return emitter.op(value.type, f"call {kind} @{full}({kind} {value.text}{flag_text})")

    return Intrinsic(name, emit, python)


# Under CPython integers have no width; 64 bits are assumed there.
count_leading_zeros = _count("count_leading_zeros", "llvm.ctlz", True,
                             lambda x: 64 - u64(x).bit_length())  # fmt: skip
count_trailing_zeros = _count("count_trailing_zeros", "llvm.cttz", True,
                              lambda x: ((x & -x).bit_length() - 1) if x else 64)  # fmt: skip
count_ones = _count("count_ones", "llvm.ctpop", False, lambda x: u64(x).bit_count())


def _bitcast(name, source, target):
    def body(emitter, value):
        return emitter.op(target, f"bitcast {source.llvm} {value.text} to {target.llvm}")

    def python(value):
        cell = CTYPES[source](value)
        return CTYPES[target].from_buffer(cell).value

    return _intrinsic(name, (source,), body, python)


bits_of_f32 = _bitcast("bits_of_f32", f32, u32)
bits_of_f64 = _bitcast("bits_of_f64", f64, u64)
f32_from_bits = _bitcast("f32_from_bits", u32, f32)
f64_from_bits = _bitcast("f64_from_bits", u64, f64)
bits_of_f16 = _bitcast("bits_of_f16", f16, u16)
f16_from_bits = _bitcast("f16_from_bits", u16, f16)
bf16_from_bits = _bitcast("bf16_from_bits", u16, bf16)


def _emit_multiply_high(emitter, a, b):
    wide = [emitter.op(u64, f"zext i64 {value.text} to i128").text for value in (a, b)]
    product = emitter.op(u64, f"mul i128 {wide[0]}, {wide[1]}")
    high = emitter.op(u64, f"lshr i128 {product.text}, 64")
    return emitter.op(u64, f"trunc i128 {high.text} to i64")


multiply_high = _intrinsic(
    "multiply_high", (u64, u64), _emit_multiply_high, lambda a, b: (u64(a) * u64(b)) >> 64
)
