"""How much turned boxes overlap."""

from __future__ import annotations

import math

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad

#: Points of pairs of boxes that are looked at at once, and how near the rim counts as inside.
_LIMIT, _NEAR = 1 << 20, 1e-5


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _axes(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """[K, 2, 2]: directions of the width and of the height, and half of both, [K, 2]."""
    angle = boxes[:, 4] * (math.pi / 180.0)
    cos, sin = ops.cos(angle), ops.sin(angle)
    directions = ops.stack([ops.stack([cos, -sin], -1), ops.stack([sin, cos], -1)], 1)
    return directions, boxes[:, 2:4] / 2


def _corners(centre: Tensor, directions: Tensor, half: Tensor) -> Tensor:
    """[..., 4, 2], one after the other around the box."""
    wide, tall = (directions * half[..., None]).unbind(-2)
    return ops.stack([centre + wide + tall, centre - wide + tall, centre - wide - tall,
                      centre + wide - tall], -2)


def _inside(points: Tensor, centre: Tensor, directions: Tensor, half: Tensor) -> Tensor:
    """[..., 4]: which points lie in a box, or on its rim."""
    along = ((points - centre[..., None, :])[..., None, :] * directions[..., None, :, :]).sum(-1)
    return (along.abs() <= half[..., None, :] + _NEAR).all(-1)


def _crossings(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """[..., 16, 2] points where sides of two boxes meet, and whether they do."""
    start, other = first[..., :, None, :], second[..., None, :, :]
    side = (first.roll(-1, -2) - first)[..., :, None, :]
    along = (second.roll(-1, -2) - second)[..., None, :, :]
    turn = _cross(side, along)
    apart = turn.abs() > 1e-14
    turn = ops.where(apart, turn, 1.0)
    part, where = _cross(other - start, along) / turn, _cross(other - start, side) / turn
    meet = apart & (part >= 0) & (part <= 1) & (where >= 0) & (where <= 1)
    points = start + part[..., None] * side
    return points.flatten(-3, -2), meet.flatten(-2)


def _common(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """[N, M]: areas that each of N and each of M boxes have in common."""
    # Seen from the middle between two boxes, coordinates lose no digits.
    middle = (boxes1[:, None, :2] + boxes2[None, :, :2]) / 2
    sides = []
    for boxes, place in ((boxes1, 1), (boxes2, 0)):
        directions, half = (each.unsqueeze(place) for each in _axes(boxes))
        sides.append((boxes[:, :2].unsqueeze(place) - middle, directions, half))
    first, second = (_corners(*each) for each in sides)
    met, meet = _crossings(first, second)
    points = ops.cat([met, first, second], -2)
    there = ops.cat([meet, _inside(first, *sides[1]), _inside(second, *sides[0])], -1)
    count = there.sum(-1, keepdim=True).clamp(min=1)
    weights = there.to(points.dtype)[..., None]
    centre = (points * weights).sum(-2) / count
    # The others stand on the centre, where they add no area.
    points = (points - centre[..., None, :]) * weights
    order = ops.atan2(points[..., 1], points[..., 0])
    order = ops.where(there, order, 4.0).argsort(-1)
    points = points.gather(-2, order[..., None].expand(points.shape))
    last = (count - 1)[..., None].expand(*count.shape[:-1], 1, 2)
    before = ops.cat([points.gather(-2, last), points[..., :-1, :]], -2)
    return _cross(before, points).sum(-1).abs() / 2


@no_grad()
def turned_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """[N, M]: the area in common over that together of boxes (cx, cy, w, h, degrees)."""
    areas = [each[:, 2] * each[:, 3] for each in (boxes1, boxes2)]
    step = max(1, _LIMIT // max(1, 24 * len(boxes2)))
    parts = [_common(boxes1[start:start + step], boxes2)
             for start in range(0, len(boxes1), step)]
    common = ops.cat(parts) if parts else boxes1.new_zeros((0, len(boxes2)))
    union = areas[0][:, None] + areas[1][None, :] - common
    real = (areas[0] >= 1e-14)[:, None] & (areas[1] >= 1e-14)[None, :]
    return ops.where(real, common / ops.where(real, union, 1.0), 0.0)
