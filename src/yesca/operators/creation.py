"""Kernels that fill new tensors with sequences."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, complex128, float64, int64
from ..core.memory_formats import strides_for
from ..core.spec import spec
from ..loops.ir import Expr, cast, coord
from ..loops.scalar import fma, where
from .copying import filling
from .kinds import rows


def _ramp(p: Any, self: Any, start: Any, step: Any) -> None:
    out = p.result(self.spec)
    wide = float64 if self.spec.dtype.category == FLOATING or isinstance(start + step, float) \
        else int64

    def body() -> Expr:
        place = cast(coord("point"), wide)
        return cast(p.argument(1, wide) + p.argument(2, wide) * place, self.spec.dtype)

    p.flat(body, [], [out])


rows("ramp(Tensor self, Scalar start, Scalar step) -> Tensor", _ramp, kind="creation",
     inplace=True, method=False, doc="start + step * index.")


def _line(p: Any, self: Any, start: Any, end: Any) -> None:
    """Computed from both ends, so that each end is exact."""
    out = p.result(self.spec)
    count = self.spec.numel

    wide = complex128 if self.spec.dtype.is_complex else float64

    def body() -> Expr:
        low, high = p.argument(1, wide), p.argument(2, wide)
        if count < 2:
            return cast(low, self.spec.dtype)
        step = (high - low) / p.fixed(max(count - 1, 1), float64)
        place = cast(coord("point"), float64)
        back = p.fixed(count - 1, float64) - place
        near = place < p.fixed((count + 1) // 2, float64)
        made = where(near, fma(step, place, low), fma(-step, back, high))
        return cast(made, self.spec.dtype)

    p.flat(body, [], [out])


rows("line(Tensor self, Scalar start, Scalar end) -> Tensor", _line, kind="creation",
     inplace=True, method=False, doc="Evenly spaced from start to end.")


def _filled(p: Any, size: tuple[int, ...], dtype: Any, value: Any) -> None:
    made = p.result(spec(dtype, size, None, p.device))
    p.flat(lambda: filling(p, 2, dtype), [], [made])


rows("filled(any size, any dtype, Scalar value) -> Tensor", _filled, kind="creation",
     method=False, doc="A new tensor of one value.")


def _filled_like(p: Any, self: Any, dtype: Any, value: Any) -> None:
    base = self.spec
    dtype = dtype or base.dtype
    made = p.result(spec(dtype, base.shape, strides_for(base, None), p.device))
    p.flat(lambda: filling(p, 2, dtype), [], [made])


rows("filled_like(Tensor self, any dtype, Scalar value) -> Tensor", _filled_like,
     kind="creation", method=False, doc="One value, with the shape and strides of self.")
