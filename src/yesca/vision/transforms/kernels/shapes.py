"""Flips, crops and paddings of tensors [..., C, H, W], and resizing."""

from __future__ import annotations

from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....core.dtypes import DType, float32, float64, int8, int16, int32, int64, uint8
from ....nn.functional import interpolate
from ....nn.functional import pad as pad_edges
from ..interpolation import InterpolationMode, lenient
from .arithmetic import centre_corner, centre_padding, five_corners, pair, resized, sides

__all__: list[str] = []

_SMOOTH = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.LANCZOS)
_NEAREST = (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT)
_WHOLE: tuple[DType, ...] = (uint8, int8, int16, int32, int64)


def horizontal_flip_image(image: Tensor) -> Tensor:
    """The image with left and right exchanged."""
    return image.flip(-1)


def vertical_flip_image(image: Tensor) -> Tensor:
    """The image with top and bottom exchanged."""
    return image.flip(-2)


def crop_image(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A part of an image; zeros where it reaches beyond."""
    h, w = image.shape[-2:]
    bottom, right = top + height, left + width
    if left < 0 or top < 0 or right > w or bottom > h:
        image = image[..., max(top, 0):bottom, max(left, 0):right]
        missing = [max(min(right, 0) - left, 0), max(right - max(w, left), 0),
                   max(min(bottom, 0) - top, 0), max(bottom - max(h, top), 0)]
        return pad_evenly(image, missing, 0, "constant")
    return image[..., top:bottom, left:right]


def center_crop_image(image: Tensor, output_size: Any) -> Tensor:
    """The central part of an image; zeros around one that is smaller."""
    crop_height, crop_width = pair(output_size)
    if image.numel() == 0:
        return image.reshape(image.shape[:-2] + (crop_height, crop_width))
    height, width = image.shape[-2:]
    if crop_height > height or crop_width > width:
        image = pad_edges(image, sides(centre_padding(height, width, crop_height, crop_width)),
                          value=0.0)
        height, width = image.shape[-2:]
        if (crop_height, crop_width) == (height, width):
            return image
    top, left = centre_corner(height, width, crop_height, crop_width)
    return image[..., top:top + crop_height, left:left + crop_width]


def five_crop_image(image: Tensor, size: Any) -> tuple[Tensor, ...]:
    """The four corners (top left, top right, bottom left, bottom right) and the centre."""
    corners, size = five_corners(size, *image.shape[-2:])
    crops = [crop_image(image, top, left, *size) for top, left in corners]
    return (*crops, center_crop_image(image, size))


def ten_crop_image(image: Tensor, size: Any, vertical_flip: bool = False) -> tuple[Tensor, ...]:
    """`five_crop_image` of an image and of its flipped copy."""
    flipped = image.flip(-2 if vertical_flip else -1)
    return five_crop_image(image, size) + five_crop_image(flipped, size)


def _mirrored(image: Tensor, padding: list[int]) -> Tensor:
    """Padded by mirror images that repeat the edge; negative paddings crop."""
    left, right, top, bottom = padding
    if min(padding) < 0:
        height, width = image.shape[-2:]
        image = image[..., max(-top, 0):height - max(-bottom, 0),
                      max(-left, 0):width - max(-right, 0)]
    for axis, (before, after) in ((-1, (left, right)), (-2, (top, bottom))):
        length = image.shape[axis]
        before, after = max(before, 0), max(after, 0)
        if max(before, after) > length:
            raise IndexError(f"index {max(before, after) - 1} is out of bounds for dimension "
                             f"{axis} with size {length}: padding {padding} is wider than the "
                             "image")
        if before or after:
            parts = [image.narrow(axis, 0, before).flip(axis), image,
                     image.narrow(axis, length - after, after).flip(axis)]
            image = ops.cat(parts, dim=axis)
    return image


def pad_evenly(image: Tensor, padding: list[int], fill: Any, padding_mode: str) -> Tensor:
    """Padded by (left, right, top, bottom), with one value for all channels."""
    if padding_mode == "symmetric":
        return _mirrored(image, padding)
    shape = image.shape
    image = image.reshape(-1 if 0 not in shape else shape[:-3].numel(), *shape[-3:])
    if padding_mode == "constant":
        image = pad_edges(image, padding, mode="constant", value=float(fill))
    else:
        dtype = image.dtype
        if not image.is_floating_point():
            image = image.to(float32)
        mode = "replicate" if padding_mode == "edge" else padding_mode
        image = pad_edges(image, padding, mode=mode).to(dtype)
    return image.reshape(shape[:-2] + image.shape[-2:])


def pad_image(image: Tensor, padding: Any, fill: Any = None,
              padding_mode: str = "constant") -> Tensor:
    """Padded by a constant (one, or one for each channel), the edge, or mirror images."""
    padding = sides(padding)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("`padding_mode` should be either `'constant'`, `'edge'`, `'reflect'` or "
                         f"`'symmetric'`, but got `'{padding_mode}'`.")
    fill = 0 if fill is None else fill
    if isinstance(fill, (list, tuple)) and len(fill) == 1:
        fill = fill[0]
    if isinstance(fill, (int, float)):
        return pad_evenly(image, padding, fill, padding_mode)
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
    output = pad_evenly(image, padding, 0, "constant")
    left, right, top, bottom = padding
    value = ops.tensor(fill, device=image.device).to(image.dtype).reshape(-1, 1, 1)
    for amount, part in ((top, (..., slice(top), slice(None))), (left, (..., slice(left))),
                         (bottom, (..., slice(-bottom, None), slice(None))),
                         (right, (..., slice(-right, None)))):
        if amount > 0:
            output[part] = value
    return output


def resize_image(image: Tensor, size: Any, interpolation: Any = InterpolationMode.BILINEAR,
                 max_size: int | None = None, antialias: bool | None = True) -> Tensor:
    """Resized; bytes are computed as bytes. `size` and `max_size` as in `resize`."""
    mode = lenient(interpolation)
    if mode is InterpolationMode.LANCZOS and not antialias:
        raise ValueError("InterpolationMode.LANCZOS requires antialias=True")
    height, width = image.shape[-2:]
    new = resized((height, width), size, max_size)
    if new == (height, width):
        return image
    if image.numel() == 0:
        return image.reshape(image.shape[:-2] + new)
    exact = (float32, float64, uint8) if mode in _SMOOTH or mode in _NEAREST else (float32, float64)
    return _interpolated(image, new, mode, bool(antialias), exact)


def resize_rounded(image: Tensor, size: Any, mode: InterpolationMode,
                   antialias: bool | None) -> Tensor:
    """Resized to (height, width) in floating point, then rounded to the type of the pixels."""
    antialias = bool(antialias) and mode in _SMOOTH[:2]
    return _interpolated(image, tuple(size), mode, antialias, (float32, float64))


def _interpolated(image: Tensor, size: tuple[int, int], mode: InterpolationMode, antialias: bool,
                  exact: tuple[DType, ...]) -> Tensor:
    shape, dtype = image.shape, image.dtype
    image = image.reshape(-1, *((1,) * (3 - len(shape))), *shape[-3:])
    if dtype not in exact:
        image = image.to(float32)
    smooth = mode in _SMOOTH
    image = interpolate(image, size=list(size), mode=mode.value, antialias=antialias and smooth,
                        align_corners=False if smooth else None)
    if dtype not in exact:
        if dtype is uint8 and mode in _SMOOTH[1:]:  # what overshoots must not wrap around
            image = image.clamp_(0, 255)
        image = (image.round_() if dtype in _WHOLE else image).to(dtype)
    return image.reshape(shape[:-2] + tuple(size))


def resized_crop_image(image: Tensor, top: int, left: int, height: int, width: int, size: Any,
                       interpolation: Any = InterpolationMode.BILINEAR,
                       antialias: bool | None = True) -> Tensor:
    """A part of an image, resized."""
    image = crop_image(image, top, left, height, width)
    return resize_image(image, size, interpolation=interpolation, antialias=antialias)


def uniform_temporal_subsample_video(video: Tensor, num_samples: int) -> Tensor:
    """`num_samples` frames of a video [..., T, C, H, W], at equal distances."""
    last = video.shape[-4] - 1
    frames = ops.linspace(0, last, num_samples, device=video.device).long()
    return ops.index_select(video, -4, frames)
