"""EfficientNet, versions 1 and 2."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._api import WeightsEnum
from ._entries import classifier, entry
from ._starts import start_narrow
from ._utils import _make_divisible

__all__ = [
    "EfficientNet", "EfficientNet_B0_Weights", "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights", "EfficientNet_B3_Weights", "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights", "EfficientNet_B6_Weights", "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights", "EfficientNet_V2_M_Weights", "EfficientNet_V2_S_Weights",
    "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "efficientnet_b4",
    "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_l",
    "efficientnet_v2_m", "efficientnet_v2_s",
]

Layer = Callable[..., nn.Module]


@dataclass
class _MBConvConfig:
    """What the blocks of one stage are made of."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Layer

    @staticmethod
    def adjust_channels(channels: int, width_mult: float, min_value: int | None = None) -> int:
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of `MBConv`, its widths and its number of blocks multiplied."""

    def __init__(
        self, expand_ratio: float, kernel: int, stride: int, input_channels: int,
        out_channels: int, num_layers: int, width_mult: float = 1.0, depth_mult: float = 1.0,
        block: Layer | None = None,
    ) -> None:
        super().__init__(
            expand_ratio, kernel, stride, self.adjust_channels(input_channels, width_mult),
            self.adjust_channels(out_channels, width_mult),
            self.adjust_depth(num_layers, depth_mult), block or MBConv)

    @staticmethod
    def adjust_depth(num_layers: int, depth_mult: float) -> int:
        return int(math.ceil(num_layers * depth_mult))


class FusedMBConvConfig(_MBConvConfig):
    """A stage of `FusedMBConv`."""

    def __init__(
        self, expand_ratio: float, kernel: int, stride: int, input_channels: int,
        out_channels: int, num_layers: int, block: Layer | None = None,
    ) -> None:
        super().__init__(expand_ratio, kernel, stride, input_channels, out_channels, num_layers,
                         block or FusedMBConv)


class _Block(nn.Module):
    """Layers beside the input where shapes fit, and then left out at random in training."""

    def __init__(
        self, cnf: _MBConvConfig, stochastic_depth_prob: float, layers: list[nn.Module]
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class MBConv(_Block):
    """Wider, in each channel by itself, weighted channels, narrower."""

    def __init__(
        self, cnf: MBConvConfig, stochastic_depth_prob: float, norm_layer: Layer,
        se_layer: Layer = SqueezeExcitation,
    ) -> None:
        wide = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        layers: list[nn.Module] = []
        if wide != cnf.input_channels:
            layers.append(conv(cnf.input_channels, wide, kernel_size=1))
        layers += [
            conv(wide, wide, kernel_size=cnf.kernel, stride=cnf.stride, groups=wide),
            se_layer(wide, max(1, cnf.input_channels // 4),
                     activation=partial(nn.SiLU, inplace=True)),
            conv(wide, cnf.out_channels, kernel_size=1, activation_layer=None)]
        super().__init__(cnf, stochastic_depth_prob, layers)


class FusedMBConv(_Block):
    """One convolution for the widening and the space, then narrower."""

    def __init__(
        self, cnf: FusedMBConvConfig, stochastic_depth_prob: float, norm_layer: Layer
    ) -> None:
        wide = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        space = {"kernel_size": cnf.kernel, "stride": cnf.stride}
        if wide != cnf.input_channels:
            layers = [conv(cnf.input_channels, wide, **space),
                      conv(wide, cnf.out_channels, kernel_size=1, activation_layer=None)]
        else:
            layers = [conv(cnf.input_channels, cnf.out_channels, **space)]
        super().__init__(cnf, stochastic_depth_prob, layers)


class EfficientNet(nn.Module):
    """Stages of `MBConv` and `FusedMBConv`: [N, 3, H, W] to logits [N, num_classes].

    Args:
        inverted_residual_setting: `MBConvConfig` and `FusedMBConvConfig`; none is a ValueError,
            something else a TypeError.
        dropout: of the last layer.
        stochastic_depth_prob: of the last block; that of earlier ones is less, in proportion.
        last_channel: width of the last convolution, four times its input's if not given.
    """

    def __init__(
        self, inverted_residual_setting: Sequence[MBConvConfig | FusedMBConvConfig],
        dropout: float, stochastic_depth_prob: float = 0.2, num_classes: int = 1000,
        norm_layer: Layer | None = None, last_channel: int | None = None,
    ) -> None:
        super().__init__()
        stages = inverted_residual_setting
        if not stages:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(stages, Sequence)
                and all(isinstance(each, _MBConvConfig) for each in stages)):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm = norm_layer or nn.BatchNorm2d
        conv = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [conv(3, stages[0].input_channels, kernel_size=3, stride=2)]
        total, place = sum(each.num_layers for each in stages), 0
        for stage in stages:
            blocks = []
            for _ in range(stage.num_layers):
                cnf = copy.copy(stage)
                if blocks:
                    cnf.input_channels, cnf.stride = cnf.out_channels, 1
                blocks.append(cnf.block(cnf, stochastic_depth_prob * float(place) / total, norm))
                place += 1
            layers.append(nn.Sequential(*blocks))
        narrow = stages[-1].out_channels
        last = 4 * narrow if last_channel is None else last_channel
        layers.append(conv(narrow, last, kernel_size=1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(last, num_classes))
        start_narrow(self, self._start_linear)

    @staticmethod
    def _start_linear(layer: nn.Linear) -> None:
        bound = 1.0 / math.sqrt(layer.out_features)
        nn.init.uniform_(layer.weight, -bound, bound)

    def _forward_impl(self, x: Tensor) -> Tensor:
        return self.classifier(ops.flatten(self.avgpool(self.features(x)), 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


#: Expansion, kernel, stride, input, output, blocks of each stage; "F" is a fused one.
_B = ("1 3 1 32 16 1; 6 3 2 16 24 2; 6 5 2 24 40 2; 6 3 2 40 80 3; 6 5 1 80 112 3; "
      "6 5 2 112 192 4; 6 3 1 192 320 1")
_V2 = {
    "efficientnet_v2_s":
        "F 1 3 1 24 24 2; F 4 3 2 24 48 4; F 4 3 2 48 64 4; 4 3 2 64 128 6; 6 3 1 128 160 9; "
        "6 3 2 160 256 15",
    "efficientnet_v2_m":
        "F 1 3 1 24 24 3; F 4 3 2 24 48 5; F 4 3 2 48 80 5; 4 3 2 80 160 7; 6 3 1 160 176 14; "
        "6 3 2 176 304 18; 6 3 1 304 512 5",
    "efficientnet_v2_l":
        "F 1 3 1 32 32 4; F 4 3 2 32 64 7; F 4 3 2 64 96 7; 4 3 2 96 192 10; 6 3 1 192 224 19; "
        "6 3 2 224 384 25; 6 3 1 384 640 7",
}


def _efficientnet_conf(
    arch: str, **kwargs: Any
) -> tuple[Sequence[MBConvConfig | FusedMBConvConfig], int | None]:
    """The stages of a model by its name, and the width of its last convolution."""
    family = arch[:len("efficientnet_v2_s")]
    if not arch.startswith("efficientnet_b") and family not in _V2:
        raise ValueError(f"Unsupported model type {arch}")
    multiplied: Any = partial(
        MBConvConfig, width_mult=kwargs.pop("width_mult", 1.0),
        depth_mult=kwargs.pop("depth_mult", 1.0))
    stages = []
    for row in _V2.get(family, _B).split(";"):
        fused, numbers = row.split()[0] == "F", [int(each) for each in row.split() if each != "F"]
        stages.append(FusedMBConvConfig(*numbers) if fused else multiplied(*numbers))
    return stages, 1280 if family in _V2 else None


def _efficientnet(
    arch: str, width: float, depth: float, *, weights: WeightsEnum | None, progress: bool,
    dropout: float, **kwargs: Any,
) -> nn.Module:
    stages, last = _efficientnet_conf(arch, width_mult=width, depth_mult=depth)
    return classifier(EfficientNet, stages, dropout, weights=weights, progress=progress,
                      last_channel=last, **kwargs)


def _entry(enum: str, dropout: float, width: float = 1.0, depth: float = 1.0, **norm: Any) -> Any:
    name = enum.removesuffix("_Weights").lower()
    kwargs = {"norm_layer": partial(nn.BatchNorm2d, **norm)} if norm else {}
    return entry(__name__, _efficientnet, enum, name, name, width, depth, dropout=dropout,
                 **kwargs)


_SLOW = {"eps": 0.001, "momentum": 0.01}
EfficientNet_B0_Weights, efficientnet_b0 = _entry("EfficientNet_B0_Weights", 0.2)
EfficientNet_B1_Weights, efficientnet_b1 = _entry("EfficientNet_B1_Weights", 0.2, 1.0, 1.1)
EfficientNet_B2_Weights, efficientnet_b2 = _entry("EfficientNet_B2_Weights", 0.3, 1.1, 1.2)
EfficientNet_B3_Weights, efficientnet_b3 = _entry("EfficientNet_B3_Weights", 0.3, 1.2, 1.4)
EfficientNet_B4_Weights, efficientnet_b4 = _entry("EfficientNet_B4_Weights", 0.4, 1.4, 1.8)
EfficientNet_B5_Weights, efficientnet_b5 = _entry(
    "EfficientNet_B5_Weights", 0.4, 1.6, 2.2, **_SLOW)
EfficientNet_B6_Weights, efficientnet_b6 = _entry(
    "EfficientNet_B6_Weights", 0.5, 1.8, 2.6, **_SLOW)
EfficientNet_B7_Weights, efficientnet_b7 = _entry(
    "EfficientNet_B7_Weights", 0.5, 2.0, 3.1, **_SLOW)
EfficientNet_V2_S_Weights, efficientnet_v2_s = _entry("EfficientNet_V2_S_Weights", 0.2, eps=0.001)
EfficientNet_V2_M_Weights, efficientnet_v2_m = _entry("EfficientNet_V2_M_Weights", 0.3, eps=0.001)
EfficientNet_V2_L_Weights, efficientnet_v2_l = _entry("EfficientNet_V2_L_Weights", 0.4, eps=0.001)
