"""The loss of generalised overlap."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ._utils import _loss_inter_union, _upcast_non_float, reduced

__all__ = ["generalized_box_iou_loss"]


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less `generalized_box_iou` of matched boxes [..., 4] (x1, y1, x2, y2).

    `reduction` is "none", "mean" or "sum" (a ValueError otherwise); `eps` guards divisions.

    >>> from yesca.vision.ops import generalized_box_iou_loss
    >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> generalized_box_iou_loss(box, box + 1.0)
    tensor([1.0794])
    """
    boxes1, boxes2 = _upcast_non_float(boxes1), _upcast_non_float(boxes2)
    common, union = _loss_inter_union(boxes1, boxes2)
    size = (ops.maximum(boxes1[..., 2:], boxes2[..., 2:])
            - ops.minimum(boxes1[..., :2], boxes2[..., :2]))
    hull = size[..., 0] * size[..., 1]
    return reduced(1 - (common / (union + eps) - (hull - union) / (hull + eps)), reduction)
