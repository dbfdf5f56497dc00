"""Images looked up at other places: affine maps, rotation, perspective, elastic; and blurring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....core.devices import Device
from ....core.dtypes import DType, float16, float32, int16, uint8
from ....nn.functional import conv2d, grid_sample, pad
from ..interpolation import InterpolationMode, lenient
from .arithmetic import (
    affine_arguments,
    affine_matrix,
    blur_arguments,
    chosen_coefficients,
    expanded_size,
)

__all__: list[str] = []

_LARGE = 49  # weights of a blur that is done in one step
_NEAREST, _BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def check_lookup(image: Tensor, interpolation: InterpolationMode, fill: Any) -> None:
    """Raises ValueError for an interpolation or a fill that no lookup knows."""
    if isinstance(fill, (tuple, list)):
        count = image.shape[-3]
        if len(fill) > 1 and len(fill) != count:
            raise ValueError("The number of elements in 'fill' cannot broadcast to match the "
                             f"number of channels of the image ({len(fill)} != {count})")
    elif fill is not None and not isinstance(fill, (int, float)):
        raise ValueError(f"Argument fill should be either int, float, tuple or list, got {fill!r}")
    if interpolation not in (_NEAREST, _BILINEAR):
        raise ValueError(f"Interpolation mode '{interpolation.value}' is unsupported with Tensor "
                         "input")


def working_type(image: Tensor) -> DType:
    return image.dtype if image.is_floating_point() else float32


def looked_up(image: Tensor, grid: Tensor, interpolation: InterpolationMode, fill: Any) -> Tensor:
    """The values at the places of a grid (1, H, W, 2), in [-1, 1]; `fill` beyond the image."""
    shape, dtype = image.shape, image.dtype
    size = tuple(grid.shape[1:3])
    if image.numel() == 0:
        return image.reshape(shape[:-2] + size)
    pixels = image.reshape(-1, *shape[-3:]).to(grid.dtype)
    batch = pixels.shape[0]
    if batch > 1:
        grid = grid.expand(batch, -1, -1, -1)
    if fill is not None:  # a channel of ones tells how much of each value is of the image
        pixels = ops.cat((pixels, pixels.new_ones((batch, 1, *shape[-2:]))), dim=1)
    pixels = grid_sample(pixels, grid, mode=interpolation.value, padding_mode="zeros",
                         align_corners=False)
    if fill is not None:
        inside = pixels[:, -1:]
        pixels = pixels[:, :-1]
        values = fill if isinstance(fill, (tuple, list)) else [float(fill)]
        colour = ops.tensor(values, dtype=pixels.dtype, device=pixels.device).view(1, -1, 1, 1)
        if interpolation is _NEAREST:
            pixels = ops.where(inside < 0.5, colour, pixels)
        else:
            pixels = pixels.sub_(colour).mul_(inside).add_(colour)
    if dtype is not pixels.dtype:
        pixels = pixels.round_().to(dtype)
    return pixels.reshape(shape[:-2] + size)


def _places(width: int, height: int, first: tuple[float, float], last: tuple[float, float],
            dtype: DType, device: Device, ones: bool = True) -> Tensor:
    """Equally spaced places (1, height, width, 2), or 3 with a column of ones."""
    places = ops.ones(1, height, width, 3 if ones else 2, dtype=dtype, device=device)
    places[..., 0].copy_(ops.linspace(first[0], last[0], width, dtype=dtype, device=device))
    down = ops.linspace(first[1], last[1], height, dtype=dtype, device=device)
    places[..., 1].copy_(down.unsqueeze_(-1))
    return places


def _affine_grid(matrix: Sequence[float], image: Tensor, out: tuple[int, int]) -> Tensor:
    """Where each pixel of an image of `out` (height, width) comes from."""
    (height, width), (oh, ow) = image.shape[-2:], out
    dtype, device = working_type(image), image.device
    places = _places(ow, oh, ((1.0 - ow) * 0.5, (1.0 - oh) * 0.5),
                     ((ow - 1.0) * 0.5, (oh - 1.0) * 0.5), dtype, device)
    theta = ops.tensor(list(matrix), dtype=dtype, device=device).reshape(1, 2, 3)
    half = ops.tensor([0.5 * width, 0.5 * height], dtype=dtype, device=device)
    return places.view(1, oh * ow, 3).bmm(theta.transpose(1, 2).div_(half)).view(1, oh, ow, 2)


def _from_centre(center: Sequence[float] | None, image: Tensor) -> list[float]:
    """A centre, in pixels from the middle of an image."""
    height, width = image.shape[-2:]
    return [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]


def affine_image(image: Tensor, angle: float, translate: list[float], scale: float, shear: Any,
                 interpolation: Any = _NEAREST, fill: Any = None, center: Any = None) -> Tensor:
    """Turned (clockwise, degrees), moved, scaled and sheared (degrees) about `center`."""
    mode = lenient(interpolation)
    angle, translate, shear, center = affine_arguments(angle, translate, scale, shear, center)
    middle = _from_centre(center, image)
    matrix = affine_matrix(middle, angle, [float(t) for t in translate], scale, shear)
    check_lookup(image, mode, fill)
    height, width = image.shape[-2:]
    return looked_up(image, _affine_grid(matrix, image, (height, width)), mode, fill)


def rotate_image(image: Tensor, angle: float, interpolation: Any = _NEAREST, expand: bool = False,
                 center: Any = None, fill: Any = None) -> Tensor:
    """Turned counter-clockwise by `angle` degrees; with `expand` the result holds all of it.
    Quarter turns that fit move pixels without looking up."""
    angle = angle % 360
    height, width = image.shape[-2:]
    if center is None:
        if angle == 0:
            return image.clone()
        if angle == 180 or (angle in (90, 270) and (expand or height == width)):
            return ops.rot90(image, k=int(angle) // 90, dims=(-2, -1))
    return turned(image, angle, lenient(interpolation), expand, center, fill)


def turned(image: Tensor, angle: float, mode: InterpolationMode, expand: bool, center: Any,
           fill: Any) -> Tensor:
    """Turned by looking every pixel up, whatever the angle."""
    height, width = image.shape[-2:]
    matrix = affine_matrix(_from_centre(center, image), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    check_lookup(image, mode, fill)
    ow, oh = expanded_size(matrix, width, height) if expand else (width, height)
    return looked_up(image, _affine_grid(matrix, image, (oh, ow)), mode, fill)


def perspective_image(image: Tensor, startpoints: Any, endpoints: Any,
                      interpolation: Any = _BILINEAR, fill: Any = None,
                      coefficients: Any = None) -> Tensor:
    """Seen in the perspective that takes four points to four others."""
    a, b, c, d, e, f, g, h = chosen_coefficients(startpoints, endpoints, coefficients)
    mode = lenient(interpolation)
    check_lookup(image, mode, fill)
    oh, ow = image.shape[-2:]
    dtype, device = working_type(image), image.device
    places = _places(ow, oh, (0.5, 0.5), (ow - 0.5, oh - 0.5), dtype, device).view(1, oh * ow, 3)
    above = ops.tensor([[[a, b, c], [d, e, f]]], dtype=dtype, device=device)
    below = ops.tensor([[[g, h, 1.0], [g, h, 1.0]]], dtype=dtype, device=device)
    half = ops.tensor([0.5 * ow, 0.5 * oh], dtype=dtype, device=device)
    grid = places.bmm(above.transpose(1, 2).div_(half))
    grid = grid.div_(places.bmm(below.transpose(1, 2))).sub_(1.0)
    return looked_up(image, grid.view(1, oh, ow, 2), mode, fill)


def identity_grid(size: Sequence[int], dtype: DType, device: Device) -> Tensor:
    """The places (1, H, W, 2) of the pixels themselves."""
    height, width = size
    return _places(width, height, ((1 - width) / width, (1 - height) / height),
                   ((width - 1) / width, (height - 1) / height), dtype, device, ones=False)


def elastic_image(image: Tensor, displacement: Tensor, interpolation: Any = _BILINEAR,
                  fill: Any = None) -> Tensor:
    """Each pixel from its own place plus a displacement (1, H, W, 2), in units of half an
    image. Raises ValueError if the shapes differ."""
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    mode = lenient(interpolation)
    height, width = image.shape[-2:]
    expected = (1, height, width, 2)
    if expected != displacement.shape:
        raise ValueError(f"Argument displacement shape should be {expected}, "
                         f"but given {displacement.shape}")
    if image.dtype is float16:
        return elastic_image(image.float(), displacement, mode, fill).half()
    grid = identity_grid((height, width), working_type(image), image.device)
    return looked_up(image, grid.add_(displacement.to(grid)), mode, fill)


def _bell(size: int, sigma: float, dtype: DType, device: Device) -> Tensor:
    """The weights of a blur along one axis."""
    limit = (size - 1) / (2.0 * math.sqrt(2.0))
    places = ops.linspace(-limit, limit, size, dtype=dtype, device=device)
    return ops.softmax(places.div_(sigma).pow_(2).neg_(), dim=0)


def gaussian_blur_image(image: Tensor, kernel_size: Any, sigma: Any = None) -> Tensor:
    """Each pixel the weighted mean of its neighbours; the edges see mirror images."""
    (width, height), (sx, sy) = blur_arguments(kernel_size, sigma)
    if image.numel() == 0:
        return image
    shape, count = image.shape, image.shape[-3]
    dtype = working_type(image)
    across, down = (_bell(n, s, dtype, image.device) for n, s in ((width, sx), (height, sy)))
    output = image.to(dtype).reshape(-1, *shape[-3:])
    output = pad(output, [width // 2, width // 2, height // 2, height // 2], mode="reflect")
    if width * height > _LARGE:  # one axis after the other
        output = conv2d(output, across.expand(count, 1, 1, width), groups=count)
        weights = down.unsqueeze(-1).expand(count, 1, height, 1)
    else:
        weights = (down.unsqueeze(-1) * across).expand(count, 1, height, width)
    output = conv2d(output, weights, groups=count).reshape(shape)
    return output if image.dtype is dtype else output.round_().to(image.dtype)


def gaussian_noise_image(image: Tensor, mean: float = 0.0, sigma: float = 0.1,
                         clip: bool = True) -> Tensor:
    """Plus normal noise; of bytes, noise in units of white."""
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if image.is_floating_point():
        output = image + (mean + ops.randn_like(image) * sigma)
        return ops.clamp(output, 0, 1) if clip else output
    if image.dtype is not uint8:
        raise ValueError("Input tensor is expected to be in uint8 or float dtype, "
                         f"got dtype={image.dtype}")
    noise = mean * 255 + ops.randn_like(image, dtype=float32) * (sigma * 255)
    output = image + noise.to(int16)
    return (ops.clamp(output, 0, 255) if clip else output).to(uint8)
