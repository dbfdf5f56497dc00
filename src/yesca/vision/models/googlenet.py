"""GoogLeNet."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ._api import WeightsEnum
from ._entries import entry
from ._inception import BasicConv2d, Branches, announced, chain, pretrained, rescaled, start

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "_GoogLeNetOutputs", "googlenet"]

Layer = Callable[..., nn.Module]

#: Of each Inception module: input, 1x1, reduction and 3x3, reduction and "5x5", pooled.
_MODULES = {
    "3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64), "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64), "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128), "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNetOutputs(NamedTuple):
    """What the model gives in training: logits, and those of the auxiliary heads."""

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


_GoogLeNetOutputs = GoogLeNetOutputs


class GoogLeNet(nn.Module):
    """Inception modules: [N, 3, H, W] to logits; `GoogLeNetOutputs` in training.

    Args:
        aux_logits: whether there are auxiliary heads (they run in training).
        transform_input: take images normalised by ImageNet's statistics.
        init_weights: draw weights from a truncated normal distribution; not saying is a
            FutureWarning.
        blocks: the classes of convolutions, of modules and of auxiliary heads.
    """

    __constants__ = ["aux_logits", "transform_input"]

    def __init__(
        self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False,
        init_weights: bool | None = None, blocks: list[Layer] | None = None, dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        parts: list[Layer] = (
            [BasicConv2d, Inception, InceptionAux] if blocks is None else blocks)
        drawn = announced(init_weights, "GoogleNet")
        if len(parts) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(parts)}")
        conv, inception, head = parts
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, widths in _MODULES.items():
            setattr(self, f"inception{name}", inception(*widths))
            if name == "3b":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            elif name == "4e":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.aux1 = head(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = head(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if drawn:
            start(self, 0.01)

    def _transform_input(self, x: Tensor) -> Tensor:
        return rescaled(x) if self.transform_input else x

    def _head(self, head: nn.Module | None, x: Tensor) -> Tensor | None:
        return head(x) if head is not None and self.training else None

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        x = self.maxpool2(self.conv3(self.conv2(self.maxpool1(self.conv1(x)))))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        first = self._head(self.aux1, x)
        x = chain(x, (self.inception4b, self.inception4c, self.inception4d))
        second = self._head(self.aux2, x)
        x = self.maxpool4(self.inception4e(x))
        x = self.avgpool(self.inception5b(self.inception5a(x)))
        return self.fc(self.dropout(ops.flatten(x, 1))), second, first

    def eager_outputs(
        self, x: Tensor, aux2: Tensor, aux1: Tensor | None
    ) -> GoogLeNetOutputs | Tensor:
        return GoogLeNetOutputs(x, aux2, aux1) if self.training and self.aux_logits else x

    def forward(self, x: Tensor) -> GoogLeNetOutputs | Tensor:
        return self.eager_outputs(*self._forward(self._transform_input(x)))  # type: ignore


class Inception(Branches):
    """1x1, 3x3, 3x3 (where the paper has 5x5) and pooled channels, side by side."""

    def __init__(
        self, in_channels: int, ch1x1: int, ch3x3red: int, ch3x3: int, ch5x5red: int, ch5x5: int,
        pool_proj: int, conv_block: Layer | None = None,
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1),
            conv(ch3x3red, ch3x3, kernel_size=3, padding=1))
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1),
            conv(ch5x5red, ch5x5, kernel_size=3, padding=1))
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1))

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]


class InceptionAux(nn.Module):
    """An auxiliary head: 4x4 means, a 1x1 convolution, two linear layers."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Layer | None = None,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        self.conv = (conv_block or BasicConv2d)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = ops.flatten(self.conv(F.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


def _googlenet(*, weights: WeightsEnum | None, progress: bool, **kwargs: Any) -> nn.Module:
    if weights is None:
        return GoogLeNet(**kwargs)
    kept = kwargs.get("aux_logits", False)
    model = pretrained(GoogLeNet, weights, progress, ("aux1", "aux2"), kept, **kwargs)
    if kept:
        warnings.warn("auxiliary heads in the pretrained googlenet model are NOT pretrained, so "
                      "make sure to train them")
    return model


GoogLeNet_Weights, googlenet = entry(__name__, _googlenet, "GoogLeNet_Weights", "googlenet")
