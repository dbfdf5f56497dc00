"""Sizes, paddings and matrices of transforms: plain numbers, the same for every kind of image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from numbers import Number
from typing import Any

from .... import functional as ops
from ....autograd.modes import no_grad
from ....core.dtypes import float32, float64
from ....linalg import lstsq

__all__: list[str] = []


def resized(canvas: Sequence[int], size: Any, max_size: int | None = None) -> tuple[int, int]:
    """Height and width after a resize of a canvas of (height, width).

    Args:
        size: (height, width), or the length of the shorter edge (a number, or alone in a
            sequence), or None: the longer edge becomes `max_size`.
        max_size: bound of the longer edge.
    """
    height, width = canvas
    if isinstance(size, int):
        size = (size,)
    short, long = sorted((width, height))
    if size is None:
        if not isinstance(max_size, int):
            raise ValueError("max_size must be an integer when size is None, "
                             f"but got {max_size} instead.")
        new_short, new_long = int(max_size * short / long), max_size
    elif len(size) == 1:
        new_short, new_long = size[0], int(size[0] * long / short)
        if max_size is not None:
            if max_size <= new_short:
                raise ValueError(f"max_size = {max_size} must be strictly greater than the "
                                 f"requested size for the smaller edge size = {size}")
            if new_long > max_size:
                new_short, new_long = int(max_size * new_short / new_long), max_size
    else:
        if max_size is not None:
            raise ValueError("max_size should only be passed if size is None or specifies the "
                             "length of the smaller edge, i.e. size should be an int or a sequence "
                             "of length 1 in torchscript mode.")
        return size[0], size[1]
    return (new_long, new_short) if width <= height else (new_short, new_long)


def sides(padding: Any) -> list[int]:
    """(left, right, top, bottom) of a padding: one number for all, (x, y), or all four in the
    order left, top, right, bottom."""
    if isinstance(padding, int):
        return [padding] * 4
    if not isinstance(padding, (tuple, list)):
        raise TypeError("`padding` should be an integer or tuple or list of integers, "
                        f"but got {padding}")
    if len(padding) == 1:
        return [padding[0]] * 4
    if len(padding) == 2:
        return [padding[0], padding[0], padding[1], padding[1]]
    if len(padding) == 4:
        left, top, right, bottom = padding
        return [left, right, top, bottom]
    raise ValueError("Padding must be an int or a 1, 2, or 4 element tuple or list. "
                     f"Found {len(padding)}")


def pair(size: Any) -> list[int]:
    """Height and width of a crop: a number, or a sequence of one or two."""
    if isinstance(size, Number):
        return [int(size), int(size)]
    if isinstance(size, (tuple, list)) and len(size) == 1:
        return [size[0], size[0]]
    return list(size)


def two(size: Any) -> list[int]:
    """`pair`, of exactly two numbers."""
    size = pair(size)
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return size


def centre_padding(height: int, width: int, crop_height: int, crop_width: int) -> list[int]:
    """Left, top, right and bottom padding of an image smaller than its central crop."""
    x, y = max(crop_width - width, 0), max(crop_height - height, 0)
    return [x // 2, y // 2, (x + 1) // 2, (y + 1) // 2]


def centre_corner(height: int, width: int, crop_height: int, crop_width: int) -> tuple[int, int]:
    """Top and left of a central crop."""
    return round((height - crop_height) / 2.0), round((width - crop_width) / 2.0)


def five_corners(size: Any, height: int, width: int) -> tuple[list[tuple[int, int]], list[int]]:
    """(top, left) of the crops in the four corners of an image, and the size of a crop."""
    crop_height, crop_width = size = two(size)
    if crop_width > width or crop_height > height:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(height, width)}")
    bottom, right = height - crop_height, width - crop_width
    return [(0, 0), (0, right), (bottom, 0), (bottom, right)], size


def affine_arguments(angle: Any, translate: Any, scale: Any, shear: Any, center: Any
                     ) -> tuple[float, list[float], list[float], list[float] | None]:
    """(angle, translation, both shears, centre) of an affine transform, checked."""
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError(f"Argument scale should be positive, but got {scale}")
    if not isinstance(shear, (Number, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    shear = [shear, 0.0] if isinstance(shear, Number) else list(shear)
    if len(shear) == 1:
        shear = shear * 2
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    middle = None if center is None else [float(c) for c in center]
    return float(angle), list(translate), shear, middle


def affine_matrix(center: Sequence[float], angle: float, translate: Sequence[float], scale: float,
                  shear: Sequence[float], inverted: bool = True) -> list[float]:
    """The first two rows of T(translate) C R(angle) S(scale) Sh(shear) C^-1, or of its inverse."""
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    cx, cy = center
    moved_x, moved_y = cx + translate[0], cy + translate[1]
    a = math.cos(turn - sy) / math.cos(sy)
    b = -(a * math.tan(sx) + math.sin(turn))
    c = math.sin(turn - sy) / math.cos(sy)
    d = math.cos(turn) - c * math.tan(sx)
    if inverted:  # the matrix of rotation and shear has determinant 1
        m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
        m[2] += cx - m[0] * moved_x - m[1] * moved_y
        m[5] += cy - m[3] * moved_x - m[4] * moved_y
    else:
        m = [a * scale, b * scale, 0.0, c * scale, d * scale, 0.0]
        m[2] += moved_x - m[0] * cx - m[1] * cy
        m[5] += moved_y - m[3] * cx - m[4] * cy
    return m


def expanded_size(matrix: Sequence[float], width: int, height: int) -> tuple[int, int]:
    """Width and height that hold a whole turned image; in single precision, as in torchvision."""
    half = ops.tensor((0.5 * width, 0.5 * height))
    x, y = half.tolist()
    corners = ops.tensor([[-x, -y, 1.0], [-x, y, 1.0], [x, y, 1.0], [x, -y, 1.0]])
    turned = ops.matmul(corners, ops.tensor(list(matrix), dtype=float32).view(2, 3).T)
    low, high = ops.aminmax(turned, dim=0)
    tolerance = 1e-4
    high = high.add_(half).mul_(1.0 / tolerance).trunc_().mul_(tolerance).ceil_()
    low = low.add_(half).mul_(1.0 / tolerance).trunc_().mul_(tolerance).floor_()
    new_width, new_height = high.sub_(low).tolist()
    return int(new_width), int(new_height)


def perspective_coefficients(startpoints: Any, endpoints: Any) -> list[float]:
    """The eight numbers of the perspective that takes four end points back to the start points:
    x -> (a x + b y + c) / (g x + h y + 1), y -> (d x + e y + f) / (g x + h y + 1)."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(f"Please provide exactly four corners, got {len(startpoints)} startpoints "
                         f"and {len(endpoints)} endpoints.")
    rows: list[list[float]] = []
    for (ex, ey), (sx, sy) in zip(endpoints, startpoints):
        rows.append([ex, ey, 1, 0, 0, 0, -sx * ex, -sx * ey])
        rows.append([0, 0, 0, ex, ey, 1, -sy * ex, -sy * ey])
    with no_grad():
        # each row by itself: whole numbers stay exact, others are rounded to single precision first
        system = ops.stack([ops.tensor(row).to(float64) for row in rows])
        aims = ops.tensor([list(p) for p in startpoints], dtype=float64).view(8)
        return lstsq(system, aims, driver="gels").solution.to(float32).tolist()


