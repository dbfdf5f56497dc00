"""The types of the native subset, and what they mean when CPython runs the same function.

A native function is also an ordinary Python function: calling a type converts (and wraps, as the
machine does), so tests can run one body both ways. Pointers are plain integers in Python.
"""

import ctypes
import struct
import types
from dataclasses import dataclass


class NativeError(Exception):
    """A function does not belong to the native subset; the message names file and line."""


@dataclass(frozen=True)
class NativeType:
    """A machine type: `kind` is "int", "uint", "float", "pointer", "bool" or "void"."""

    name: str
    kind: str
    bits: int
    llvm: str

    @property
    def nbytes(self) -> int:
        return self.bits // 8

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_pointer(self) -> bool:
        return self.kind == "pointer"

    @property
    def signed(self) -> bool:
        return self.kind == "int"

    @property
    def argument(self) -> str:
        """The type as a parameter: C expects small integers extended to 32 bits."""
        return f"{self.llvm} {self._extension}".rstrip()

    @property
    def returned(self) -> str:
        """The type as a result."""
        return f"{self._extension} {self.llvm}".lstrip()

    @property
    def _extension(self) -> str:
        if self.kind in ("pointer", "float", "void") or self.bits >= 32:
            return ""
        return "signext" if self.signed else "zeroext"

    def __repr__(self) -> str:
        return self.name

    def __call__(self, value=0):
        """Convert as the machine does: integers wrap, floats round, bool_ tests."""
        if self.kind == "bool":
            return bool(value)
        if self.is_float:
            if self.bits == 16:
                raise NativeError(f"{self.name} has no meaning under CPython")
            return float(value) if self.bits == 64 else _round_to_float32(float(value))
        value = int(value or 0) & ((1 << self.bits) - 1)
        if self.signed and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value


def _round_to_float32(value: float) -> float:
    return ctypes.c_float(value).value


i64 = NativeType("i64", "int", 64, "i64")
i32 = NativeType("i32", "int", 32, "i32")
i16 = NativeType("i16", "int", 16, "i16")
i8 = NativeType("i8", "int", 8, "i8")
u64 = NativeType("u64", "uint", 64, "i64")
u32 = NativeType("u32", "uint", 32, "i32")
u16 = NativeType("u16", "uint", 16, "i16")
u8 = NativeType("u8", "uint", 8, "i8")
f64 = NativeType("f64", "float", 64, "double")
f32 = NativeType("f32", "float", 32, "float")
f16 = NativeType("f16", "float", 16, "half")  # f16 and bf16 have no meaning under CPython
bf16 = NativeType("bf16", "float", 16, "bfloat")
ptr = NativeType("ptr", "pointer", 64, "ptr")
obj = NativeType("obj", "pointer", 64, "ptr")  # a PyObject*: references are counted by hand
bool_ = NativeType("bool_", "bool", 1, "i1")
void = NativeType("void", "void", 0, "void")

CTYPES = {
    i64: ctypes.c_int64, i32: ctypes.c_int32, i16: ctypes.c_int16, i8: ctypes.c_int8,
    u64: ctypes.c_uint64, u32: ctypes.c_uint32, u16: ctypes.c_uint16, u8: ctypes.c_uint8,
    f64: ctypes.c_double, f32: ctypes.c_float, ptr: ctypes.c_void_p, obj: ctypes.py_object,
    bool_: ctypes.c_bool, void: None,
}  # fmt: skip


def members(thing) -> dict:
    """The names inside a module, class or namespace that native code may use as `thing.name`."""
    if isinstance(thing, (types.ModuleType, types.SimpleNamespace, type)):
        return vars(thing)
    return {}


@dataclass(frozen=True)
class Value:
    """An SSA value: its type and its LLVM text (`%t5` or a constant)."""

    type: NativeType
    text: str


@dataclass(frozen=True)
class Literal:
    """A compile-time int, float, bool or None that takes the type its surroundings ask for."""

    value: object

    @property
    def default_type(self) -> NativeType:
        if isinstance(self.value, bool):
            return bool_
        if isinstance(self.value, int):
            return i64
        return f64 if isinstance(self.value, float) else ptr


def literal_text(value, type_: NativeType) -> str | None:
    """The LLVM constant for a Python number in a type; None when it does not fit the type."""
    if type_.is_pointer:
        return "null" if value is None or (value == 0 and not isinstance(value, bool)) else None
    if value is None:
        return None
    if type_.kind == "bool":
        return ("true" if value else "false") if isinstance(value, (bool, int)) else None
    if type_.is_float:
        return float_text(float(value), type_)
    if not isinstance(value, int):
        return None
    low = -(1 << (type_.bits - 1))  # unsigned types take negative constants as bit patterns
    return str(int(value)) if low <= value < (1 << type_.bits) else None


def float_text(value: float, type_: NativeType) -> str:
    """LLVM's exact spelling: the bits of the double (of the rounded value for float32)."""
    if type_ is f32:
        value = _round_to_float32(value)
    return "0x" + struct.pack(">d", value).hex().upper()
