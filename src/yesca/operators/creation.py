"""Kernels that fill new tensors with sequences."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, INTEGRAL, DType, bfloat16, float16, float32, float64, int64
from ..core.memory_formats import strides_for
from ..core.spec import spec
from ..loops.ir import Expr, cast, coord
from ..loops.scalar import fma, irem, where
from .filling import filling
from .kinds import rows


def _ramp(p: Any, count: int, dtype: DType, start: Any, step: Any) -> None:
    out = p.result(spec(dtype, (count,), None, p.device))
    wide = float64 if dtype.category == FLOATING or isinstance(start + step, float) else int64

    def body() -> Expr:
        place = cast(coord("point"), wide)
        return cast(p.argument(2, wide) + p.argument(3, wide) * place, dtype)

    p.flat(body, [], [out])


rows("ramp(any count, any dtype, Scalar start, Scalar step) -> Tensor", _ramp, kind="creation",
     method=False, doc="start + step * index.")


def _line(p: Any, count: int, dtype: DType, start: Any, end: Any) -> None:
    """Computed from both ends, so that each end is exact; ends of whole numbers are whole.

    In the precision of the result, as PyTorch does: 16-bit numbers are rounded after each step.
    """
    out = p.result(spec(dtype, (count,), None, p.device))
    small = dtype in (float16, bfloat16)
    wide = float32 if small else dtype if dtype.category == FLOATING else float64

    def rounded(value: Expr) -> Expr:
        return cast(cast(value, dtype), wide) if small else value

    def body() -> Expr:
        low, high = (cast(filling(p, k, dtype), wide) if dtype.category == INTEGRAL else
                     rounded(cast(p.argument(k, float64), wide)) for k in (2, 3))
        if count < 2:
            return cast(low, dtype)
        step = rounded(rounded(high - low) / p.fixed(count - 1, wide))
        place, last = cast(coord("point"), wide), p.fixed(count - 1, wide)
        near = coord("point") < p.fixed(count // 2, int64)
        if small:
            made = where(near, low + rounded(step * place), high - rounded(step * (last - place)))
        else:
            made = where(near, fma(step, place, low), fma(-step, last - place, high))
        return cast(made, dtype)

    p.flat(body, [], [out])


rows("line(any count, any dtype, Scalar start, Scalar end) -> Tensor", _line, kind="creation",
     method=False, doc="Evenly spaced from start to end.")


def _identity(p: Any, n: int, m: int, dtype: DType) -> None:
    out = p.result(spec(dtype, (n, m), None, p.device))

    def body() -> Expr:
        place = coord("point")
        on = irem(place, p.fixed(m + 1, int64)).eq(0) & (place < p.fixed(m * (m + 1), int64))
        return cast(on, dtype)

    p.flat(body, [], [out])


rows("identity(any n, any m, any dtype) -> Tensor", _identity, kind="creation", method=False,
     doc="Ones on the diagonal of n rows and m columns.")


def _filled(p: Any, size: tuple[int, ...], dtype: Any, value: Any) -> None:
    made = p.result(spec(dtype, size, None, p.device))
    p.flat(lambda: filling(p, 2, dtype, made.spec.numel), [], [made])


rows("filled(any size, any dtype, Scalar value) -> Tensor", _filled, kind="creation",
     method=False, doc="A new tensor of one value.")


def _uninitialised(p: Any, size: tuple[int, ...], dtype: Any) -> None:
    p.result(spec(dtype, size, None, p.device))


rows("uninitialised(any size, any dtype) -> Tensor", _uninitialised, kind="creation",
     method=False, doc="A new tensor of whatever its memory holds.")


def _uninitialised_like(p: Any, self: Any, dtype: Any) -> None:
    p.result(spec(dtype or self.spec.dtype, self.spec.shape, strides_for(self.spec, None),
                  p.device))


rows("uninitialised_like(Tensor self, any dtype) -> Tensor", _uninitialised_like,
     kind="creation", method=False, doc="The same with the shape and strides of self.")


def _filled_like(p: Any, self: Any, dtype: Any, value: Any) -> None:
    base = self.spec
    dtype = dtype or base.dtype
    made = p.result(spec(dtype, base.shape, strides_for(base, None), p.device))
    p.flat(lambda: filling(p, 2, dtype, made.spec.numel), [], [made])


rows("filled_like(Tensor self, any dtype, Scalar value) -> Tensor", _filled_like,
     kind="creation", method=False, doc="One value, with the shape and strides of self.")
