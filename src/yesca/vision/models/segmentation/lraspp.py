"""Lite R-ASPP."""

from __future__ import annotations

from collections import OrderedDict

from .... import nn
from ...._tensor import Tensor
from ..mobilenetv3 import MobileNetV3, mobilenet_v3_large
from ._utils import MOBILENET, body, resized, segmenter

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP(nn.Module):
    """A body that gives "low" and "high" with `LRASPPHead`; [N, 3, H, W] to `{"out": ...}`."""

    def __init__(
        self, backbone: nn.Module, low_channels: int, high_channels: int, num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:
        return OrderedDict(out=resized(self.classifier(self.backbone(input)), input))


class LRASPPHead(nn.Module):
    """Late channels weighted by their means, and early ones of a larger image, to the classes."""

    def __init__(
        self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int
    ) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels), nn.ReLU(inplace=True))
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.Sigmoid())
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        low, high = input["low"], input["high"]
        late = resized(self.cbr(high) * self.scale(high), low)
        return self.low_classifier(low) + self.high_classifier(late)


def _lraspp_mobilenetv3(
    backbone: MobileNetV3, num_classes: int, aux: bool | None = None
) -> LRASPP:
    layers, high, low = body(backbone, "high", "low")
    return LRASPP(layers, low, high, num_classes)


LRASPP_MobileNet_V3_Large_Weights, lraspp_mobilenet_v3_large = segmenter(
    __name__, "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large",
    mobilenet_v3_large, _lraspp_mobilenetv3, MOBILENET, auxiliary=False)
