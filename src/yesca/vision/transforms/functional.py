"""`torchvision.transforms.functional`: transforms as functions, of PIL images and of tensors.

Tensors are images [..., C, H, W], of bytes (0 to 255) or floating point numbers (0 to 1). The work
is done by `kernels`; here are the checks and the errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base import absent
from ...core.dtypes import DType, float32, uint8
from .interpolation import InterpolationMode, from_number, pil_modes_mapping, strict
from .kernels import colors, conversion, pillow, shapes, warps
from .kernels.arithmetic import (
    affine_arguments,
    affine_matrix,
    blur_arguments,
    centre_corner,
    centre_padding,
    five_corners,
    pair,
    perspective_coefficients,
    resized,
)

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "adjust_sharpness", "affine", "autocontrast", "center_crop",
    "convert_image_dtype", "crop", "elastic_transform", "equalize", "erase", "five_crop",
    "gaussian_blur", "get_dimensions", "get_image_num_channels", "get_image_size", "hflip",
    "invert", "normalize", "pad", "perspective", "pil_modes_mapping", "pil_to_tensor",
    "posterize", "resize", "resized_crop", "rgb_to_grayscale", "rotate", "solarize", "ten_crop",
    "to_grayscale", "to_pil_image", "to_tensor", "vflip",
]

_BILINEAR, _NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST


def _image(img: Tensor, least: int = 2) -> Tensor:
    """The tensor. Raises TypeError if it has too few dimensions for an image."""
    if img.ndim < 2:
        raise TypeError(f"Tensor is not a torch image: it has {img.ndim} dimensions.")
    if img.ndim < least:
        raise TypeError(f"Input image tensor should have at least {least} dimensions, "
                        f"but found {img.ndim}")
    return img


def _is_pil_image(img: Any) -> bool:
    return pillow.is_pil(img)


def get_dimensions(img: Any) -> list[int]:
    """Channels, height and width of an image. Raises TypeError for what is none.

    >>> get_dimensions(torch.zeros(3, 4, 6))
    [3, 4, 6]
    """
    if not isinstance(img, Tensor):
        return pillow.dimensions(img)
    shape = img.shape
    return list(shape[-3:]) if len(shape) > 2 else [1, *_image(img).shape]


def get_image_size(img: Any) -> list[int]:
    """Width and height of an image, in this order."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """The number of channels of an image: 1 for a tensor of two dimensions."""
    return get_dimensions(img)[0]


def to_tensor(pic: Any) -> Tensor:
    """A PIL image or array (H, W[, C]) as a tensor (C, H, W).

    Bytes become numbers from 0 to 1 of the default dtype; other pixels keep their values. Raises
    TypeError for what is no image, ValueError for other numbers of dimensions.

    >>> import numpy as np
    >>> to_tensor(np.full((2, 2, 3), 51, np.uint8))[0]
    tensor([[0.2000, 0.2000],
            [0.2000, 0.2000]])
    """
    return conversion.to_tensor(pic)


def pil_to_tensor(pic: Any) -> Tensor:
    """A PIL image as a tensor (C, H, W) of its own type. Raises TypeError for what is none."""
    return conversion.pil_to_tensor(pic)


def convert_image_dtype(image: Tensor, dtype: DType = float32) -> Tensor:
    """Pixels of another type, black and white kept: 0 to 1 for floating point types, else to the
    greatest number of the type.

    Raises RuntimeError where that number has no exact floating point value.

    >>> convert_image_dtype(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[0., 1.]]])
    """
    if not isinstance(image, Tensor):
        raise TypeError(f"Input img should be Tensor Image. Got {type(image)}")
    return conversion.convert_image_dtype(image, dtype)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A PIL image of a tensor (C, H, W) or an array (H, W, C), or of two dimensions.

    Floating point pixels are taken as 0 to 1. `mode` (Pillow's) is guessed from the channels and
    their type if it is None. Raises ValueError for a shape or mode that do not go together,
    TypeError for pixels that no mode has.

    >>> to_pil_image(torch.zeros(3, 2, 4)).size
    (4, 2)
    """
    return conversion.to_pil_image(pic, mode)


