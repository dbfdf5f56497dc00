"""AlexNet."""

from __future__ import annotations

from functools import partial

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._entries import classifier, entry

__all__ = ["AlexNet", "AlexNet_Weights", "alexnet"]


def _layer(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding=2 if kernel > 3 else 1)
    return [conv, nn.ReLU(inplace=True)]


def _pool() -> nn.Module:
    return nn.MaxPool2d(kernel_size=3, stride=2)


class AlexNet(nn.Module):
    """Five convolutions and three linear layers: images [N, 3, H, W], from 63x63, to logits."""

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_layer(3, 64, 11, 4), _pool(), *_layer(64, 192, 5), _pool(),
            *_layer(192, 384, 3), *_layer(384, 256, 3), *_layer(256, 256, 3), _pool())
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(inplace=True),
            nn.Dropout(p=dropout), nn.Linear(4096, 4096), nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(ops.flatten(self.avgpool(self.features(x)), 1))


AlexNet_Weights, alexnet = entry(
    __name__, partial(classifier, AlexNet), "AlexNet_Weights", "alexnet")
