"""`finfo` and `iinfo`: the limits of the element types."""

from __future__ import annotations

from functools import cache

from ..base.naming import public_module
from .dtypes import (
    BOOL, COMPLEX, FLOATING, INTEGRAL, SMALL_FLOATS, DType, as_dtype, get_default_dtype,
)

#: bits of the exponent and of the stored fraction, and decimal digits that survive a round trip
_FORMATS = {
    "float16": (5, 10, 3), "bfloat16": (8, 7, 2), "float32": (8, 23, 6), "float64": (11, 52, 15),
}
#: eps, largest, least, and smallest normal number; PyTorch's eps of float8_e5m2fnuz is half of
#: what the format has
_SMALL = {
    "float8_e4m3fn": (0.125, 448.0, -448.0, 2.0**-6),
    "float8_e5m2": (0.25, 57344.0, -57344.0, 2.0**-14),
    "float8_e4m3fnuz": (0.125, 240.0, -240.0, 2.0**-7),
    "float8_e5m2fnuz": (0.125, 57344.0, -57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 2.0**-127),
}


class finfo:
    """Limits of a floating-point type; of the parts of a complex type.

    >>> import yesca as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")

    def __init__(self, type: DType | None = None) -> None:
        dtype = get_default_dtype() if type is None else as_dtype(type)
        _check_dtype("finfo", dtype)
        if dtype.category not in (FLOATING, COMPLEX):
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        part = dtype.to_real()
        self.bits = part.itemsize * 8
        self.dtype = part.name
        if part in SMALL_FLOATS:
            if part.name not in _SMALL:
                raise TypeError(f"torch.finfo() has no limits of {part}: two numbers share a byte")
            self.eps, self.max, self.min, self.smallest_normal = _SMALL[part.name]
            self.tiny, self.resolution = self.smallest_normal, 1.0
            return
        exponent, fraction, digits = _FORMATS[part.name]
        largest = 2 ** (exponent - 1) - 1
        self.eps = 2.0**-fraction
        self.max = (2.0 - self.eps) * 2.0**largest
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - largest)
        self.resolution = float(f"1e-{digits}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    __hash__ = None  # type: ignore[assignment]


@cache
def limits_of(dtype: DType) -> finfo:
    """`finfo(dtype)`, made once.

    >>> limits_of(get_default_dtype()) is limits_of(get_default_dtype())
    True
    """
    return finfo(dtype)


class iinfo:
    """Limits of an integer type.

    >>> import yesca as torch
    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "max", "min", "dtype")

    def __init__(self, type: DType) -> None:
        type = as_dtype(type)
        _check_dtype("iinfo", type)
        if type.category == BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGRAL:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.dtype = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    __hash__ = None  # type: ignore[assignment]


def _check_dtype(function: str, value: object) -> None:
    if not isinstance(value, DType):
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be torch.dtype, "
            f"not {type(value).__name__}"
        )


finfo.__module__ = iinfo.__module__ = public_module("torch")
