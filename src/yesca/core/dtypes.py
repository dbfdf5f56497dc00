"""Element types and the rules that combine them.

A dtype is one of a fixed set of objects, compared by identity. `promote` is PyTorch's lattice
over them; `result_dtype` adds its rule that a tensor of lower *priority* (0-dim tensor, Python
number) only counts when its category (bool < integer < float < complex) is higher.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..base.errors import argument_error
from ..base.naming import public_module

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)  # categories, in promotion order


class DType:
    """An element type, printed as PyTorch prints it (`torch.float32`)."""

    __slots__ = ("name", "itemsize", "category", "is_signed", "format", "code")

    is_floating_point: bool
    is_complex: bool

    def __init__(self, name: str, itemsize: int, category: int, signed: bool, fmt: str,
                 kernels: bool = True) -> None:
        self.name = name
        self.itemsize = itemsize
        self.category = category
        self.is_signed = signed
        self.format = fmt  # struct / buffer-protocol character, "" where there is none
        self.code = len(ALL) if kernels else -1
        if kernels:
            ALL.append(self)

    @property
    def is_floating_point(self) -> bool:  # type: ignore[no-redef]
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:  # type: ignore[no-redef]
        return self.category == COMPLEX

    def to_real(self) -> DType:
        """The dtype of the real part: complex64 gives float32; a real dtype gives itself."""
        return {"complex64": float32, "complex128": float64, "complex32": float16}.get(
            self.name, self)

    def to_complex(self) -> DType:
        """The complex dtype with parts of this one (float16 has no counterpart here)."""
        if self in SMALL_FLOATS:
            raise RuntimeError(f"Unknown Complex ScalarType for {SCALAR_NAMES[self]}")
        return {"float32": complex64, "float64": complex128}.get(self.name, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


DType.__name__ = DType.__qualname__ = "dtype"
DType.__module__ = public_module("torch")

ALL: list[DType] = []
uint8 = DType("uint8", 1, INTEGRAL, False, "B")
int8 = DType("int8", 1, INTEGRAL, True, "b")
int16 = DType("int16", 2, INTEGRAL, True, "h")
int32 = DType("int32", 4, INTEGRAL, True, "i")
int64 = DType("int64", 8, INTEGRAL, True, "q")
float16 = DType("float16", 2, FLOATING, True, "e")
float32 = DType("float32", 4, FLOATING, True, "f")
float64 = DType("float64", 8, FLOATING, True, "d")
complex64 = DType("complex64", 8, COMPLEX, True, "")
complex128 = DType("complex128", 16, COMPLEX, True, "")
bool_ = DType("bool", 1, BOOL, False, "?")
bfloat16 = DType("bfloat16", 2, FLOATING, True, "")
uint16 = DType("uint16", 2, INTEGRAL, False, "H")
uint32 = DType("uint32", 4, INTEGRAL, False, "I")
uint64 = DType("uint64", 8, INTEGRAL, False, "Q")
float8_e4m3fn = DType("float8_e4m3fn", 1, FLOATING, True, "")
float8_e5m2 = DType("float8_e5m2", 1, FLOATING, True, "")
float8_e4m3fnuz = DType("float8_e4m3fnuz", 1, FLOATING, True, "")
float8_e5m2fnuz = DType("float8_e5m2fnuz", 1, FLOATING, True, "")
float8_e8m0fnu = DType("float8_e8m0fnu", 1, FLOATING, False, "")
float4_e2m1fn_x2 = DType("float4_e2m1fn_x2", 1, FLOATING, True, "")  # two numbers a byte

BY_NAME = {d.name: d for d in ALL}


def _named() -> dict[str, DType]:
    """PyTorch's other dtypes, by name: to compare with and to ask; no tensor has them here."""
    made = [DType("complex32", 4, COMPLEX, True, "", kernels=False)]
    made += [DType(f"{sign}{bits}", 1, INTEGRAL, sign == "int", "", kernels=False)
             for sign in ("int", "uint") for bits in range(1, 8)]
    sizes = {"quint8": 1, "qint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1, "bits1x8": 1,
             "bits2x4": 1, "bits4x2": 1, "bits8": 1, "bits16": 2}
    made += [DType(name, size, INTEGRAL, False, "", kernels=False) for name, size in sizes.items()]
    return {d.name: d for d in made}


#: Dtypes without kernels.
NAMED = _named()
globals().update(NAMED)  # they are found by name, as the others are
#: PyTorch's second names.
ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64, "cfloat": complex64, "cdouble": complex128,
}
_OF_PYTHON: dict[type, DType] = {
    float: float64, int: int64, bool: bool_, complex: complex128}
#: Scalar type names in PyTorch's messages and `type()` strings.
SCALAR_NAMES = {
    uint8: "Byte", int8: "Char", int16: "Short", int32: "Int", int64: "Long", float16: "Half",
    float32: "Float", float64: "Double", complex64: "ComplexFloat",
    complex128: "ComplexDouble", bool_: "Bool", bfloat16: "BFloat16", uint16: "UInt16",
    uint32: "UInt32", uint64: "UInt64",
}
#: Formats of 8 bits and less: for data on its way, with little arithmetic.
SMALL_FLOATS = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu,
                float4_e2m1fn_x2)
#: Floats that are computed with in float32 and rounded to once.
NARROW_FLOATS = (float16, bfloat16, *SMALL_FLOATS)
SCALAR_NAMES.update({d: d.name.capitalize() for d in SMALL_FLOATS})


def _scalar_name(name: str) -> str:
    """ComplexHalf, QUInt8, UInt4, Bits8 ..."""
    if name == "complex32":
        return "ComplexHalf"
    for head, shown in (("quint", "QUInt"), ("qint", "QInt"), ("uint", "UInt")):
        if name.startswith(head):
            return shown + name[len(head):]
    return name.capitalize()


