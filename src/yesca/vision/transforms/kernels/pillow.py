"""Operations on PIL images. Pillow is imported when the first image comes, not before."""

from __future__ import annotations

import sys
from numbers import Number
from typing import Any

from .arithmetic import centre_corner, centre_padding, five_corners, gamma_table, pair, resized

__all__: list[str] = []

_MISSING = "images need Pillow: pip install 'yesca[vision]'"


def pillow(module: str = "Image") -> Any:
    """A module of Pillow. Raises ImportError that names what to install."""
    from importlib import import_module
    try:
        return import_module(f"PIL.{module}")
    except ImportError as error:
        raise ImportError(_MISSING) from error


def is_pil(value: Any) -> bool:
    """Whether something is a PIL image (there is none before Pillow is imported)."""
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def checked(image: Any) -> Any:
    """The image. Raises TypeError if it is none of PIL's."""
    if not is_pil(image):
        raise TypeError(f"img should be PIL Image. Got {type(image)}")
    return image


def known(image: Any) -> Any:
    """Like `checked`, where tensors would have been taken too."""
    if not is_pil(image):
        raise TypeError(f"Unexpected type {type(image)}")
    return image


def dimensions(image: Any) -> list[int]:
    """Channels, height, width."""
    width, height = known(image).size
    return [len(image.getbands()), height, width]


def channels(image: Any) -> int:
    return len(known(image).getbands())


def size(image: Any) -> list[int]:
    """Height, width."""
    width, height = known(image).size
    return [height, width]


def from_array(array: Any, mode: str) -> Any:
    """An image of a mode from the bytes of an array of (height, width[, channels])."""
    height, width = array.shape[:2]
    return pillow().frombytes(mode, (width, height), array.tobytes())


def horizontal_flip(image: Any) -> Any:
    return checked(image).transpose(0)  # Pillow's FLIP_LEFT_RIGHT


def vertical_flip(image: Any) -> Any:
    return checked(image).transpose(1)


def crop(image: Any, top: int, left: int, height: int, width: int) -> Any:
    return checked(image).crop((left, top, left + width, top + height))


def center_crop(image: Any, output_size: Any) -> Any:
    crop_height, crop_width = pair(output_size)
    height, width = size(image)
    if crop_height > height or crop_width > width:
        image = pad(image, centre_padding(height, width, crop_height, crop_width))
        height, width = size(image)
        if (crop_height, crop_width) == (height, width):
            return image
    top, left = centre_corner(height, width, crop_height, crop_width)
    return crop(image, top, left, crop_height, crop_width)


def five_crop(image: Any, size: Any) -> tuple[Any, ...]:
    width, height = known(image).size
    corners, size = five_corners(size, height, width)
    crops = [crop(image, top, left, *size) for top, left in corners]
    return (*crops, center_crop(image, size))


def ten_crop(image: Any, size: Any, vertical_flip: bool = False) -> tuple[Any, ...]:
    flipped = checked(image).transpose(1 if vertical_flip else 0)
    return five_crop(image, size) + five_crop(flipped, size)


def resize(image: Any, size: Any, code: int, max_size: int | None = None) -> Any:
    """Resized by Pillow's method of that number, which always takes whole neighbourhoods."""
    width, height = known(image).size
    new_height, new_width = resized((height, width), size, max_size)
    if (new_height, new_width) == (height, width):
        return image
    return image.resize((new_width, new_height), code)


def _fill_of(image: Any, fill: Any) -> Any:
    """A fill as Pillow takes it: a number, or one for each channel."""
    count = channels(image)
    if fill is None:
        fill = 0
    if isinstance(fill, (int, float)) and count > 1:
        fill = (fill,) * count
    if isinstance(fill, (list, tuple)):
        if len(fill) == 1:
            fill = tuple(fill) * count
        elif len(fill) != count:
            raise ValueError("The number of elements in 'fill' does not match the number of "
                             f"channels of the image ({len(fill)} != {count})")
        return tuple(fill) if image.mode == "F" else tuple(int(v) for v in fill)
    return fill if image.mode == "F" else int(fill)


def check_padding(padding: Any, fill: Any, mode: Any) -> Any:
    """The padding, a tuple or a number. Raises TypeError or ValueError for what no image takes."""
    if not isinstance(padding, (Number, tuple, list)):
        raise TypeError(f"Got inappropriate padding arg: {padding!r}")
    if fill is not None and not isinstance(fill, (Number, tuple, list)):
        raise TypeError(f"Got inappropriate fill arg: {fill!r}")
    if not isinstance(mode, str):
        raise TypeError(f"Got inappropriate padding_mode arg: {mode!r}")
    if isinstance(padding, (tuple, list)):
        if len(padding) not in (1, 2, 4):
            raise ValueError("Padding must be an int or a 1, 2, or 4 element tuple, "
                             f"not a {len(padding)} element tuple")
        padding = padding[0] if len(padding) == 1 else tuple(padding)
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    return padding


