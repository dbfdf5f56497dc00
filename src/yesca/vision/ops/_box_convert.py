"""Boxes in one form from boxes in another; the last dimension has a box's numbers."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor

_HALF_TURN = 180.0
_PI = 3.141592653589793


def _box_cxcywh_to_xyxy(boxes: Tensor) -> Tensor:
    cx, cy, w, h = boxes.unbind(-1)
    return ops.stack((cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h), dim=-1)


def _box_xyxy_to_cxcywh(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return ops.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), dim=-1)


def _box_xywh_to_xyxy(boxes: Tensor) -> Tensor:
    x, y, w, h = boxes.unbind(-1)
    return ops.stack((x, y, x + w, y + h), dim=-1)


def _box_xyxy_to_xywh(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return ops.stack((x1, y1, x2 - x1, y2 - y1), dim=-1)


def _stacked(values: list[Tensor], like: Tensor) -> Tensor:
    """One tensor; whole numbers stay whole."""
    boxes = ops.stack(values, dim=-1)
    return boxes if like.is_floating_point() else boxes.round_().to(like.dtype)


def _turn(degrees: Tensor) -> tuple[Tensor, Tensor]:
    radians = degrees * _PI / _HALF_TURN
    return ops.cos(radians), ops.sin(radians)


def _box_cxcywhr_to_xywhr(boxes: Tensor) -> Tensor:
    cx, cy, w, h, r = boxes.unbind(-1)
    cos, sin = _turn(r)
    x1 = cx - w / 2 * cos - h / 2 * sin
    y1 = cy - h / 2 * cos + w / 2 * sin
    return _stacked([x1, y1, w, h, r], boxes)


def _box_xywhr_to_cxcywhr(boxes: Tensor) -> Tensor:
    x1, y1, w, h, r = boxes.unbind(-1)
    cos, sin = _turn(r)
    cx = x1 + w / 2 * cos + h / 2 * sin
    cy = y1 - w / 2 * sin + h / 2 * cos
    return _stacked([cx, cy, w, h, r], boxes)


def _box_xywhr_to_xyxyxyxy(boxes: Tensor) -> Tensor:
    x1, y1, w, h, r = boxes.unbind(-1)
    cos, sin = _turn(r)
    x2, y2 = x1 + w * cos, y1 - w * sin
    down = h * sin, h * cos
    return _stacked([x1, y1, x2, y2, x2 + down[0], y2 + down[1], x1 + down[0], y1 + down[1]],
                    boxes)


def _box_xyxyxyxy_to_xywhr(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2, x3, y3, _, _ = boxes.unbind(-1)
    r = ops.atan2(y1 - y2, x2 - x1) * _HALF_TURN / _PI
    w = ((x2 - x1) ** 2 + (y1 - y2) ** 2).sqrt()
    h = ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return _stacked([x1, y1, w, h, r], boxes)
