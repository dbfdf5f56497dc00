"""Boxes: how they overlap, which of them are kept, and their forms."""

from __future__ import annotations

import math

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...core import dtypes
from . import _box_convert as forms
from ._suppression import kept
from ._turned import turned_box_iou
from ._utils import _upcast, _upcast_non_float

__all__ = [
    "batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image",
    "complete_box_iou", "distance_box_iou", "generalized_box_iou", "masks_to_boxes", "nms",
    "remove_small_boxes",
]

_UPRIGHT = ("xyxy", "xywh", "cxcywh")
_TURNED = ("xywhr", "cxcywhr", "xyxyxyxy")


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places, best score first, of boxes that no better one overlaps by more than a threshold.

    Args:
        boxes: [N, 4] as (x1, y1, x2, y2), floating-point.
        scores: [N], of the same dtype; of equal scores the earlier box counts as better.

    Raises:
        RuntimeError: other shapes or dtypes.

    >>> from yesca.vision.ops import nms
    >>> boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [9.0, 9.0, 12.0, 12.0]])
    >>> nms(boxes, torch.tensor([0.5, 0.9, 0.7]), iou_threshold=0.5)
    tensor([1, 2])
    """
    return kept(boxes, scores, iou_threshold)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """`nms` among the boxes of each category: boxes of different `idxs` [N] never meet."""
    if boxes.numel() > 4000:
        return _batched_nms_vanilla(boxes, scores, idxs, iou_threshold)
    return _batched_nms_coordinate_trick(boxes, scores, idxs, iou_threshold)


def _batched_nms_coordinate_trick(
    boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float
) -> Tensor:
    """All at once, each category moved to a place of its own."""
    if boxes.numel() == 0:
        return ops.empty((0,), dtype=dtypes.int64, device=boxes.device)
    offsets = idxs.to(boxes) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def _batched_nms_vanilla(
    boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float
) -> Tensor:
    """Category by category: less work where there are many boxes."""
    chosen = ops.zeros_like(scores, dtype=dtypes.bool_)
    for category in ops.unique(idxs):
        places = ops.where(idxs == category)[0]
        chosen[places[nms(boxes[places], scores[places], iou_threshold)]] = True
    places = ops.where(chosen)[0]
    return places[scores[places].sort(descending=True)[1]]


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places of boxes [N, 4] whose width and height are at least `min_size`."""
    wide = boxes[..., 2] - boxes[..., 0] >= min_size
    tall = boxes[..., 3] - boxes[..., 1] >= min_size
    return ops.where(wide & tall)[0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes [..., 4] whose corners stay inside an image of `size` (height, width)."""
    height, width = size
    x = boxes[..., 0::2].clamp(min=0, max=width)
    y = boxes[..., 1::2].clamp(min=0, max=height)
    return ops.stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


#: (from, to) -> the functions that lead there.
_WAYS = {
    ("xywh", "xyxy"): (forms._box_xywh_to_xyxy,),
    ("cxcywh", "xyxy"): (forms._box_cxcywh_to_xyxy,),
    ("xyxy", "xywh"): (forms._box_xyxy_to_xywh,),
    ("xyxy", "cxcywh"): (forms._box_xyxy_to_cxcywh,),
    ("xywh", "cxcywh"): (forms._box_xywh_to_xyxy, forms._box_xyxy_to_cxcywh),
    ("cxcywh", "xywh"): (forms._box_cxcywh_to_xyxy, forms._box_xyxy_to_xywh),
    ("cxcywhr", "xywhr"): (forms._box_cxcywhr_to_xywhr,),
    ("xywhr", "cxcywhr"): (forms._box_xywhr_to_cxcywhr,),
    ("cxcywhr", "xyxyxyxy"): (forms._box_cxcywhr_to_xywhr, forms._box_xywhr_to_xyxyxyxy),
    ("xyxyxyxy", "cxcywhr"): (forms._box_xyxyxyxy_to_xywhr, forms._box_xywhr_to_cxcywhr),
    ("xywhr", "xyxyxyxy"): (forms._box_xywhr_to_xyxyxyxy,),
    ("xyxyxyxy", "xywhr"): (forms._box_xyxyxyxy_to_xywhr,),
}


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes [..., K] of one form in another.

    The forms: "xyxy" (two corners), "xywh" (a corner, the size), "cxcywh" (the centre, the size);
    "xywhr" and "cxcywhr" with an angle in degrees, "xyxyxyxy" with all four corners.

    Raises:
        ValueError: an unknown form.
        NotImplementedError: between an upright and a turned form.

    >>> from yesca.vision.ops import box_convert
    >>> box_convert(torch.tensor([1.0, 2.0, 5.0, 8.0]), "xyxy", "cxcywh")
    tensor([3., 5., 4., 6.])
    """
    if not {in_fmt, out_fmt} <= {*_UPRIGHT, *_TURNED}:
        raise ValueError("Unsupported Bounding Box Conversions for given in_fmt "
                         f"{in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    way = _WAYS.get((in_fmt, out_fmt))
    if way is None:
        raise NotImplementedError("Unsupported Bounding Box Conversions for given in_fmt "
                                  f"{in_fmt} and out_fmt {out_fmt}")
    for step in way:
        boxes = step(boxes)
    return boxes


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """The areas [...] of boxes [..., 4] of the form `fmt`; ValueError for a turned one."""
    if fmt not in _UPRIGHT:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = _upcast(boxes)
    if fmt == "xyxy":
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return boxes[..., 2] * boxes[..., 3]


def _corners(boxes: Tensor, fmt: str) -> tuple[Tensor, Tensor]:
    first, second = boxes[..., :2], boxes[..., 2:]
    if fmt == "xyxy":
        return first, second
    if fmt == "xywh":
        return first, first + second
    return first - second / 2, first + second / 2


def _box_inter_union(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> tuple[Tensor, Tensor]:
    """[..., N, M]: areas in common and together of each of N and each of M boxes."""
    area1, area2 = box_area(boxes1, fmt), box_area(boxes2, fmt)
    (low1, high1), (low2, high2) = _corners(boxes1, fmt), _corners(boxes2, fmt)
    low = ops.max(low1[..., None, :], low2[..., None, :, :])
    high = ops.min(high1[..., None, :], high2[..., None, :, :])
    size = _upcast(high - low).clamp(min=0)
    common = size[..., 0] * size[..., 1]
    return common, area1[..., None] + area2[..., None, :] - common


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """[..., N, M]: the area in common over the area together of boxes [..., N, 4] and [..., M, 4].

    The form `fmt` is one of `box_convert`'s. Turned boxes are [N, K] and [M, K], and have no
    gradients. An unknown form is a ValueError.

    >>> from yesca.vision.ops import box_iou
    >>> box_iou(torch.tensor([[0.0, 0.0, 2.0, 2.0]]), torch.tensor([[1.0, 0.0, 3.0, 2.0]]))
    tensor([[0.3333]])
    """
    if fmt in _TURNED:
        centred = [box_convert(each, fmt, "cxcywhr") for each in (boxes1, boxes2)]
        return turned_box_iou(*(_upcast_non_float(each) for each in centred))
    if fmt not in _UPRIGHT:
        raise ValueError(
            f"Unsupported format '{fmt}'. Supported axis-aligned formats: {_UPRIGHT}. "
            "Supported rotated formats: ('cxcywhr', 'xywhr', 'xyxyxyxy').")
    common, union = _box_inter_union(boxes1, boxes2, fmt)
    return common / union


def _hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """[..., N, M, 2]: width and height of the smallest box around both."""
    low = ops.min(boxes1[..., None, :2], boxes2[..., None, :, :2])
    high = ops.max(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    return _upcast(high - low).clamp(min=0)


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """`box_iou`, less the part of the box around both that neither fills (from -1 to 1)."""
    common, union = _box_inter_union(boxes1, boxes2)
    hull = _hull(boxes1, boxes2)
    area = hull[..., 0] * hull[..., 1]
    return common / union - (area - union) / area


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """`distance_box_iou`, less a measure of how the boxes' shapes differ."""
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    distance, iou = _box_diou_iou(boxes1, boxes2, eps)
    shapes = [ops.atan((each[..., 2] - each[..., 0]) / (each[..., 3] - each[..., 1]))
              for each in (boxes1, boxes2)]
    v = 4 / math.pi**2 * (shapes[0][..., None] - shapes[1][..., None, :]) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return distance - alpha * v


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """`box_iou`, less the squared distance of the centres over that of the hull's corners."""
    return _box_diou_iou(_upcast(boxes1), _upcast(boxes2), eps)[0]


def _box_diou_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> tuple[Tensor, Tensor]:
    iou = box_iou(boxes1, boxes2)
    hull = _hull(boxes1, boxes2)
    diagonal = hull[..., 0] ** 2 + hull[..., 1] ** 2 + eps
    centre1, centre2 = ((each[..., :2] + each[..., 2:]) / 2 for each in (boxes1, boxes2))
    apart = _upcast(centre1[..., None, :] - centre2[..., None, :, :]) ** 2
    return iou - (apart[..., 0] + apart[..., 1]) / diagonal, iou


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest boxes [N, 4] around what is not zero in masks [N, H, W], float32.

    The last row and column of a mask are inside its box; an empty mask has a box of zeros.

    >>> from yesca.vision.ops import masks_to_boxes
    >>> masks_to_boxes(torch.tensor([[[0, 0, 0], [0, 1, 1]]]))
    tensor([[1., 1., 2., 1.]])
    """
    if masks.numel() == 0:
        return ops.zeros((0, 4), device=masks.device, dtype=dtypes.float32)
    height, width = masks.shape[1:]
    there = masks.bool()
    rows, columns = (ops.any(there, dim=dim).float() for dim in (2, 1))
    y1, x1 = rows.argmax(dim=1), columns.argmax(dim=1)
    y2 = height - 1 - rows.flip(dims=[1]).argmax(dim=1)
    x2 = width - 1 - columns.flip(dims=[1]).argmax(dim=1)
    boxes = ops.stack([x1, y1, x2, y2], dim=1).float()
    return boxes.masked_fill(rows.amax(dim=1, keepdim=True) == 0, 0.0)