SCALAR_NAMES.update({d: _scalar_name(d.name) for d in NAMED.values()})
_INT_RANK = {int8: 1, int16: 2, int32: 3, int64: 4}
_FLOAT_RANK = {float16: 1, bfloat16: 1, float32: 2, float64: 3, complex64: 2, complex128: 3}
_LARGE_UNSIGNED = (uint16, uint32, uint64)


def as_dtype(dtype: Any) -> Any:
    """`float`, `int`, `bool` and `complex` as the dtypes that they stand for; others as they are.

    >>> as_dtype(float)
    torch.float64
    """
    return _OF_PYTHON.get(dtype, dtype) if isinstance(dtype, type) else dtype


@cache
def promote(a: DType, b: DType) -> DType:
    """The smallest dtype that both convert to, as `torch.promote_types` gives it."""
    if a is b:
        return a
    if a in SMALL_FLOATS or b in SMALL_FLOATS:
        raise RuntimeError("Promotion for Float8 Types is not supported, attempted to promote "
                           f"{SCALAR_NAMES[a]} and {SCALAR_NAMES[b]}")
    if a.category > b.category:
        a, b = b, a
    if a.category == b.category or b in _LARGE_UNSIGNED:
        return _promote_within(a, b)
    if b.category == COMPLEX:
        if a in _LARGE_UNSIGNED:
            raise _unpromoted(a, b)
        return complex128 if a is float64 else b
    return b


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that two dtypes convert to.

    Raises RuntimeError for uint16, uint32 and uint64 beside other integers and complex dtypes,
    and for floats of 8 bits beside any other dtype.

    >>> import yesca as torch
    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    return promote(*_dtypes("promote_types", type1=type1, type2=type2))


def _dtypes(function: str, **given: Any) -> list[DType]:
    """The dtypes among a function's arguments; TypeError for what is none."""
    found = [as_dtype(value) for value in given.values()]
    for position, (name, dtype) in enumerate(zip(given, found, strict=True), start=1):
        if not isinstance(dtype, DType):
            raise argument_error(function, name, position, "torch.dtype", dtype)
    return found


def _unpromoted(a: DType, b: DType) -> RuntimeError:
    return RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to "
                        f"promote {SCALAR_NAMES[a]} and {SCALAR_NAMES[b]}")


def _promote_within(a: DType, b: DType) -> DType:
    if b.category == INTEGRAL:
        if a in _LARGE_UNSIGNED or b in _LARGE_UNSIGNED:
            raise _unpromoted(a, b)
        if uint8 in (a, b):
            other = b if a is uint8 else a
            return int16 if other is int8 else other
        return max(a, b, key=_INT_RANK.__getitem__)
    if {a, b} == {float16, bfloat16}:
        return float32
    return max(a, b, key=_FLOAT_RANK.__getitem__)


_default = [float32]


def get_default_dtype() -> DType:
    """The dtype that Python floats get (`torch.get_default_dtype`)."""
    return _default[0]


def set_default_dtype(dtype: DType) -> None:
    """Set what Python floats become; must be a floating-point dtype."""
    if not isinstance(dtype, DType):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the "
                        f"default type, got {dtype!r}")
    if dtype.category != FLOATING:
        raise TypeError("only floating-point types are supported as the default type, "
                        f"got {dtype}")
    if dtype in SMALL_FLOATS:
        raise TypeError(f"couldn't find storage object {SCALAR_NAMES[dtype]}Storage")
    _default[0] = dtype


def default_for(category: int) -> DType:
    """The dtype that a Python number of this category gets."""
    if category == FLOATING:
        return _default[0]
    if category == COMPLEX:
        return complex128 if _default[0] is float64 else complex64
    return bool_ if category == BOOL else int64


def number_category(value: object) -> int:
    """The category of a Python number; numbers of NumPy count through their Python bases."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INTEGRAL
    return COMPLEX if isinstance(value, complex) else FLOATING


def combine(dimmed: list[DType], zero_dim: list[DType], numbers: list[int]) -> DType:
    """The result dtype of tensors with dimensions, 0-dim tensors and numbers' categories."""
    best: DType | None = None
    for d in dimmed:
        best = d if best is None else promote(best, d)
    low: DType | None = None
    for d in zero_dim:
        low = d if low is None else promote(low, d)
    if low is not None and (best is None or low.category > best.category):
        best = low if best is None else _raised(best, low)
    if numbers:
        category = max(numbers)
        if best is None:
            return default_for(category)
        if category > best.category:
            wide = default_for(category)
            if best in SMALL_FLOATS:
                best.to_complex()  # which says that there is none
            best = wide if best in _LARGE_UNSIGNED else promote(best, wide)
            if category == COMPLEX and best.category == COMPLEX and dimmed + zero_dim:
                best = _complex_for(dimmed + zero_dim)
    assert best is not None
    return best


def _raised(best: DType, low: DType) -> DType:
    """Tensors with dimensions keep the width of their parts when a 0-dim one is complex."""
    if low.category == COMPLEX and best.category == FLOATING:
        return complex128 if best is float64 else complex64
    return promote(best, low)


def _complex_for(dtypes: list[DType]) -> DType:
    widest = dtypes[0]
    for d in dtypes[1:]:
        widest = promote(widest, d)
    if widest is float64:
        return complex128
    return default_for(COMPLEX) if widest.category < FLOATING else complex64


def can_cast(from_: DType, to: DType) -> bool:
    """Whether a result of one dtype may be stored in another (category may not go down)."""
    source, target = _dtypes("can_cast", from_=from_, to=to)
    if source.category > target.category:
        return False
    return not (source.category == INTEGRAL and target.category == BOOL)
