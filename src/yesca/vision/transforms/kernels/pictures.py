"""Kernels for PIL images with the arguments that the second version of the interface has."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...._tensor import Tensor
from ..interpolation import InterpolationMode, lenient, pil_modes_mapping
from . import colors, conversion, pillow, warps
from .arithmetic import affine_arguments, affine_matrix, chosen_coefficients

__all__: list[str] = []

_BILINEAR, _NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST


def _code(interpolation: Any) -> int:
    return pil_modes_mapping[lenient(interpolation)]


def resize(image: Any, size: Any, interpolation: Any = _BILINEAR, max_size: int | None = None,
           antialias: bool | None = True) -> Any:
    if antialias is False:
        warnings.warn("Anti-alias option is always applied for PIL Image input. Argument antialias "
                      "is ignored.")
    return pillow.resize(image, size, _code(interpolation), max_size)


def resized_crop(image: Any, top: int, left: int, height: int, width: int, size: Any,
                 interpolation: Any = _BILINEAR, antialias: bool | None = True) -> Any:
    image = pillow.crop(image, top, left, height, width)
    return resize(image, size, interpolation, antialias=antialias)


def affine(image: Any, angle: float, translate: Any, scale: float, shear: Any,
           interpolation: Any = _NEAREST, fill: Any = None, center: Any = None) -> Any:
    angle, translate, shear, center = affine_arguments(angle, translate, scale, shear, center)
    width, height = image.size
    middle = [width * 0.5, height * 0.5] if center is None else center
    matrix = affine_matrix(middle, angle, translate, scale, shear)
    return pillow.affine(image, matrix, _code(interpolation), fill)


def rotate(image: Any, angle: float, interpolation: Any = _NEAREST, expand: bool = False,
           center: Any = None, fill: Any = None) -> Any:
    return pillow.rotate(image, angle, _code(interpolation), expand, center, fill)


def perspective(image: Any, startpoints: Any, endpoints: Any, interpolation: Any = _BILINEAR,
                fill: Any = None, coefficients: Any = None) -> Any:
    coefficients = chosen_coefficients(startpoints, endpoints, coefficients)
    return pillow.perspective(image, coefficients, _code(interpolation), fill)


def _as_tensor(kernel: Callable[..., Tensor], keep_mode: bool = True) -> Callable[..., Any]:
    """A kernel for tensors, done on the pixels of a PIL image."""
    def run(image: Any, *args: Any, **kwargs: Any) -> Any:
        made = kernel(conversion.pil_to_tensor(image), *args, **kwargs)
        return conversion.to_pil_image(made, image.mode if keep_mode else None)
    return run


elastic = _as_tensor(warps.elastic_image)
gaussian_blur = _as_tensor(warps.gaussian_blur_image)
erase = _as_tensor(conversion.erase_image)
permute_channels = _as_tensor(colors.permute_channels_image, keep_mode=False)


def gaussian_noise(image: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    raise ValueError("Gaussian Noise is not implemented for PIL images.")


def jpeg_image(image: Tensor, quality: int) -> Tensor:
    """What is left of images [..., 1 or 3, H, W] of bytes after each was a JPEG file."""
    from .... import functional as ops

    shape = image.shape
    parts = image.reshape(-1, *shape[-3:]) if image.numel() else image.new_zeros((0, *shape[-3:]))
    if not len(parts):
        return image.clone()
    files = [pillow.jpeg(conversion.to_pil_image(part), quality) for part in parts]
    return ops.stack([conversion.pil_to_tensor(file) for file in files]).view(shape)
