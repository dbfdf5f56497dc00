"""Bounding boxes: formats, and keeping them inside an image."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....core.dtypes import float32, float64, int64
from ...tv_tensors.boxes import BoundingBoxFormat, is_rotated_bounding_format

__all__: list[str] = []

Format = BoundingBoxFormat
XYXY, XYXYXYXY = Format.XYXY, Format.XYXYXYXY
#: Numbers of a box in each format.
LENGTH = {Format.XYWHR: 5, Format.CXCYWHR: 5, XYXYXYXY: 8}


def format_of(value: Any) -> Any:
    """A format, given as such or by name; None as it is."""
    return Format[value.upper()] if isinstance(value, str) else value


def _halved(sizes: Tensor) -> Tensor:
    return sizes.div(2, rounding_mode=None if sizes.is_floating_point() else "floor")


def _corner_to_centre(boxes: Tensor) -> Tensor:
    return ops.cat([boxes[..., :2] + _halved(boxes[..., 2:]), boxes[..., 2:]], dim=-1)


def _centre_to_corners(boxes: Tensor) -> Tensor:
    exact = boxes if boxes.is_floating_point() else boxes.float()
    first = exact[..., :2] - exact[..., 2:] / 2
    return ops.cat([first, exact[..., 2:] + first], dim=-1).to(boxes.dtype)


def _corners_to_centre(boxes: Tensor) -> Tensor:
    sizes = boxes[..., 2:] - boxes[..., :2]
    return ops.cat([_halved(boxes[..., :2] * 2 + sizes), sizes], dim=-1)


def _centre_to_corner(boxes: Tensor) -> Tensor:
    corners = _centre_to_corners(boxes)
    if boxes.is_floating_point():
        return ops.cat([corners[..., :2], boxes[..., 2:]], dim=-1)
    return ops.cat([corners[..., :2], corners[..., 2:] - corners[..., :2]], dim=-1)


def _turned_half(boxes: Tensor, sign: int) -> Tensor:
    """The corner of turned boxes moved by half the diagonal (1) or back (-1), angle kept."""
    half = boxes[..., 2:4].div(-2, rounding_mode=None if boxes.is_floating_point() else "floor")
    w, h = half.abs_().unbind(-1)
    angle = boxes[..., 4].mul(math.pi).div(180.0)
    cos, sin = angle.cos(), angle.sin()
    made = boxes.clone()
    made[..., 0].add_(w.mul(cos), alpha=sign).add_(h.mul(sin), alpha=sign)
    made[..., 1].sub_(w.mul(sin), alpha=sign).add_(h.mul(cos), alpha=sign)
    return made


def _turned_to_corners(boxes: Tensor) -> Tensor:
    width, height = boxes[..., 2], boxes[..., 3]
    angle = boxes[..., 4].mul(math.pi).div(180.0)
    cos, sin = angle.cos(), angle.sin()
    made = boxes[..., :2].tile((1, 4))
    made[..., 2].add_(width.mul(cos))
    made[..., 3].sub_(width.mul(sin))
    made[..., 4].add_(width.mul(cos).add(height.mul(sin)))
    made[..., 5].sub_(width.mul(sin).sub(height.mul(cos)))
    made[..., 6].add_(height.mul(sin))
    made[..., 7].add_(height.mul(cos))
    return made


def _corners_to_turned(boxes: Tensor) -> Tensor:
    exact = boxes if boxes.dtype in (float32, float64) else boxes.float()
    x1, y1, x2, y2, x3, y3 = exact[..., :6].unbind(-1)
    angle = ops.atan2(y1 - y2, x2 - x1).div_(math.pi).mul_(180.0)
    width = (x2 - x1).pow(2).add((y2 - y1).pow(2)).sqrt()
    height = (x3 - x2).pow(2).add((y3 - y2).pow(2)).sqrt()
    return ops.stack([x1, y1, width, height, angle], dim=-1).to(boxes.dtype)


#: To and from the format in the middle: XYXY, or XYWHR for turned boxes.
_TO_MIDDLE: dict[Format, Callable[[Tensor], Tensor]] = {
    XYXY: lambda boxes: boxes,
    Format.XYWH: lambda boxes: ops.cat([boxes[..., :2], boxes[..., 2:] + boxes[..., :2]], -1),
    Format.CXCYWH: _centre_to_corners,
    Format.XYWHR: lambda boxes: boxes,
    Format.CXCYWHR: lambda boxes: _turned_half(boxes, -1),
    XYXYXYXY: _corners_to_turned,
}
_FROM_MIDDLE: dict[Format, Callable[[Tensor], Tensor]] = {
    XYXY: lambda boxes: boxes,
    Format.XYWH: lambda boxes: ops.cat([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], -1),
    Format.CXCYWH: _corners_to_centre,
    Format.XYWHR: lambda boxes: boxes,
    Format.CXCYWHR: lambda boxes: _turned_half(boxes, 1),
    XYXYXYXY: _turned_to_corners,
}
_DIRECT = {
    (Format.XYWH, Format.CXCYWH): _corner_to_centre,
    (Format.CXCYWH, Format.XYWH): _centre_to_corner,
}


def convert(boxes: Tensor, old: Format, new: Format, inplace: bool = False) -> Tensor:
    """Boxes [..., 4], [..., 5] or [..., 8] in another format, written over the old ones with
    `inplace` where both have as many numbers. Raises ValueError between turned and straight."""
    if old == new:
        return boxes
    if is_rotated_bounding_format(old) != is_rotated_bounding_format(new):
        raise ValueError("Cannot convert between rotated and unrotated bounding boxes, "
                         f"from {old.value} to {new.value}.")
    if (old, new) in _DIRECT:
        made = _DIRECT[old, new](boxes)
    else:
        made = _FROM_MIDDLE[new](_TO_MIDDLE[old](boxes))
    return boxes.copy_(made) if inplace and made.shape == boxes.shape else made


def clamp(boxes: Tensor, format: Format, canvas_size: tuple[int, int],
          mode: str | None) -> Tensor:
    """Boxes kept inside a canvas of (height, width); a copy as they are if `mode` is None."""
    if mode is None:
        return boxes.clone()
    if is_rotated_bounding_format(format):
        return _clamped_turned(boxes, format, canvas_size, mode)
    exact = boxes.clone() if boxes.is_floating_point() else boxes.float()
    corners = convert(exact, format, XYXY)
    height, width = canvas_size
    corners = ops.stack([corners[..., 0::2].clamp(0, width), corners[..., 1::2].clamp(0, height)],
                        dim=-1).flatten(-2)
    return convert(corners, XYXY, format).to(boxes.dtype)


def _order(boxes: Tensor) -> Tensor:
    """Which numbers of each box come first to begin with its leftmost corner."""
    x, y = boxes[..., 0::2], boxes[..., 1::2]
    tallest, widest = y.abs().amax(1, keepdim=True), x.abs().amax(1, keepdim=True)
    first = (y / tallest + x / widest * 100).min(dim=1).indices
    steps = ops.ones_like(boxes)
    steps[..., 0] = first.mul(2)
    return steps.cumsum_(1).remainder_(8).to(int64)


def _lines(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Slope and height at x = 0 of the four edges."""
    x, y = boxes[..., ::2], boxes[..., 1::2]
    slope = y.diff(append=y[..., :1]) / x.diff(append=x[..., :1])
    return slope, y - slope * x


