"""Inception v3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ._api import WeightsEnum
from ._entries import entry, load
from ._inception import BasicConv2d, Branches, announced, chain, pretrained, rescaled, start

__all__ = ["Inception3", "InceptionOutputs", "Inception_V3_Weights", "_InceptionOutputs",
           "inception_v3"]

Layer = Callable[..., nn.Module]


class InceptionOutputs(NamedTuple):
    """What the model gives in training: logits, and those of the auxiliary head."""

    logits: Tensor
    aux_logits: Tensor | None


_InceptionOutputs = InceptionOutputs


def _mean3(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)


def _across(width: int) -> dict[str, tuple[int, int]]:
    """Arguments of a convolution along rows."""
    return {"kernel_size": (1, width), "padding": (0, width // 2)}


def _down(height: int) -> dict[str, tuple[int, int]]:
    """Arguments of a convolution along columns."""
    return {"kernel_size": (height, 1), "padding": (height // 2, 0)}


class InceptionA(Branches):
    def __init__(
        self, in_channels: int, pool_features: int, conv_block: Layer | None = None
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [
            self.branch1x1(x), self.branch5x5_2(self.branch5x5_1(x)),
            chain(x, (self.branch3x3dbl_1, self.branch3x3dbl_2, self.branch3x3dbl_3)),
            self.branch_pool(_mean3(x)),
        ]


class InceptionB(Branches):
    def __init__(self, in_channels: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [
            self.branch3x3(x),
            chain(x, (self.branch3x3dbl_1, self.branch3x3dbl_2, self.branch3x3dbl_3)),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]


class InceptionC(Branches):
    def __init__(
        self, in_channels: int, channels_7x7: int, conv_block: Layer | None = None
    ) -> None:
        super().__init__()
        conv, inner = conv_block or BasicConv2d, channels_7x7
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, inner, kernel_size=1)
        self.branch7x7_2 = conv(inner, inner, **_across(7))
        self.branch7x7_3 = conv(inner, 192, **_down(7))
        self.branch7x7dbl_1 = conv(in_channels, inner, kernel_size=1)
        self.branch7x7dbl_2 = conv(inner, inner, **_down(7))
        self.branch7x7dbl_3 = conv(inner, inner, **_across(7))
        self.branch7x7dbl_4 = conv(inner, inner, **_down(7))
        self.branch7x7dbl_5 = conv(inner, 192, **_across(7))
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def _forward(self, x: Tensor) -> list[Tensor]:
        twice = (self.branch7x7dbl_1, self.branch7x7dbl_2, self.branch7x7dbl_3,
                 self.branch7x7dbl_4, self.branch7x7dbl_5)
        return [
            self.branch1x1(x), chain(x, (self.branch7x7_1, self.branch7x7_2, self.branch7x7_3)),
            chain(x, twice), self.branch_pool(_mean3(x)),
        ]


class InceptionD(Branches):
    def __init__(self, in_channels: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, **_across(7))
        self.branch7x7x3_3 = conv(192, 192, **_down(7))
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def _forward(self, x: Tensor) -> list[Tensor]:
        seven = (self.branch7x7x3_1, self.branch7x7x3_2, self.branch7x7x3_3, self.branch7x7x3_4)
        return [self.branch3x3_2(self.branch3x3_1(x)), chain(x, seven),
                F.max_pool2d(x, kernel_size=3, stride=2)]


class InceptionE(Branches):
    def __init__(self, in_channels: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, **_across(3))
        self.branch3x3_2b = conv(384, 384, **_down(3))
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, **_across(3))
        self.branch3x3dbl_3b = conv(384, 384, **_down(3))
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def _forward(self, x: Tensor) -> list[Tensor]:
        once = self.branch3x3_1(x)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return [
            self.branch1x1(x), ops.cat([self.branch3x3_2a(once), self.branch3x3_2b(once)], 1),
            ops.cat([self.branch3x3dbl_3a(twice), self.branch3x3dbl_3b(twice)], 1),
            self.branch_pool(_mean3(x)),
        ]


class InceptionAux(nn.Module):
    """The auxiliary head: means, two convolutions, a linear layer."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Layer | None = None
    ) -> None:
        super().__init__()
        conv: Any = conv_block or BasicConv2d
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc: Any = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(ops.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """Inception modules of five kinds: [N, 3, H, W], from 75x75, to logits.

    In training it gives `InceptionOutputs`. `inception_blocks` are the classes of convolutions,
    of modules A to E and of the auxiliary head; the other arguments are `GoogLeNet`'s.
    """

    def __init__(
        self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False,
        inception_blocks: list[Layer] | None = None, init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        parts: list[Layer] = inception_blocks if inception_blocks is not None else [
            BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux]
        drawn = announced(init_weights, "inception_v3")
        if len(parts) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(parts)}")
        conv, a, b, c, d, e, head = parts
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        for name, inner in zip("bcde", (128, 160, 160, 192)):
            setattr(self, f"Mixed_6{name}", c(768, channels_7x7=inner))
        self.AuxLogits = head(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if drawn:
            start(self, 0.1)

    def _transform_input(self, x: Tensor) -> Tensor:
        return rescaled(x) if self.transform_input else x

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = chain(self.maxpool2(x), (self.Mixed_5b, self.Mixed_5c, self.Mixed_5d))
        x = chain(x, (self.Mixed_6a, self.Mixed_6b, self.Mixed_6c, self.Mixed_6d, self.Mixed_6e))
        head = self.AuxLogits
        aux = head(x) if head is not None and self.training else None
        x = self.avgpool(chain(x, (self.Mixed_7a, self.Mixed_7b, self.Mixed_7c)))
        return self.fc(ops.flatten(self.dropout(x), 1)), aux

    def eager_outputs(self, x: Tensor, aux: Tensor | None) -> InceptionOutputs | Tensor:
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x

    def forward(self, x: Tensor) -> InceptionOutputs | Tensor:
        return self.eager_outputs(*self._forward(self._transform_input(x)))


def _inception(*, weights: WeightsEnum | None, progress: bool, **kwargs: Any) -> nn.Module:
    if weights is None:
        return load(Inception3(**kwargs), None, progress)
    return pretrained(Inception3, weights, progress, ("AuxLogits",), True, **kwargs)


Inception_V3_Weights, inception_v3 = entry(
    __name__, _inception, "Inception_V3_Weights", "inception_v3")
