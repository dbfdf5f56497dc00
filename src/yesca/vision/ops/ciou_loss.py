"""The loss of overlap, distance and shape."""

from __future__ import annotations

import math

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ._utils import _upcast_non_float, reduced
from .diou_loss import _diou_iou_loss

__all__ = ["complete_box_iou_loss"]


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less `complete_box_iou` of matched boxes [..., 4] (x1, y1, x2, y2).

    `reduction` is "none", "mean" or "sum" (a ValueError otherwise); `eps` guards divisions.
    """
    boxes1, boxes2 = _upcast_non_float(boxes1), _upcast_non_float(boxes2)
    loss, iou = _diou_iou_loss(boxes1, boxes2)
    shapes = [ops.atan((each[..., 2] - each[..., 0]) / (each[..., 3] - each[..., 1]))
              for each in (boxes1, boxes2)]
    v = 4 / math.pi**2 * (shapes[1] - shapes[0]) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return reduced(loss + alpha * v, reduction)