def _heights(boxes: Tensor, whole: Tensor, canvas_size: tuple[int, int], mode: str) -> Tensor:
    """Where the moved edges meet x = 0, so that corners are inside and edges keep their slope."""
    slope, b = _lines(boxes)
    a1, a2, a3, a4 = slope.unbind(-1)
    b1, b2, b3, b4 = b.unbind(-1)
    w1, w2, w3, w4 = _lines(whole)[1].unbind(-1)
    height, width = canvas_size
    b1 = b2.clamp(b1, b3).clamp(0, height)
    b4 = b3.clamp(b2, b4).clamp(0, height)
    if mode == "hard":
        b1 = b4 = (b1 + b4) / 2
        highest = ops.stack([b1 * a2 / a1, b3 * a2 / a3, (a1 - a2) * width + b1,
                             (a3 - a2) * width + b3], dim=1).amax(1)
        b2 = highest.clamp(max=b2)
        lowest = ops.stack([height * (1 - a3 / a4) + b4 * a3 / a4,
                            height * (1 - a3 / a2) + b2 * a3 / a2, (a2 - a3) * width + b2,
                            (a4 - a3) * width + b4], dim=1).amin(1)
        b3 = lowest.clamp(min=b3)
    # one tensor may stand for two edges, and is bounded once for each
    first, last = (b1.clamp(w1, w3), b4.clamp(w2, w4)) if b1 is not b4 else (
        (both := b1.clamp(w1, w3).clamp(w2, w4)), both)
    return ops.stack([first, b2.clamp(w2, w4), b3.clamp(w1, w3), last], dim=-1)


def _clamped_left(boxes: Tensor, whole: Tensor, canvas_size: tuple[int, int],
                  mode: str) -> Tensor:
    """Turned boxes (N, 8) without what is left of x = 0."""
    slope, _ = _lines(boxes)
    x1, y1, x2, y2, x3, y3, x4, y4 = boxes.unbind(-1)
    b = _heights(boxes, whole, canvas_size, mode)
    meet = b.diff(prepend=b[..., 3:4]).neg() / slope.diff(prepend=slope[..., 3:4])
    cut = ops.stack((meet, slope * meet + b), dim=-1).view(-1, 8)
    straight = boxes.clone()
    straight[..., 0].clamp_(0)
    straight[..., 6].clamp_(0)
    level = y1.isclose(y2) | y3.isclose(y4)
    outside = (x1 <= 0) & (x2 <= 0) & (x3 <= 0) & (x4 <= 0)
    empty = outside | y1.isclose(y4) | y2.isclose(y3) | (level & x1.isclose(x2))
    for when, made in (((x1 < 0) & ~cut.isnan().any(-1), cut), (level, straight),
                       (empty, ops.zeros_like(straight))):
        boxes = ops.where(when.unsqueeze(1), made, boxes)
    return boxes


