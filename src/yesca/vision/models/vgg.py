"""VGG."""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._api import WeightsEnum
from ._entries import classifier, entry, load

__all__ = [
    "VGG", "VGG11_BN_Weights", "VGG11_Weights", "VGG13_BN_Weights", "VGG13_Weights",
    "VGG16_BN_Weights", "VGG16_Weights", "VGG19_BN_Weights", "VGG19_Weights", "vgg11", "vgg11_bn",
    "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
]


class VGG(nn.Module):
    """3x3 convolutions (`features`) and three linear layers: [N, 3, H, W] to logits."""

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(p=dropout),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes))
        for each in self.modules() if init_weights else ():
            if isinstance(each, nn.Conv2d):
                nn.init.kaiming_normal_(each.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(each, nn.BatchNorm2d):
                nn.init.ones_(each.weight)
            elif isinstance(each, nn.Linear):
                nn.init.normal_(each.weight, 0, 0.01)
            if isinstance(each, (nn.Conv2d, nn.BatchNorm2d, nn.Linear)) and each.bias is not None:
                nn.init.zeros_(each.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(ops.flatten(self.avgpool(self.features(x)), 1))


def make_layers(cfg: list[str | int], batch_norm: bool = False) -> nn.Sequential:
    """The convolutions of a list of widths; "M" stands for a pool of maxima."""
    layers: list[nn.Module] = []
    width = 3
    for each in cfg:
        if isinstance(each, str):
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(width, each, kernel_size=3, padding=1))
        layers += [nn.BatchNorm2d(each)] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
        width = each
    return nn.Sequential(*layers)


def _widths(*repeats: int) -> list[str | int]:
    """Five stages of so many convolutions, each ended by a pool."""
    widths: list[str | int] = []
    for width, count in zip((64, 128, 256, 512, 512), repeats):
        widths += [*[width] * count, "M"]
    return widths


cfgs = {
    "A": _widths(1, 1, 2, 2, 2), "B": _widths(2, 2, 2, 2, 2), "D": _widths(2, 2, 3, 3, 3),
    "E": _widths(2, 2, 4, 4, 4),
}


def _vgg(
    cfg: str, batch_norm: bool, *, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> nn.Module:
    features = make_layers(cfgs[cfg], batch_norm=batch_norm)
    if weights is not None:
        kwargs["init_weights"] = False
        if weights.meta["categories"] is None:  # only the features were trained
            return load(VGG(features, **kwargs), weights, progress)
    return classifier(VGG, features, weights=weights, progress=progress, **kwargs)


_entry: Any = partial(entry, __name__, _vgg)

VGG11_Weights, vgg11 = _entry("VGG11_Weights", "vgg11", "A", False)
VGG11_BN_Weights, vgg11_bn = _entry("VGG11_BN_Weights", "vgg11_bn", "A", True)
VGG13_Weights, vgg13 = _entry("VGG13_Weights", "vgg13", "B", False)
VGG13_BN_Weights, vgg13_bn = _entry("VGG13_BN_Weights", "vgg13_bn", "B", True)
VGG16_Weights, vgg16 = _entry("VGG16_Weights", "vgg16", "D", False)
VGG16_BN_Weights, vgg16_bn = _entry("VGG16_BN_Weights", "vgg16_bn", "D", True)
VGG19_Weights, vgg19 = _entry("VGG19_Weights", "vgg19", "E", False)
VGG19_BN_Weights, vgg19_bn = _entry("VGG19_BN_Weights", "vgg19_bn", "E", True)