@lru_cache(maxsize=64)
def _vanishes(std: tuple[float, ...], dtype: DType) -> bool:
    return not all(ops.tensor(std, dtype=dtype).tolist())


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """`(tensor - mean) / std`, with a mean and a deviation for each channel.

    Raises TypeError for pixels that are whole numbers, ValueError for fewer than three dimensions
    or a deviation of zero.

    >>> normalize(torch.ones(1, 1, 2), mean=[0.5], std=[0.25])
    tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if tensor.is_floating_point() and _image(tensor).ndim > 2:
        plain = isinstance(std, (list, tuple)) and all(type(v) in (int, float) for v in std)
        if _vanishes(tuple(std), tensor.dtype) if plain else _has_zero(std, tensor):
            raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading "
                             "to division by zero.")
    return conversion.normalize_image(tensor, mean, std, inplace)


def _has_zero(std: Any, tensor: Tensor) -> bool:
    return bool((ops.as_tensor(std, dtype=tensor.dtype, device=tensor.device) == 0).any())


def resize(img: Any, size: Any, interpolation: Any = _BILINEAR, max_size: int | None = None,
           antialias: bool | None = True) -> Any:
    """Resized to `size`: (height, width), or the length of the shorter edge.

    Args:
        max_size: bound of the longer edge, if `size` says the shorter one.
        antialias: whether shrinking takes all pixels into account (bilinear and bicubic; PIL
            images always do so).

    >>> resize(torch.zeros(3, 4, 8), 2).shape
    torch.Size([3, 2, 4])
    """
    mode = strict(interpolation)
    if isinstance(size, (list, tuple)):
        if len(size) not in (1, 2):
            raise ValueError("Size must be an int or a 1 or 2 element tuple/list, "
                             f"not a {len(size)} element tuple/list")
        if max_size is not None and len(size) != 1:
            raise ValueError("max_size should only be passed if size specifies the length of the "
                             "smaller edge, i.e. size should be an int or a sequence of length 1 "
                             "in torchscript mode.")
    if isinstance(img, Tensor):
        canvas = tuple(_image(img).shape[-2:])
        new = resized(canvas, size, max_size)
        return img if new == canvas else shapes.resize_rounded(img, new, mode, antialias)
    if antialias is False and pillow.is_pil(img):
        warnings.warn("Anti-alias option is always applied for PIL Image input. Argument antialias "
                      "is ignored.")
    return pillow.resize(img, size, pil_modes_mapping[mode], max_size)


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Padded on all sides.

    Args:
        padding: pixels: one number, (left and right, top and bottom), or (left, top, right,
            bottom).
        fill: the constant; for PIL images also one for each channel.
        padding_mode: `"constant"`, `"edge"` (the last value), `"reflect"` (mirrored without the
            edge) or `"symmetric"` (mirrored with it).

    >>> pad(torch.ones(1, 1, 1), [1, 0])
    tensor([[[0., 1., 0.]]])
    """
    if not isinstance(img, Tensor):
        return pillow.pad(img, padding, fill, padding_mode)
    if not isinstance(0 if fill is None else fill, (int, float)):
        raise TypeError(f"Got inappropriate fill arg: {fill!r}; tensors take one number")
    padding = pillow.check_padding(padding, fill, padding_mode)
    if img.ndim == 2:
        return shapes.pad_image(_image(img)[None], padding, fill, padding_mode)[0]
    return shapes.pad_image(_image(img), padding, fill, padding_mode)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of an image from row `top`, column `left`; black where it reaches beyond.

    >>> crop(torch.arange(6.0).view(1, 2, 3), 0, 1, 2, 2)
    tensor([[[1., 2.],
             [4., 5.]]])
    """
    if not isinstance(img, Tensor):
        return pillow.crop(img, top, left, height, width)
    if img.ndim == 2:
        return shapes.crop_image(_image(img)[None], top, left, height, width)[0]
    return shapes.crop_image(_image(img), top, left, height, width)


def center_crop(img: Any, output_size: Any) -> Any:
    """The central part of an image, with black around one that is smaller.

    >>> center_crop(torch.zeros(3, 5, 7), 3).shape
    torch.Size([3, 3, 3])
    """
    crop_height, crop_width = pair(output_size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        img = pad(img, centre_padding(height, width, crop_height, crop_width))
        _, height, width = get_dimensions(img)
        if (crop_height, crop_width) == (height, width):
            return img
    top, left = centre_corner(height, width, crop_height, crop_width)
    return crop(img, top, left, crop_height, crop_width)


def resized_crop(img: Any, top: int, left: int, height: int, width: int, size: Any,
                 interpolation: Any = _BILINEAR, antialias: bool | None = True) -> Any:
    """A part of an image (see `crop`), resized (see `resize`)."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Any) -> Any:
    """The image with left and right exchanged."""
    if isinstance(img, Tensor):
        return _image(img).flip(-1)
    return pillow.horizontal_flip(img)


