"""RegNet."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from typing import Any

from ... import nn
from ..._tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import WeightsEnum
from ._entries import classifier, entry
from ._utils import _make_divisible

__all__ = [
    "RegNet", "RegNet_X_16GF_Weights", "RegNet_X_1_6GF_Weights", "RegNet_X_32GF_Weights",
    "RegNet_X_3_2GF_Weights", "RegNet_X_400MF_Weights", "RegNet_X_800MF_Weights",
    "RegNet_X_8GF_Weights", "RegNet_Y_128GF_Weights", "RegNet_Y_16GF_Weights",
    "RegNet_Y_1_6GF_Weights", "RegNet_Y_32GF_Weights", "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_400MF_Weights", "RegNet_Y_800MF_Weights", "RegNet_Y_8GF_Weights", "regnet_x_16gf",
    "regnet_x_1_6gf", "regnet_x_32gf", "regnet_x_3_2gf", "regnet_x_400mf", "regnet_x_800mf",
    "regnet_x_8gf", "regnet_y_128gf", "regnet_y_16gf", "regnet_y_1_6gf", "regnet_y_32gf",
    "regnet_y_3_2gf", "regnet_y_400mf", "regnet_y_800mf", "regnet_y_8gf",
]

Layer = Callable[..., nn.Module]


class SimpleStemIN(Conv2dNormActivation):
    """The first layer: a 3x3 convolution of stride 2."""

    def __init__(
        self, width_in: int, width_out: int, norm_layer: Layer, activation_layer: Layer
    ) -> None:
        super().__init__(width_in, width_out, kernel_size=3, stride=2, norm_layer=norm_layer,
                         activation_layer=activation_layer)


class BottleneckTransform(nn.Sequential):
    """1x1, grouped 3x3, weighted channels (with `se_ratio`), 1x1."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, norm_layer: Layer,
        activation_layer: Layer, group_width: int, bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        inner = int(round(width_out * bottleneck_multiplier))
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer,
                       activation_layer=activation_layer)
        layers: dict[str, nn.Module] = OrderedDict()
        layers["a"] = conv(width_in, inner, kernel_size=1, stride=1)
        layers["b"] = conv(inner, inner, kernel_size=3, stride=stride,
                           groups=inner // group_width)
        if se_ratio:
            layers["se"] = SqueezeExcitation(
                inner, int(round(se_ratio * width_in)), activation=activation_layer)
        layers["c"] = conv(inner, width_out, kernel_size=1, stride=1, activation_layer=None)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """`BottleneckTransform` beside its input, or a projection of it where shapes differ."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, norm_layer: Layer,
        activation_layer: Layer, group_width: int = 1, bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(
                width_in, width_out, kernel_size=1, stride=stride, norm_layer=norm_layer,
                activation_layer=None)
        self.f = BottleneckTransform(width_in, width_out, stride, norm_layer, activation_layer,
                                     group_width, bottleneck_multiplier, se_ratio)
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        beside = x if self.proj is None else self.proj(x)
        return self.activation(beside + self.f(x))


class AnyStage(nn.Sequential):
    """Blocks of one width; the first has the stride."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, depth: int, block_constructor: Layer,
        norm_layer: Layer, activation_layer: Layer, group_width: int,
        bottleneck_multiplier: float, se_ratio: float | None = None, stage_index: int = 0,
    ) -> None:
        super().__init__()
        for place in range(depth):
            self.add_module(f"block{stage_index}-{place}", block_constructor(
                width_out if place else width_in, width_out, 1 if place else stride, norm_layer,
                activation_layer, group_width, bottleneck_multiplier, se_ratio))


class BlockParams:
    """What the stages are made of: lists with a value for each stage."""

    def __init__(
        self, depths: list[int], widths: list[int], group_widths: list[int],
        bottleneck_multipliers: list[float], strides: list[int], se_ratio: float | None = None,
    ) -> None:
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(
        cls, depth: int, w_0: int, w_a: float, w_m: float, group_width: int,
        bottleneck_multiplier: float = 1.0, se_ratio: float | None = None, **kwargs: Any,
    ) -> BlockParams:
        """Stages from a line: block i of `depth` is about `w_0 + w_a * i` wide.

        The widths are brought to `w_0` times powers of `w_m`, and to multiples of 8; blocks of one
        width are a stage. Settings that give no widths are a ValueError.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        powers = (round(math.log((place * w_a + w_0) / w_0) / math.log(w_m))
                  for place in range(depth))
        stages = [(width, len(list(same))) for width, same in
                  groupby(int(round(w_0 * w_m**power / 8)) * 8 for power in powers)]
        count = len(stages)
        multipliers = [bottleneck_multiplier] * count
        widths, groups = cls._adjust_widths_groups_compatibilty(
            [width for width, _ in stages], multipliers, [group_width] * count)
        return cls([blocks for _, blocks in stages], widths, groups, multipliers, [2] * count,
                   se_ratio)

    def _get_expanded_params(self) -> Iterable[tuple[int, int, int, int, float]]:
        return zip(self.widths, self.strides, self.depths, self.group_widths,
                   self.bottleneck_multipliers)

    @staticmethod
    def _adjust_widths_groups_compatibilty(
        stage_widths: list[int], bottleneck_ratios: list[float], group_widths: list[int]
    ) -> tuple[list[int], list[int]]:
        """Widths whose inner ones are multiples of the groups' width, which fits the inner."""
        inner = [int(width * ratio) for width, ratio in zip(stage_widths, bottleneck_ratios)]
        groups = [min(group, width) for group, width in zip(group_widths, inner)]
        whole = [_make_divisible(width, group) for width, group in zip(inner, groups)]
        return [int(width / ratio) for width, ratio in zip(whole, bottleneck_ratios)], groups


