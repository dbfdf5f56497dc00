"""Fully convolutional networks."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..resnet import ResNet, resnet50, resnet101
from ._utils import RESNET, FCNHead, _SimpleSegmentationModel, body, segmenter

__all__ = ["FCN", "FCN_ResNet101_Weights", "FCN_ResNet50_Weights", "fcn_resnet101",
           "fcn_resnet50"]


class FCN(_SimpleSegmentationModel):
    """A body of convolutions with `FCNHead`: [N, 3, H, W] to `{"out": [N, num_classes, H, W]}`."""


def _fcn_resnet(backbone: ResNet, num_classes: int, aux: bool | None) -> FCN:
    layers, width, inner = body(backbone, "out", "aux" if aux else None)
    second = FCNHead(inner, num_classes) if aux else None
    return FCN(layers, FCNHead(width, num_classes), second)


_entry: Any = partial(segmenter, __name__, make=_fcn_resnet, settings=RESNET)

FCN_ResNet50_Weights, fcn_resnet50 = _entry("FCN_ResNet50_Weights", "fcn_resnet50", resnet50)
FCN_ResNet101_Weights, fcn_resnet101 = _entry("FCN_ResNet101_Weights", "fcn_resnet101", resnet101)
