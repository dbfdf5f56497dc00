"""A call's number as an element of a tensor; what the dtype cannot hold is refused.

The number comes at run time, so that the kernel looks at it: once a launch, since the check does
not depend on the point.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import (
    COMPLEX, FLOATING, INTEGRAL, NARROW_FLOATS, SCALAR_NAMES, SMALL_FLOATS, DType, bfloat16, bool_,
    complex128, float4_e2m1fn_x2, float8_e5m2, float16, float32, float64, int32, int64, uint64,
)
from ..core.numeric_limits import finfo, iinfo
from ..loops.ir import Expr, cast, const
from ..loops.scalar import absolute

_NAMES = {int32: "int", float16: "c10::Half", bfloat16: "c10::BFloat16", float32: "float",
          float64: "double"}


def c_name(dtype: DType) -> str:
    """What messages about numbers that do not fit call a dtype."""
    if dtype.category == COMPLEX:
        return f"c10::complex<{c_name(dtype.to_real())}>"
    if dtype in SMALL_FLOATS:
        return f"c10::{SCALAR_NAMES[dtype]}"
    return _NAMES.get(dtype, f"{dtype.name}_t")


def does_not_fit(dtype: DType) -> RuntimeError:
    """The error for a number that a dtype cannot hold."""
    return RuntimeError(f"value cannot be converted to type {c_name(dtype)} without overflow")


def filling(p: Any, position: int, dtype: DType, count: int = 0) -> Expr:
    """The call's number at this position as an element of the dtype.

    Negative whole numbers wrap around in unsigned dtypes, as in C; others have to be in range.
    PyTorch does not look at the range where half types, and floats of 8 bits, get the number as
    their only element (`count`): what is too large is rounded as in a conversion.
    """
    number = p.values[position]
    if count == 1 and dtype in NARROW_FLOATS and dtype is not float4_e2m1fn_x2:
        return cast(filling(p, position, float64), dtype)
    if isinstance(number, complex):
        return _complex_element(p, p.argument(position, complex128), dtype)
    if isinstance(number, bool):
        return cast(p.argument(position, int64), dtype)
    about = p.argument(position, float64)
    if dtype is float4_e2m1fn_x2:  # whose zero is all that nothing has to pack
        def fail(_: int) -> None:
            raise NotImplementedError("\"fill_cpu\" not implemented for 'Float4_e2m1fn_x2'")

        p.check(about.eq(0.0), const(0, int64), fail)
        return const(0, dtype)
    if isinstance(number, float):
        return _real_element(p, about, dtype)
    _require(p, _fits_whole(about, p.argument(position, int64), dtype.to_real()), dtype)
    if dtype.category < FLOATING:
        return cast(p.argument(position, int64 if dtype is not uint64 else uint64), dtype)
    return cast(about, dtype)


def element(p: Any, value: Expr, source: DType, dtype: DType) -> Expr:
    """A value of the source dtype as an element of another one, refused as `filling` does."""
    if source.category == COMPLEX:
        return _complex_element(p, cast(value, complex128), dtype)
    if source.category == FLOATING:
        return _real_element(p, cast(value, float64), dtype)
    if source.category == INTEGRAL:
        fits = _fits_whole(cast(value, float64), cast(value, int64), dtype.to_real())
        _require(p, fits, dtype)
    return cast(value, dtype)


def _real_element(p: Any, value: Expr, dtype: DType) -> Expr:
    _require(p, _fits(value, dtype.to_real()), dtype)
    return cast(value, dtype)


def _complex_element(p: Any, value: Any, dtype: DType) -> Expr:
    if dtype is bool_:
        return cast(value, dtype)
    part = dtype.to_real()
    if dtype.category == COMPLEX:
        _require(p, _fits(value.re, part), dtype)
        _require(p, _fits(value.im, part), dtype)
        return cast(value, dtype)
    _require(p, value.im.eq(0.0), dtype)
    _require(p, _fits(value.re, part), dtype)
    return cast(value.re, dtype)


def _require(p: Any, holds: Expr | None, dtype: DType) -> None:
    def fail(_: int) -> None:
        raise does_not_fit(dtype)

    if holds is not None:
        p.check(holds, const(0, int64), fail)


def _fits(value: Expr, dtype: DType) -> Expr | None:
    """Whether a float is in the range of a real dtype; None: always."""
    if dtype.category == INTEGRAL:
        limits = iinfo(dtype)
        return (value >= float(limits.min)) & (value <= float(limits.max))
    if dtype is bool_ or dtype is float64:
        return None
    limits, size = finfo(dtype), absolute(value)
    if not dtype.is_signed:
        return ~((value > limits.max) | (value < limits.min))
    fits = ~(size > limits.max)
    return fits if dtype in SMALL_FLOATS and dtype is not float8_e5m2 else fits | size.eq(math.inf)


def _fits_whole(about: Expr, whole: Expr, dtype: DType) -> Expr | None:
    """Whether a whole number, as float64 and int64, is in a real dtype's range; None: always."""
    if dtype is float16:
        return absolute(about) < 65520.0  # from here on it is rounded to infinity
    if dtype in SMALL_FLOATS and dtype.is_signed:
        return absolute(about) <= finfo(dtype).max
    if dtype.category != INTEGRAL or dtype is uint64:
        return None
    if dtype is int64:  # beyond it, what arrives as a negative number was a positive one
        return (whole >= 0) | (about < 0.0)
    limits = iinfo(dtype)
    least = limits.min if dtype.is_signed else -limits.max
    return (about >= float(least)) & (about <= float(limits.max))


__all__ = ["element", "filling"]