def pad(image: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    palette = checked(image).getpalette() if image.mode == "P" else None
    padding = check_padding(padding, fill, padding_mode)
    if padding_mode == "constant":
        made = pillow("ImageOps").expand(image, border=padding, fill=_fill_of(image, fill))
    else:
        made = _mirrored(image, padding, padding_mode)
    if palette is not None:
        made.putpalette(palette)
    return made


def _mirrored(image: Any, padding: Any, mode: str) -> Any:
    """Padded by what is in the image already; negative paddings crop it."""
    import numpy as np

    four = (padding,) * 4 if isinstance(padding, int) else padding * (4 // len(padding))
    if min(four) < 0:
        left, top, right, bottom = (-min(p, 0) for p in four)
        image = image.crop((left, top, image.width - right, image.height - bottom))
    left, top, right, bottom = (max(p, 0) for p in four)
    pixels = np.asarray(image)
    widths = ((top, bottom), (left, right), (0, 0))[:pixels.ndim]
    return pillow().fromarray(np.pad(pixels, widths, mode))


def affine(image: Any, matrix: list[float], code: int = 0, fill: Any = None) -> Any:
    fill = _fill_of(checked(image), fill)
    return image.transform(image.size, 0, matrix, code, fillcolor=fill)  # 0: Pillow's AFFINE


def perspective(image: Any, coefficients: list[float], code: int = 3, fill: Any = None) -> Any:
    fill = _fill_of(checked(image), fill)
    return image.transform(image.size, 2, coefficients, code, fillcolor=fill)  # 2: PERSPECTIVE


def rotate(image: Any, angle: float, code: int = 0, expand: bool = False, center: Any = None,
           fill: Any = None) -> Any:
    fill = _fill_of(checked(image), fill)
    return image.rotate(angle, code, expand, center, fillcolor=fill)


def _enhanced(image: Any, kind: str, factor: float) -> Any:
    return getattr(pillow("ImageEnhance"), kind)(checked(image)).enhance(factor)


def adjust_brightness(image: Any, brightness_factor: float) -> Any:
    return _enhanced(image, "Brightness", brightness_factor)


def adjust_contrast(image: Any, contrast_factor: float) -> Any:
    return _enhanced(image, "Contrast", contrast_factor)


def adjust_saturation(image: Any, saturation_factor: float) -> Any:
    return _enhanced(image, "Color", saturation_factor)


def adjust_sharpness(image: Any, sharpness_factor: float) -> Any:
    return _enhanced(image, "Sharpness", sharpness_factor)


def adjust_hue(image: Any, hue_factor: float) -> Any:
    """The hue moved on its circle; images without one stay as they are."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    mode = checked(image).mode
    if mode in ("L", "1", "I", "F"):
        return image
    hue, saturation, value = image.convert("HSV").split()
    step = int(hue_factor * 255)
    hue = hue.point([(v + step) % 256 for v in range(256)])
    return pillow().merge("HSV", (hue, saturation, value)).convert(mode)


def adjust_gamma(image: Any, gamma: float, gain: float = 1.0) -> Any:
    mode = checked(image).mode
    if gamma < 0:
        raise ValueError(f"Gamma should be a non-negative real number, but got {gamma}")
    return image.convert("RGB").point(gamma_table(gamma, gain)).convert(mode)


def to_grayscale(image: Any, num_output_channels: int = 1) -> Any:
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")
    grey = checked(image).convert("L")
    return grey if num_output_channels == 1 else pillow().merge("RGB", (grey, grey, grey))


def grayscale_to_rgb(image: Any) -> Any:
    return image.convert(mode="RGB")


def invert(image: Any) -> Any:
    return pillow("ImageOps").invert(checked(image))


def posterize(image: Any, bits: int) -> Any:
    return pillow("ImageOps").posterize(checked(image), bits)


def solarize(image: Any, threshold: float) -> Any:
    return pillow("ImageOps").solarize(checked(image), threshold)


def autocontrast(image: Any) -> Any:
    return pillow("ImageOps").autocontrast(checked(image))


def equalize(image: Any) -> Any:
    return pillow("ImageOps").equalize(checked(image))


def jpeg(image: Any, quality: int) -> Any:
    """What is left of an image after it was a JPEG file of that quality."""
    from io import BytesIO

    file = BytesIO()
    image.save(file, format="JPEG", quality=quality)
    return pillow().open(file).copy()
