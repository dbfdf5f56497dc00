"""DeepLab v3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import functional as ops
from .... import nn
from ...._tensor import Tensor
from ..mobilenetv3 import mobilenet_v3_large
from ..resnet import resnet50, resnet101
from ._utils import (
    MOBILENET,
    RESNET,
    FCNHead,
    _SimpleSegmentationModel,
    body,
    resized,
    segmenter,
)

__all__ = [
    "DeepLabV3", "DeepLabV3_MobileNet_V3_Large_Weights", "DeepLabV3_ResNet101_Weights",
    "DeepLabV3_ResNet50_Weights", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet101",
    "deeplabv3_resnet50",
]


class DeepLabV3(_SimpleSegmentationModel):
    """A body with `DeepLabHead`: [N, 3, H, W] to `{"out": [N, num_classes, H, W]}`."""


def _layer(inner: int, outer: int, kernel: int, dilation: int = 1) -> list[nn.Module]:
    conv = nn.Conv2d(inner, outer, kernel, padding=dilation * (kernel // 2), dilation=dilation,
                     bias=False)
    return [conv, nn.BatchNorm2d(outer), nn.ReLU()]


class ASPPConv(nn.Sequential):
    """A 3x3 convolution, spread."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(*_layer(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """The mean of the image, mapped, at every pixel."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *_layer(in_channels, out_channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        return resized(super().forward(x), x)


class ASPP(nn.Module):
    """Convolutions of several spreads side by side, joined by a 1x1 one."""

    def __init__(
        self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256
    ) -> None:
        super().__init__()
        self.convs = nn.ModuleList([
            nn.Sequential(*_layer(in_channels, out_channels, 1)),
            *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
            ASPPPooling(in_channels, out_channels)])
        self.project = nn.Sequential(
            *_layer(len(self.convs) * out_channels, out_channels, 1), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.project(ops.cat([conv(x) for conv in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """`ASPP`, a 3x3 convolution, one to the classes."""

    def __init__(
        self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)
    ) -> None:
        super().__init__(ASPP(in_channels, atrous_rates), *_layer(256, 256, 3),
                         nn.Conv2d(256, num_classes, 1))


def _deeplabv3(backbone: Any, num_classes: int, aux: bool | None) -> DeepLabV3:
    layers, width, inner = body(backbone, "out", "aux" if aux else None)
    second = FCNHead(inner, num_classes) if aux else None
    return DeepLabV3(layers, DeepLabHead(width, num_classes), second)


DeepLabV3_ResNet50_Weights, deeplabv3_resnet50 = segmenter(
    __name__, "DeepLabV3_ResNet50_Weights", "deeplabv3_resnet50", resnet50, _deeplabv3, RESNET)
DeepLabV3_ResNet101_Weights, deeplabv3_resnet101 = segmenter(
    __name__, "DeepLabV3_ResNet101_Weights", "deeplabv3_resnet101", resnet101, _deeplabv3, RESNET)
DeepLabV3_MobileNet_V3_Large_Weights, deeplabv3_mobilenet_v3_large = segmenter(
    __name__, "DeepLabV3_MobileNet_V3_Large_Weights", "deeplabv3_mobilenet_v3_large",
    mobilenet_v3_large, _deeplabv3, MOBILENET)
