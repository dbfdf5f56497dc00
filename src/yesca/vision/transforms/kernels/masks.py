"""Kernels for masks [..., H, W]: those of images, without values in between and in two dimensions
too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._tensor import Tensor
from ..interpolation import InterpolationMode, lenient
from . import shapes, warps

__all__: list[str] = []

_NEAREST = InterpolationMode.NEAREST


def _flat(mask: Tensor, work: Callable[[Tensor], Tensor]) -> Tensor:
    return work(mask.unsqueeze(0)).squeeze(0) if mask.ndim < 3 else work(mask)


def resize_mask(mask: Tensor, size: Any, interpolation: Any = InterpolationMode.BILINEAR,
                max_size: int | None = None) -> Tensor:
    mode = lenient(interpolation)
    if mode is not InterpolationMode.NEAREST_EXACT:
        mode = _NEAREST
    return _flat(mask, lambda image: shapes.resize_image(image, size, mode, max_size))


def affine_mask(mask: Tensor, angle: float, translate: Any, scale: float, shear: Any,
                fill: Any = None, center: Any = None) -> Tensor:
    return _flat(mask, lambda image: warps.affine_image(
        image, angle, translate, scale, shear, _NEAREST, fill, center))


def rotate_mask(mask: Tensor, angle: float, expand: bool = False, center: Any = None,
                fill: Any = None) -> Tensor:
    return _flat(mask, lambda image: warps.rotate_image(
        image, angle, _NEAREST, expand, center, fill))


def pad_mask(mask: Tensor, padding: Any, fill: Any = None,
             padding_mode: str = "constant") -> Tensor:
    if isinstance(fill, (tuple, list)):
        raise ValueError(f"Non-scalar fill value is not supported for masks, but got {fill}")
    return _flat(mask, lambda image: shapes.pad_image(image, padding, fill, padding_mode))


def crop_mask(mask: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    return _flat(mask, lambda image: shapes.crop_image(image, top, left, height, width))


def center_crop_mask(mask: Tensor, output_size: Any) -> Tensor:
    return _flat(mask, lambda image: shapes.center_crop_image(image, output_size))


def resized_crop_mask(mask: Tensor, top: int, left: int, height: int, width: int,
                      size: Any) -> Tensor:
    return resize_mask(crop_mask(mask, top, left, height, width), size)


def perspective_mask(mask: Tensor, startpoints: Any, endpoints: Any, fill: Any = None,
                     coefficients: Any = None) -> Tensor:
    return _flat(mask, lambda image: warps.perspective_image(
        image, startpoints, endpoints, _NEAREST, fill, coefficients))


def elastic_mask(mask: Tensor, displacement: Tensor, fill: Any = None) -> Tensor:
    return _flat(mask, lambda image: warps.elastic_image(image, displacement, _NEAREST, fill))
