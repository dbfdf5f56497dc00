"""What the makers of quantized layers share."""

from __future__ import annotations

from typing import Any

from ....._quantized import quantize_per_channel, quantize_per_tensor
from ....._tensor import Tensor
from .....core import layouts
from .....core.dtypes import float16, float32, float64, int64


def weight_observer(mod: Any, default: Any) -> Any:
    """What makes the observer of a float layer's weight: its `qconfig`'s, else the default's.

    Raises AssertionError where the layer has no `qconfig`.
    """
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    return (None if mod.qconfig is None else mod.qconfig.weight) or default.weight


def settled_weight(weight: Tensor, make_observer: Any) -> Tensor:
    """A float weight as layers pack it: quantized by a new observer, or in float32."""
    observer = make_observer()
    if observer.dtype is float16:
        return weight.float()
    observer(weight)
    return _quantize_weight(weight.float(), observer)


def _quantize_weight(float_wt: Tensor, observer: Any) -> Tensor:
    """The weight quantized as its observer says."""
    scale, zero_point = observer.calculate_qparams()
    scheme, dtype = observer.qscheme, observer.dtype
    if scheme in (layouts.per_tensor_symmetric, layouts.per_tensor_affine):
        return quantize_per_tensor(  # type: ignore[no-any-return]
            float_wt, float(scale), int(zero_point), dtype)
    if scheme in (layouts.per_channel_symmetric, layouts.per_channel_affine):
        return quantize_per_channel(float_wt, scale.to(float64), zero_point.to(int64),
                                    observer.ch_axis, dtype)
    if scheme is layouts.per_channel_affine_float_qparams:
        return quantize_per_channel(float_wt, scale.to(float32), zero_point.to(float32),
                                    observer.ch_axis, dtype)
    raise ValueError(f"Unexpected qscheme {scheme}")