class RegNet(nn.Module):
    """Residual stages whose widths follow a line: [N, 3, H, W] to logits [N, num_classes]."""

    def __init__(
        self, block_params: BlockParams, num_classes: int = 1000, stem_width: int = 32,
        stem_type: Layer | None = None, block_type: Layer | None = None,
        norm_layer: Layer | None = None, activation: Layer | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        active = activation or nn.ReLU
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, norm, active)
        width, stages = stem_width, OrderedDict()
        for place, (outer, stride, depth, group, multiplier) in enumerate(
                block_params._get_expanded_params(), start=1):
            stages[f"block{place}"] = AnyStage(
                width, outer, stride, depth, block_type or ResBottleneckBlock, norm, active, group,
                multiplier, block_params.se_ratio, stage_index=place)
            width = outer
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)
        for each in self.modules():
            if isinstance(each, nn.Conv2d):
                fan_out = each.kernel_size[0] * each.kernel_size[1] * each.out_channels
                nn.init.normal_(each.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(each, nn.BatchNorm2d):
                nn.init.ones_(each.weight)
                nn.init.zeros_(each.bias)
            elif isinstance(each, nn.Linear):
                nn.init.normal_(each.weight, mean=0.0, std=0.01)
                nn.init.zeros_(each.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.trunk_output(self.stem(x)))
        return self.fc(x.flatten(start_dim=1))


def _regnet(
    se_ratio: float | None, depth: int, w_0: int, w_a: float, w_m: float, group_width: int, *,
    weights: WeightsEnum | None, progress: bool, **kwargs: Any,
) -> nn.Module:
    params = BlockParams.from_init_params(
        depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio, **kwargs)
    return classifier(RegNet, params, weights=weights, progress=progress, **kwargs)


def _entry(enum: str, *config: float) -> Any:
    """The "Y" models weight their channels."""
    name = enum.removesuffix("_Weights").lower()
    ratio = 0.25 if name.startswith("regnet_y") else None
    norm = partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1)
    return entry(__name__, _regnet, enum, name, ratio, *config, norm_layer=norm)


RegNet_Y_400MF_Weights, regnet_y_400mf = _entry("RegNet_Y_400MF_Weights", 16, 48, 27.89, 2.09, 8)
RegNet_Y_800MF_Weights, regnet_y_800mf = _entry("RegNet_Y_800MF_Weights", 14, 56, 38.84, 2.4, 16)
RegNet_Y_1_6GF_Weights, regnet_y_1_6gf = _entry("RegNet_Y_1_6GF_Weights", 27, 48, 20.71, 2.65, 24)
RegNet_Y_3_2GF_Weights, regnet_y_3_2gf = _entry("RegNet_Y_3_2GF_Weights", 21, 80, 42.63, 2.66, 24)
RegNet_Y_8GF_Weights, regnet_y_8gf = _entry("RegNet_Y_8GF_Weights", 17, 192, 76.82, 2.19, 56)
RegNet_Y_16GF_Weights, regnet_y_16gf = _entry("RegNet_Y_16GF_Weights", 18, 200, 106.23, 2.48, 112)
RegNet_Y_32GF_Weights, regnet_y_32gf = _entry("RegNet_Y_32GF_Weights", 20, 232, 115.89, 2.53, 232)
RegNet_Y_128GF_Weights, regnet_y_128gf = _entry(
    "RegNet_Y_128GF_Weights", 27, 456, 160.83, 2.52, 264)
RegNet_X_400MF_Weights, regnet_x_400mf = _entry("RegNet_X_400MF_Weights", 22, 24, 24.48, 2.54, 16)
RegNet_X_800MF_Weights, regnet_x_800mf = _entry("RegNet_X_800MF_Weights", 16, 56, 35.73, 2.28, 16)
RegNet_X_1_6GF_Weights, regnet_x_1_6gf = _entry("RegNet_X_1_6GF_Weights", 18, 80, 34.01, 2.25, 24)
RegNet_X_3_2GF_Weights, regnet_x_3_2gf = _entry("RegNet_X_3_2GF_Weights", 25, 88, 26.31, 2.25, 48)
RegNet_X_8GF_Weights, regnet_x_8gf = _entry("RegNet_X_8GF_Weights", 23, 80, 49.56, 2.88, 120)
RegNet_X_16GF_Weights, regnet_x_16gf = _entry("RegNet_X_16GF_Weights", 22, 216, 55.59, 2.1, 128)
RegNet_X_32GF_Weights, regnet_x_32gf = _entry("RegNet_X_32GF_Weights", 23, 320, 69.86, 2.0, 168)