def _quarter(boxes: Tensor, width: int) -> Tensor:
    """Boxes (N, 8) in a canvas turned by a quarter."""
    return ops.stack([boxes[:, 1::2], width - boxes[:, ::2]], dim=-1).flatten(1)


def _clamped_turned(boxes: Tensor, format: Format, canvas_size: tuple[int, int],
                    mode: str) -> Tensor:
    """One side of the canvas after the other, each as the left one."""
    corners = convert(boxes, format, XYXYXYXY).reshape(-1, 8)
    if not corners.numel():
        return boxes.clone()
    whole = corners.clone()
    for _ in range(4):
        order = _order(corners)
        corners, whole = corners.gather(1, order), whole.gather(1, order)
        corners = _clamped_left(corners, whole, canvas_size, mode)
        # the same gather once more, as torchvision has it: corners go on where they came to lie
        corners, whole = corners.gather(1, order), whole.gather(1, order)
        corners, whole = _quarter(corners, canvas_size[1]), _quarter(whole, canvas_size[1])
        canvas_size = canvas_size[::-1]
    return convert(corners, XYXYXYXY, format).reshape(boxes.shape)


def parallelogram_to_boxes(corners: Tensor) -> Tensor:
    """The rectangles (..., 8) around parallelograms, along their longer sides."""
    exact = corners if corners.dtype in (float32, float64) else corners.float()
    x1, y1, x2, y2, x3, y3, x4, y4 = exact.unbind(-1)
    cx, cy = (x1 + x3) / 2, (y1 + y3) / 2
    wide = ops.sqrt((x2 - x1).pow(2) + (y2 - y1).pow(2))
    high = ops.sqrt((x4 - x1).pow(2) + (y4 - y1).pow(2))
    along, across = ops.atan2(y1 - y2, x2 - x1), ops.atan2(y1 - y4, x4 - x1)
    angle = along - across
    sign = ops.where(angle > math.pi / 2, -1, 1)
    cos, sin = angle.cos(), angle.sin()
    w = ops.where(wide < high, wide * sin, wide + high * cos * sign) / 2
    h = ops.where(wide > high, high * sin, high + wide * cos * sign) / 2
    angle = ops.where(high > wide, across + math.pi / 2, along)
    cos, sin = angle.cos(), angle.sin()
    wc, ws, hc, hs = w * cos, w * sin, h * cos, h * sin
    made = (cx - wc - hs, cy - hc + ws, cx + wc - hs, cy - hc - ws,
            cx + wc + hs, cy + hc - ws, cx - wc + hs, cy + hc + ws)
    return ops.stack(made, dim=-1).to(corners.dtype)


def sane_boxes(boxes: Tensor, format: Format, canvas_size: tuple[int, int],
               min_size: float = 1.0, min_area: float = 1.0) -> Tensor:
    """Which boxes lie inside a canvas and are no smaller than they should be."""
    turned = is_rotated_bounding_format(format)
    boxes = convert(boxes, format, XYXYXYXY if turned else XYXY)
    if turned:
        n = boxes.unbind(-1)  # the second edge as torchvision measures it, from these four numbers
        widths = ops.sqrt((n[0] - n[2]).pow(2) + (n[1] - n[3]).pow(2))
        heights = ops.sqrt((n[3] - n[5]).pow(2) + (n[4] - n[6]).pow(2))
    else:
        widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    height, width = canvas_size
    valid = (widths >= min_size) & (heights >= min_size) & (widths * heights >= min_area)
    inside = (boxes[..., 0::2] <= width) & (boxes[..., 1::2] <= height)
    return valid & (boxes >= 0).all(dim=-1) & inside.all(dim=-1)


def sane_points(points: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    """Which points (or rows of points) lie inside a canvas."""
    height, width = canvas_size
    x, y = points[..., 0], points[..., 1]
    valid = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return valid.flatten(start_dim=1).all(dim=1) if valid.ndim > 1 else valid


def clamp_points(points: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    """Points moved onto the pixels of a canvas."""
    height, width = canvas_size
    exact = points.clone() if points.is_floating_point() else points.float()
    exact[..., 0].clamp_(min=0, max=width - 1)
    exact[..., 1].clamp_(min=0, max=height - 1)
    return exact.to(points.dtype)
