"""Python numbers as the bytes of a dtype."""

from __future__ import annotations

from array import array
from typing import Any

from ..base.errors import too_big
from ..core import small_floats
from ..core.dtypes import (
    COMPLEX, FLOATING, SMALL_FLOATS, DType, bool_, float16, float32, float64, uint64,
)  # fmt: skip
from ..core.numeric_limits import iinfo
from ..core.storage import UntypedStorage


def write_values(storage: UntypedStorage, dtype: DType, flat: list[Any]) -> None:
    """Put Python numbers into memory."""
    storage._memory()[:len(flat) * dtype.itemsize] = encode(dtype, flat)


def encode(dtype: DType, flat: list[Any]) -> Any:
    """Python numbers as bytes of a dtype."""
    try:
        if dtype.category == FLOATING:
            return _encode_floats(dtype, flat)
        if dtype.category == COMPLEX:
            pairs = [p for v in flat for p in (complex(v).real, complex(v).imag)]
            return array("f" if dtype.itemsize == 8 else "d", pairs).tobytes()
        if dtype is bool_:
            return bytes(bool(v) for v in flat)
        whole = [v if type(v) is int else _whole(v, dtype) for v in flat]
        if dtype is uint64:
            _check_unsigned(whole)
        return array(dtype.format, whole).tobytes()
    except OverflowError as error:
        return _encode_wrapped(dtype, flat, error)


def _whole(value: Any, dtype: DType) -> int:
    """A number rounded to zero; refuses floats beyond the dtype's range, NaN among them."""
    if dtype is uint64 and isinstance(value, (float, complex)):
        raise TypeError("an integer is required")
    if isinstance(value, complex):
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if isinstance(value, float) and not iinfo(dtype).min <= value <= iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return int(value)


def _check_unsigned(values: list[int]) -> None:
    if min(values, default=0) < 0:
        raise too_big(-1)
    if max(values, default=0) >= 1 << 64:
        raise too_big(1)


def _encode_wrapped(dtype: DType, flat: list[Any], error: OverflowError) -> bytes:
    if dtype.category == FLOATING:
        return _encode_floats(dtype, [float("inf") if v > 0 else float("-inf")
                                      if isinstance(v, int) else v for v in flat])
    if dtype is uint64:
        raise error
    if any(not -(1 << 63) <= int(v) < 1 << 63 for v in flat):
        raise ValueError("Overflow when unpacking long long") from error
    bits = dtype.itemsize * 8
    low = -(1 << (bits - 1)) if dtype.is_signed else 0
    high = (1 << (bits - 1)) - 1 if dtype.is_signed else (1 << bits) - 1
    if not dtype.is_signed and all(-high <= int(v) <= high for v in flat):
        return array(dtype.format, [int(v) & high for v in flat]).tobytes()  # wrapped around
    for v in flat:
        if not low <= int(v) <= high:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow"
                               ) from error
    raise error


def _encode_floats(dtype: DType, flat: list[Any]) -> bytes:
    if dtype is float64:
        return array("d", flat).tobytes()
    if dtype is float32:
        return array("f", flat).tobytes()
    import numpy as np

    if any(isinstance(v, complex) for v in flat):
        raise TypeError("must be real number, not complex")
    with np.errstate(over="ignore"):
        singles = np.array(flat, np.float32)
        if dtype is float16:
            return singles.astype(np.float16).tobytes()
    if dtype in SMALL_FLOATS:
        return small_floats.encode(dtype, singles.tolist())
    bits = singles.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    rounded[np.isnan(bits.view(np.float32))] = 0x7FC0
    return rounded.astype(np.uint16).tobytes()
