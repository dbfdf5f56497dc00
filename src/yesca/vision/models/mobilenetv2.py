"""MobileNet V2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ..ops.misc import Conv2dNormActivation
from ._entries import classifier, entry
from ._starts import start_narrow
from ._utils import _make_divisible

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

Layer = Callable[..., nn.Module]

#: Of each stage: expansion, width, number of blocks, stride of the first.
_STAGES = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1],
           [6, 160, 3, 2], [6, 320, 1, 1]]


class InvertedResidual(nn.Module):
    """1x1 to more channels, 3x3 in each channel, 1x1 back; beside the input where shapes fit."""

    def __init__(
        self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Layer | None = None
    ) -> None:
        super().__init__()
        self.stride = stride
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = norm_layer or nn.BatchNorm2d
        hidden = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == oup
        block = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        widen = [block(inp, hidden, kernel_size=1)] if expand_ratio != 1 else []
        self.conv = nn.Sequential(
            *widen, block(hidden, hidden, stride=stride, groups=hidden),
            nn.Conv2d(hidden, oup, 1, 1, 0, bias=False), norm(oup))
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals: [N, 3, H, W] to logits [N, num_classes].

    Args:
        width_mult: factor of all widths, which are then rounded to multiples of `round_nearest`.
        inverted_residual_setting: of each stage its expansion, width, blocks and stride; rows of
            another length are a ValueError.
        block: the class of the blocks.
    """

    def __init__(
        self, num_classes: int = 1000, width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None, round_nearest: int = 8,
        block: Layer | None = None, norm_layer: Layer | None = None, dropout: float = 0.2,
    ) -> None:
        super().__init__()
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if len(stages) == 0 or len(stages[0]) != 4:
            raise ValueError("inverted_residual_setting should be non-empty or a 4-element list, "
                             f"got {stages}")
        make = block or InvertedResidual
        norm = norm_layer or nn.BatchNorm2d
        outer = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [outer(3, width, stride=2)]
        for expansion, channels, count, stride in stages:
            wide = _make_divisible(channels * width_mult, round_nearest)
            for place in range(count):
                features.append(make(width, wide, stride if place == 0 else 1,
                                     expand_ratio=expansion, norm_layer=norm))
                width = wide
        features.append(outer(width, self.last_channel, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        start_narrow(self)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(ops.flatten(x, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


MobileNet_V2_Weights, mobilenet_v2 = entry(
    __name__, partial(classifier, MobileNetV2), "MobileNet_V2_Weights", "mobilenet_v2")
