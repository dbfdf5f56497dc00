"""The types of the language: numbers, and pointers to them."""

from __future__ import annotations

from typing import Any

from ..core import dtypes
from ..core.dtypes import FLOATING, DType

_SHORT = {"bool": "int1", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32",
          "float64": "fp64"}


class dtype:  # noqa: N801 - the language's own name
    """A type of numbers; `core` is the engine's dtype. Equal types are one object.

    >>> from yesca.kernels import language as tl
    >>> tl.float16, tl.float16.primitive_bitwidth, tl.pointer_type(tl.int8)
    (fp16, 16, pointer<int8>)
    """

    __slots__ = ("core", "name")

    def __init__(self, core: DType) -> None:
        self.core, self.name = core, _SHORT.get(core.name, core.name)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    @property
    def scalar(self) -> dtype:
        return self

    @property
    def primitive_bitwidth(self) -> int:
        return 1 if self.core is dtypes.bool_ else 8 * self.core.itemsize

    @property
    def itemsize(self) -> int:
        return self.core.itemsize

    def is_floating(self) -> bool:
        return self.core.category == FLOATING

    def is_int(self) -> bool:
        return not self.is_floating()

    def is_ptr(self) -> bool:
        return False

    def is_fp16(self) -> bool:
        return self is float16

    def is_bf16(self) -> bool:
        return self is bfloat16

    def is_fp32(self) -> bool:
        return self is float32

    def is_fp64(self) -> bool:
        return self is float64

    def is_int_signed(self) -> bool:
        return self.is_int() and self.core.is_signed


class pointer_type:  # noqa: N801 - the language's own name
    """The type of a pointer to elements of a type."""

    __slots__ = ("element_ty",)

    def __init__(self, element_ty: dtype) -> None:
        self.element_ty = element_ty

    def __repr__(self) -> str:
        return f"pointer<{self.element_ty}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, pointer_type) and other.element_ty is self.element_ty

    def __hash__(self) -> int:
        return hash((pointer_type, self.element_ty))

    @property
    def scalar(self) -> pointer_type:
        return self

    def is_ptr(self) -> bool:
        return True

    def is_floating(self) -> bool:
        return False

    is_int = is_floating


_OF: dict[DType, dtype] = {}


def of(core: Any) -> dtype:
    """The language's type of an engine's dtype, or a type itself.

    Raises TypeError for what the language has no numbers of.
    """
    if isinstance(core, dtype):
        return core
    found = _OF.get(core)
    if found is None:
        what = core if isinstance(core, DType) else type(core).__name__
        raise TypeError(f"[kernel] no type of the language: {what}; one of "
                        f"{', '.join(t.name for t in _OF.values())}")
    return found


def _make(core: DType) -> dtype:
    made = _OF[core] = dtype(core)
    return made


int1 = _make(dtypes.bool_)
int8, int16, int32, int64 = map(_make, (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64))
uint8, uint16, uint32, uint64 = map(
    _make, (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64))
float16, bfloat16, float32, float64 = map(
    _make, (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64))


def of_number(value: Any) -> dtype:
    """The type that a Python number has by itself."""
    if isinstance(value, bool):
        return int1
    if isinstance(value, float):
        return float32
    if -(1 << 31) <= value < 1 << 31:
        return int32
    if 0 <= value < 1 << 32:
        return uint32
    if -(1 << 63) <= value < 1 << 63:
        return int64
    if 0 <= value < 1 << 64:
        return uint64
    raise ValueError(f"[kernel] {value} has more than 64 bits")


def promoted(a: Any, b: Any, divides: bool = False) -> dtype:
    """The type in which two operands meet; a Python number is of the type beside it if it can.

    divides: for a quotient, which half types give in float32
    """
    if isinstance(a, dtype) != isinstance(b, dtype):
        number, kind = (a, b) if isinstance(b, dtype) else (b, a)
        if _kind(of_number(number)) <= _kind(kind):
            return float32 if divides and kind in (float16, bfloat16) else kind
        return float32
    a, b = (t if isinstance(t, dtype) else of_number(t) for t in (a, b))
    for wide in (float64, float32):
        if wide in (a, b):
            return wide
    if float16 in (a, b) or bfloat16 in (a, b):
        mixed = {float16, bfloat16} <= {a, b}
        return float32 if divides or mixed else float16 if float16 in (a, b) else bfloat16
    if a is b:
        return a
    ranks = [(t.primitive_bitwidth, not t.core.is_signed) for t in (a, b)]
    return a if ranks[0] >= ranks[1] else b


def _kind(kind: dtype) -> int:
    return kind.core.category
