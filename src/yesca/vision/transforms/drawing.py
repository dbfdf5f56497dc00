"""The random choices of transforms: the same draws of the generator, in the same order, as in
torchvision, for both versions of the interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import DType, float32, get_default_dtype

__all__: list[str] = []


def happens(p: float) -> bool:
    """Whether something of chance `p` happens."""
    return bool(ops.rand(1) < p)


def uniform(low: float, high: float) -> float:
    return ops.empty(1).uniform_(low, high).item()


def whole(low: int, high: int) -> int:
    """A whole number from `low` up to, but not including, `high`."""
    return ops.randint(low, high, (1,)).item()


def crop_corner(height: int, width: int, size: Sequence[int]) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a crop. Raises ValueError if the image is too small."""
    crop_height, crop_width = size
    if height < crop_height or width < crop_width:
        raise ValueError(f"Required crop size {(crop_height, crop_width)} is larger than input "
                         f"image size {(height, width)}")
    if (crop_height, crop_width) == (height, width):
        return 0, 0, height, width
    top = whole(0, height - crop_height + 1)
    return top, whole(0, width - crop_width + 1), crop_height, crop_width


@lru_cache(maxsize=64)
def _logarithms(ratio: tuple[float, ...], dtype: DType) -> list[float]:
    return ops.log(ops.tensor(ratio, dtype=dtype)).tolist()


def _region(area: float, scale: Sequence[float], ratio: Sequence[float]) -> tuple[float, float]:
    """Area and shape (a quotient) of a part of an image."""
    logarithms = _logarithms(tuple(ratio), get_default_dtype())
    part = area * uniform(scale[0], scale[1])
    return part, ops.exp(ops.empty(1).uniform_(logarithms[0], logarithms[1])).item()


def resized_crop(height: int, width: int, scale: Sequence[float], ratio: Sequence[float]
                 ) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a crop with a share of the area within `scale`, and width by
    height within `ratio`; after ten failures, the largest central crop with such a ratio."""
    for _ in range(10):
        area, aspect = _region(height * width, scale, ratio)
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            top = whole(0, height - h + 1)
            return top, whole(0, width - w + 1), h, w
    shape, w, h = float(width) / float(height), width, height
    if shape < min(ratio):
        h = round(w / min(ratio))
    elif shape > max(ratio):
        w = round(h * max(ratio))
    return (height - h) // 2, (width - w) // 2, h, w


def erased(channels: int, height: int, width: int, scale: Sequence[float], ratio: Sequence[float],
           value: Sequence[float] | None) -> tuple[int, int, int, int, Tensor] | None:
    """(top, left, height, width, what to put there) of a part to erase: `value`, one or one for
    each channel, or noise; None if none was found in ten attempts."""
    for _ in range(10):
        area, aspect = _region(height * width, scale, ratio)
        h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if not (h < height and w < width):
            continue
        if value is None:
            put = ops.empty([channels, h, w], dtype=float32).normal_()
        else:
            put = ops.tensor(value)[:, None, None]
        top = whole(0, height - h + 1)
        return top, whole(0, width - w + 1), h, w, put
    return None


def corners(width: int, height: int, distortion: float) -> tuple[list[list[int]], list[list[int]]]:
    """The corners of an image, and where a perspective takes them: inwards by up to `distortion`
    of half the image."""
    x, y = int(distortion * (width // 2)) + 1, int(distortion * (height // 2)) + 1
    left, right, top, bottom = (0, x), (width - x, width), (0, y), (height - y, height)
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    sides = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return start, [[whole(*across), whole(*down)] for across, down in sides]


def affine(degrees: Sequence[float], translate: Sequence[float] | None,
           scale: Sequence[float] | None, shear: Sequence[float] | None, width: int, height: int
           ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
    """(angle, translation in pixels, scale, shears) of an affine map."""
    angle = uniform(float(degrees[0]), float(degrees[1]))
    moved = (0, 0)
    if translate is not None:
        dx, dy = float(translate[0] * width), float(translate[1] * height)
        x = round(uniform(-dx, dx))
        moved = x, round(uniform(-dy, dy))
    size = 1.0 if scale is None else uniform(scale[0], scale[1])
    shear_x = shear_y = 0.0
    if shear is not None:
        shear_x = uniform(shear[0], shear[1])
        shear_y = uniform(shear[2], shear[3]) if len(shear) == 4 else 0.0
    return angle, moved, size, (shear_x, shear_y)


def displacement(alpha: Sequence[float], sigma: Sequence[float], height: int, width: int,
                 blur: Callable[[Tensor, list[int], list[float]], Tensor]) -> Tensor:
    """A smooth random displacement (1, height, width, 2), where 1 is half an image."""
    parts = []
    for axis, length in ((0, width), (1, height)):
        part = ops.rand(1, 1, height, width) * 2 - 1
        if sigma[axis] > 0.0:
            size = int(8 * sigma[axis] + 1)
            part = blur(part, [size + (size % 2 == 0)] * 2, list(sigma))
        parts.append(part * alpha[axis] / length)
    return ops.cat(parts, 1).permute(0, 2, 3, 1)


def jitter(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple[Any, ...]:
    """(order of the four changes, and the factor of each, or None), from pairs of bounds."""
    order = ops.randperm(4)
    bounds = (brightness, contrast, saturation, hue)
    return order, *(None if b is None else uniform(b[0], b[1]) for b in bounds)
