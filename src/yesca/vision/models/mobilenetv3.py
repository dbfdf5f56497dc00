"""MobileNet V3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import WeightsEnum
from ._entries import classifier, entry
from ._starts import start_narrow
from ._utils import _make_divisible

__all__ = ["MobileNetV3", "MobileNet_V3_Large_Weights", "MobileNet_V3_Small_Weights",
           "mobilenet_v3_large", "mobilenet_v3_small"]

Layer = Callable[..., nn.Module]
_WEIGHTING = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)

#: Of each block: input, kernel, expanded, output, squeeze and excitation, activation, stride.
#: What comes from the first block with "*" on may be halved, and spread instead of shrunk.
_BLOCKS = {
    "mobilenet_v3_large": (1280, """
        16 3 16 16 - RE 1; 16 3 64 24 - RE 2; 24 3 72 24 - RE 1; 24 5 72 40 SE RE 2
        40 5 120 40 SE RE 1; 40 5 120 40 SE RE 1; 40 3 240 80 - HS 2; 80 3 200 80 - HS 1
        80 3 184 80 - HS 1; 80 3 184 80 - HS 1; 80 3 480 112 SE HS 1; 112 3 672 112 SE HS 1
        112 5 672 160* SE HS 2; 160* 5 960* 160* SE HS 1; 160* 5 960* 160* SE HS 1"""),
    "mobilenet_v3_small": (1024, """
        16 3 16 16 SE RE 2; 16 3 72 24 - RE 2; 24 3 88 24 - RE 1; 24 5 96 40 SE HS 2
        40 5 240 40 SE HS 1; 40 5 240 40 SE HS 1; 40 5 120 48 SE HS 1; 48 5 144 48 SE HS 1
        48 5 288 96* SE HS 2; 96* 5 576* 96* SE HS 1; 96* 5 576* 96* SE HS 1"""),
}


class InvertedResidualConfig:
    """What a block is made of; the widths are multiplied by `width_mult` and rounded."""

    def __init__(
        self, input_channels: int, kernel: int, expanded_channels: int, out_channels: int,
        use_se: bool, activation: str, stride: int, dilation: int, width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """Wider, in each channel by itself, weighted channels, narrower; beside the input."""

    def __init__(
        self, cnf: InvertedResidualConfig, norm_layer: Layer,
        se_layer: Layer = _WEIGHTING,
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        wide = cnf.expanded_channels
        block = partial(Conv2dNormActivation, norm_layer=norm_layer,
                        activation_layer=nn.Hardswish if cnf.use_hs else nn.ReLU)
        layers: list[nn.Module] = []
        if wide != cnf.input_channels:
            layers.append(block(cnf.input_channels, wide, kernel_size=1))
        layers.append(block(wide, wide, kernel_size=cnf.kernel, groups=wide,
                            stride=1 if cnf.dilation > 1 else cnf.stride, dilation=cnf.dilation))
        if cnf.use_se:
            layers.append(se_layer(wide, _make_divisible(wide // 4, 8)))
        layers.append(block(wide, cnf.out_channels, kernel_size=1, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """Inverted residuals with weighted channels: [N, 3, H, W] to logits [N, num_classes].

    Args:
        inverted_residual_setting: an `InvertedResidualConfig` for each block; none at all is a
            ValueError, something else a TypeError.
        last_channel: width of the layer before the last.
    """

    def __init__(
        self, inverted_residual_setting: list[InvertedResidualConfig], last_channel: int,
        num_classes: int = 1000, block: Layer | None = None, norm_layer: Layer | None = None,
        dropout: float = 0.2, **kwargs: Any,
    ) -> None:
        super().__init__()
        blocks = inverted_residual_setting
        if not blocks:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(blocks, Sequence)
                and all(isinstance(each, InvertedResidualConfig) for each in blocks)):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        make = block or InvertedResidual
        norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        outer = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.Hardswish)
        layers = [outer(3, blocks[0].input_channels, kernel_size=3, stride=2)]
        layers += [make(each, norm) for each in blocks]
        narrow = blocks[-1].out_channels
        layers.append(outer(narrow, 6 * narrow, kernel_size=1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * narrow, last_channel), nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True), nn.Linear(last_channel, num_classes))
        start_narrow(self)

    def _forward_impl(self, x: Tensor) -> Tensor:
        return self.classifier(ops.flatten(self.avgpool(self.features(x)), 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def _mobilenet_v3_conf(
    arch: str, width_mult: float = 1.0, reduced_tail: bool = False, dilated: bool = False,
    **kwargs: Any,
) -> tuple[list[InvertedResidualConfig], int]:
    """The blocks of a model by its name, and the width of its last layer but one."""
    if arch not in _BLOCKS:
        raise ValueError(f"Unsupported model type {arch}")
    last, rows = _BLOCKS[arch]
    divider = 2 if reduced_tail else 1

    def width(text: str) -> int:
        return int(text.rstrip("*")) // (divider if text.endswith("*") else 1)

    blocks = []
    for row in rows.strip().replace("\n", ";").split(";"):
        inner, kernel, wide, outer, squeeze, activation, stride = row.split()
        blocks.append(InvertedResidualConfig(
            width(inner), int(kernel), width(wide), width(outer), squeeze == "SE", activation,
            int(stride), 2 if dilated and outer.endswith("*") else 1, width_mult))
    return blocks, InvertedResidualConfig.adjust_channels(last // divider, width_mult)


def _mobilenet_v3(
    arch: str, *, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> nn.Module:
    blocks, last = _mobilenet_v3_conf(arch, **kwargs)
    return classifier(
        MobileNetV3, blocks, last, weights=weights, progress=progress, **kwargs)


MobileNet_V3_Large_Weights, mobilenet_v3_large = entry(
    __name__, _mobilenet_v3, "MobileNet_V3_Large_Weights", "mobilenet_v3_large",
    "mobilenet_v3_large")
MobileNet_V3_Small_Weights, mobilenet_v3_small = entry(
    __name__, _mobilenet_v3, "MobileNet_V3_Small_Weights", "mobilenet_v3_small",
    "mobilenet_v3_small")