def vflip(img: Any) -> Any:
    """The image with top and bottom exchanged."""
    if isinstance(img, Tensor):
        return _image(img).flip(-2)
    return pillow.vertical_flip(img)


def five_crop(img: Any, size: Any) -> tuple[Any, ...]:
    """The four corners (top left, top right, bottom left, bottom right) and the centre.

    Raises ValueError if the image is smaller than `size`.

    >>> len(five_crop(torch.zeros(3, 5, 7), (2, 3)))
    5
    """
    _, height, width = get_dimensions(img)
    corners, size = five_corners(size, height, width)
    crops = [crop(img, top, left, *size) for top, left in corners]
    return (*crops, center_crop(img, size))


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple[Any, ...]:
    """The five crops of an image and those of its flipped copy."""
    first = five_crop(img, size)
    return first + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def perspective(img: Any, startpoints: Any, endpoints: Any, interpolation: Any = _BILINEAR,
                fill: Any = None) -> Any:
    """Seen in the perspective that takes four points [x, y] to four others.

    `fill` is the colour beyond the image: a number, or one for each channel.
    """
    coefficients = perspective_coefficients(startpoints, endpoints)
    mode = strict(interpolation)
    if not isinstance(img, Tensor):
        return pillow.perspective(img, coefficients, pil_modes_mapping[mode], fill)
    return _flat(img, lambda image: warps.perspective_image(
        image, None, None, mode, fill, coefficients))


def _flat(img: Tensor, work: Callable[[Tensor], Tensor]) -> Tensor:
    """A kernel's result, for a tensor that may have no dimension of channels."""
    return work(_image(img)[None])[0] if img.ndim == 2 else work(_image(img))


