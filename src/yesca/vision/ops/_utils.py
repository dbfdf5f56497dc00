"""What boxes and their losses share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...core.dtypes import float32, float64, int32, int64


def _cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """The tensors side by side; a single one is not copied."""
    return tensors[0] if len(tensors) == 1 else ops.cat(tensors, dim)


def convert_boxes_to_roi_format(boxes: Sequence[Tensor]) -> Tensor:
    """Boxes [L, 4] of each image as one tensor [K, 5], the image's number first."""
    numbers = _cat([ops.full_like(each[:, :1], place) for place, each in enumerate(boxes)])
    return ops.cat([numbers, _cat(list(boxes))], dim=1)


def check_roi_boxes_shape(boxes: Tensor | Sequence[Tensor]) -> None:
    """AssertionError for what is neither [K, 5] nor a list of [L, 4]."""
    if isinstance(boxes, (list, tuple)):
        fits = all(each.size(1) == 4 for each in boxes)
        text = "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]"
    elif isinstance(boxes, Tensor):
        fits = boxes.size(1) == 5
        text = "The boxes tensor shape is not correct as Tensor[K, 5]"
    else:
        fits, text = False, "boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]"
    if not fits:
        raise AssertionError(text)


def split_normalization_params(
    model: nn.Module, norm_classes: list[type] | None = None
) -> tuple[list[Any], list[Any]]:
    """The trained parameters of normalising layers, and all others (for two rates of decay)."""
    kinds = norm_classes or [
        nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm,
        nn.modules.instancenorm._InstanceNorm, nn.LocalResponseNorm]
    for each in kinds:
        if not issubclass(each, nn.Module):
            raise ValueError(f"Class {each} is not a subclass of nn.Module.")
    norms: list[Any] = []
    others: list[Any] = []
    for module in model.modules():
        branch = next(module.children(), None) is not None
        found = module.parameters(recurse=not branch)
        chosen = norms if isinstance(module, tuple(kinds)) and not branch else others
        chosen.extend(each for each in found if each.requires_grad)
    return norms, others


def _upcast(t: Tensor) -> Tensor:
    """Wide enough for products of two values."""
    if t.is_floating_point():
        return t if t.dtype in (float32, float64) else t.float()
    return t if t.dtype in (int32, int64) else t.int()


def _upcast_non_float(t: Tensor) -> Tensor:
    return t if t.dtype in (float32, float64) else t.float()


def _loss_inter_union(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Areas in common and together of matched boxes [..., 4]."""
    corner = ops.maximum(boxes1[..., :2], boxes2[..., :2])
    wide, tall = (ops.minimum(boxes1[..., 2:], boxes2[..., 2:]) - corner).unbind(-1)
    common = ops.where((wide > 0) & (tall > 0), wide * tall, 0.0)
    areas = [(each[..., 2] - each[..., 0]) * (each[..., 3] - each[..., 1])
             for each in (boxes1, boxes2)]
    return common, areas[0] + areas[1] - common


def reduced(loss: Tensor, reduction: str, guard: bool = True) -> Tensor:
    """The loss as it is, its mean (0 of nothing, with `guard`) or its sum."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() > 0 or not guard else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction "
                     "modes: 'none', 'mean', 'sum'")
