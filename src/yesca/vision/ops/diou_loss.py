"""The loss of overlap and distance."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ._utils import _loss_inter_union, _upcast_non_float, reduced

__all__ = ["distance_box_iou_loss"]


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less `distance_box_iou` of matched boxes [..., 4] (x1, y1, x2, y2).

    `reduction` is "none", "mean" or "sum" (a ValueError otherwise); `eps` guards divisions.
    """
    loss, _ = _diou_iou_loss(_upcast_non_float(boxes1), _upcast_non_float(boxes2), eps)
    return reduced(loss, reduction)


def _diou_iou_loss(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> tuple[Tensor, Tensor]:
    common, union = _loss_inter_union(boxes1, boxes2)
    iou = common / (union + eps)
    hull = (ops.maximum(boxes1[..., 2:], boxes2[..., 2:])
            - ops.minimum(boxes1[..., :2], boxes2[..., :2])) ** 2
    centre1, centre2 = ((each[..., 2:] + each[..., :2]) / 2 for each in (boxes1, boxes2))
    apart = (centre1 - centre2) ** 2
    distance = (apart[..., 0] + apart[..., 1]) / (hull[..., 0] + hull[..., 1] + eps)
    return 1 - iou + distance, iou