def chosen_coefficients(startpoints: Any, endpoints: Any, coefficients: Any) -> Any:
    """The coefficients given, or those of the points given."""
    if coefficients is not None:
        if startpoints is not None and endpoints is not None:
            raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined "
                             "concurrently.")
        if len(coefficients) != 8:
            raise ValueError("Argument coefficients should have 8 float values")
        return coefficients
    if startpoints is None or endpoints is None:
        raise ValueError("Either the startpoints/endpoints or the coefficients must have non "
                         "`None` values.")
    return perspective_coefficients(startpoints, endpoints)


def blur_arguments(kernel_size: Any, sigma: Any) -> tuple[list[int], list[float]]:
    """Width and height of a blur and its two deviations, checked; no deviation: one that fits."""
    if not isinstance(kernel_size, (int, list, tuple)):
        raise TypeError("kernel_size should be int or a sequence of integers. "
                        f"Got {type(kernel_size)}")
    size = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(size) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(size)}")
    if any(k % 2 == 0 or k < 0 for k in size):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {size}")
    if sigma is None:
        return size, [k * 0.15 + 0.35 for k in size]
    if not isinstance(sigma, (int, float, list, tuple)):
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigma)}")
    sigma = [float(sigma)] if isinstance(sigma, (int, float)) else list(sigma)
    if len(sigma) == 1:
        sigma = sigma * 2
    if len(sigma) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(sigma)}")
    if any(s <= 0.0 for s in sigma):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    return size, sigma


@lru_cache(maxsize=64)
def gamma_table(gamma: float, gain: float) -> list[int]:
    """The bytes that a gamma correction puts for the bytes of three channels."""
    return [int((255 + 1 - 1e-3) * gain * pow(value / 255.0, gamma)) for value in range(256)] * 3