def rotate(img: Any, angle: float, interpolation: Any = _NEAREST, expand: bool = False,
           center: Any = None, fill: Any = None) -> Any:
    """Turned counter-clockwise by `angle` degrees.

    Args:
        expand: whether the result is large enough for all of the image.
        center: (x, y) in pixels from the upper left corner; the middle by default.
        fill: the colour beyond the image: a number, or one for each channel.

    >>> rotate(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 90)
    tensor([[[2., 4.],
             [1., 3.]]])
    """
    mode = strict(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError(f"Argument angle should be int or float, got {type(angle)}")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError(f"Argument center should be a sequence, got {type(center)}")
    if not isinstance(img, Tensor):
        return pillow.rotate(img, angle, pil_modes_mapping[mode], expand, center, fill)
    return _flat(img, lambda image: warps.turned(image, angle, mode, expand, center, fill))


def affine(img: Any, angle: float, translate: Any, scale: float, shear: Any,
           interpolation: Any = _NEAREST, fill: Any = None, center: Any = None) -> Any:
    """Turned, moved, scaled and sheared about a centre.

    Args:
        angle: degrees, clockwise.
        translate: (x, y) in pixels.
        scale: a positive factor.
        shear: degrees along x, or along x and y.
        fill, center: as in `rotate`.

    >>> affine(torch.eye(3)[None], 0, [1, 0], 1.0, [0.0, 0.0])
    tensor([[[0., 1., 0.],
             [0., 0., 1.],
             [0., 0., 0.]]])
    """
    mode = strict(interpolation)
    angle, translate, shear, center = affine_arguments(angle, translate, scale, shear, center)
    if not isinstance(img, Tensor):
        width, height = pillow.known(img).size
        middle = [width * 0.5, height * 0.5] if center is None else center
        matrix = affine_matrix(middle, angle, translate, scale, shear)
        return pillow.affine(img, matrix, pil_modes_mapping[mode], fill)
    return _flat(img, lambda image: warps.affine_image(
        image, angle, translate, scale, shear, mode, fill, center))


def elastic_transform(img: Any, displacement: Tensor, interpolation: Any = _BILINEAR,
                      fill: Any = None) -> Any:
    """Each pixel from its own place plus a displacement (1, H, W, 2), where 1 is half an image."""
    mode = from_number(interpolation)
    if mode is not interpolation:
        warnings.warn("Argument interpolation should be of type InterpolationMode instead of int. "
                      "Please, use InterpolationMode enum.")
    if not isinstance(displacement, Tensor):
        raise TypeError(f"Argument displacement should be a Tensor, got {type(displacement)}")
    return _on_pixels(img, lambda image: warps.elastic_image(image, displacement, mode, fill))


def _on_pixels(img: Any, work: Callable[[Tensor], Tensor]) -> Any:
    """A kernel for tensors on either kind of image."""
    if isinstance(img, Tensor):
        return _flat(img, work)
    if not pillow.is_pil(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    return to_pil_image(work(pil_to_tensor(img)), mode=img.mode)


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Each pixel the weighted mean of its neighbours.

    Args:
        kernel_size: odd: one number or (width, height) of the neighbourhood.
        sigma: deviation of the weights in pixels, one or (x, y); by default
            `0.15 * kernel_size + 0.35`.
    """
    size, sigma = blur_arguments(kernel_size, sigma)
    return _on_pixels(img, lambda image: warps.gaussian_blur_image(image, size, sigma))


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Tensor:
    """A copy of a tensor image (or itself) with `v` in rows `i:i+h`, columns `j:j+w`."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    return conversion.erase_image(_image(img), i, j, h, w, v, inplace)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """The luminance of a PIL image, in 1 or 3 channels."""
    if not pillow.is_pil(img):
        raise TypeError(f"Input should be PIL Image, got {type(img)}")
    return pillow.to_grayscale(img, num_output_channels)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """The luminance, `0.2989 R + 0.587 G + 0.114 B`, in 1 or 3 channels."""
    if not isinstance(img, Tensor):
        return pillow.to_grayscale(img, num_output_channels)
    colors.check_channels(_image(img, 3))
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")
    return colors.rgb_to_grayscale_image(img, num_output_channels, apart=True)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """0 is black, 1 the image, 2 twice as bright.

    >>> adjust_brightness(torch.full((1, 1, 2), 0.25), 2.0)
    tensor([[[0.5000, 0.5000]]])
    """
    if not isinstance(img, Tensor):
        return pillow.adjust_brightness(img, brightness_factor)
    return colors.adjust_brightness_image(_image(img), brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """0 is one grey all over, 1 the image, 2 twice the contrast."""
    if not isinstance(img, Tensor):
        return pillow.adjust_contrast(img, contrast_factor)
    return _flat(img, lambda image: colors.adjust_contrast_image(image, contrast_factor, True))


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """0 is grey, 1 the image, 2 twice as colourful."""
    if not isinstance(img, Tensor):
        return pillow.adjust_saturation(img, saturation_factor)
    return colors.adjust_saturation_image(_image(img), saturation_factor, apart=True)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """The hue moved on its circle by a factor in [-0.5, 0.5] of a whole turn."""
    if not isinstance(img, Tensor):
        return pillow.adjust_hue(img, hue_factor)
    return colors.adjust_hue_image(_image(img), hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """`gain * img ** gamma`, of colours from 0 to 1."""
    if not isinstance(img, Tensor):
        return pillow.adjust_gamma(img, gamma, gain)
    colors.check_channels(_image(img))
    made = colors.adjust_gamma_image(img, gamma, gain)
    return made.clamp_(0, 1) if img.is_floating_point() else made


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """0 is smoothed, 1 the image, 2 twice as sharp."""
    if not isinstance(img, Tensor):
        return pillow.adjust_sharpness(img, sharpness_factor)
    return _flat(img, lambda image: colors.adjust_sharpness_image(image, sharpness_factor, True))


def invert(img: Any) -> Any:
    """White minus the image."""
    if not isinstance(img, Tensor):
        return pillow.invert(img)
    colors.check_channels(_image(img, 3))
    return colors.invert_image(img)


def _bytes(img: Tensor) -> Tensor:
    if _image(img, 3).dtype is not uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    colors.check_channels(img)
    return img


def posterize(img: Any, bits: int) -> Any:
    """The highest `bits` (0 to 8) bits of each byte."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if not isinstance(img, Tensor):
        return pillow.posterize(img, bits)
    return colors.posterize_image(_bytes(img), int(bits))


def solarize(img: Any, threshold: float) -> Any:
    """Inverted where a colour reaches the threshold."""
    if not isinstance(img, Tensor):
        return pillow.solarize(img, threshold)
    colors.check_channels(_image(img, 3))
    return colors.solarize_image(img, threshold)


def autocontrast(img: Any) -> Any:
    """Each channel stretched so that it reaches from black to white."""
    if not isinstance(img, Tensor):
        return pillow.autocontrast(img)
    return colors.autocontrast_image(_image(img, 3), multiply=True)


def equalize(img: Any) -> Any:
    """Each channel of bytes mapped so that all its values are about equally frequent."""
    if not isinstance(img, Tensor):
        return pillow.equalize(img)
    return colors.equalize_image(_bytes(img))


__getattr__ = absent.names_of(__name__)
