"""SqueezeNet."""

from __future__ import annotations

from functools import partial

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._entries import classifier, entry

__all__ = ["SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0",
           "squeezenet1_1"]

#: Version -> width and kernel of the first convolution, then what follows: "M" is a pool of
#: maxima, a number k the Fire module with a squeeze of 16 k channels and expansions of 64 k.
_LAYOUTS = {
    "1_0": (96, 7, "M112M2334M4"),
    "1_1": (64, 3, "M11M22M3344"),
}


class Fire(nn.Module):
    """A 1x1 convolution to few channels, then a 1x1 and a 3x3 one side by side."""

    def __init__(
        self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int
    ) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        return ops.cat([self.expand1x1_activation(self.expand1x1(x)),
                        self.expand3x3_activation(self.expand3x3(x))], 1)


def _features(width: int, kernel: int, layout: str) -> nn.Sequential:
    layers: list[nn.Module] = [
        nn.Conv2d(3, width, kernel_size=kernel, stride=2), nn.ReLU(inplace=True)]
    for each in layout:
        if each == "M":
            layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
        else:
            size = int(each)
            layers.append(Fire(width, 16 * size, 64 * size, 64 * size))
            width = 128 * size
    return nn.Sequential(*layers)


class SqueezeNet(nn.Module):
    """Fire modules, then a convolution to the classes: [N, 3, H, W] to logits [N, num_classes].

    `version` is "1_0" or "1_1", the second with a third of the work; another is a ValueError.
    """

    def __init__(
        self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        if version not in _LAYOUTS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        self.features = _features(*_LAYOUTS[version])
        last = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        for each in self.modules():
            if isinstance(each, nn.Conv2d):
                if each is last:
                    nn.init.normal_(each.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(each.weight)
                if each.bias is not None:
                    nn.init.constant_(each.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return ops.flatten(self.classifier(self.features(x)), 1)


_make = partial(classifier, SqueezeNet)

SqueezeNet1_0_Weights, squeezenet1_0 = entry(
    __name__, _make, "SqueezeNet1_0_Weights", "squeezenet1_0", "1_0")
SqueezeNet1_1_Weights, squeezenet1_1 = entry(
    __name__, _make, "SqueezeNet1_1_Weights", "squeezenet1_1", "1_1")
