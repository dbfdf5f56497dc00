"""ConvNeXt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ..ops.misc import Conv2dNormActivation, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._api import WeightsEnum
from ._entries import classifier, entry

__all__ = [
    "ConvNeXt", "ConvNeXt_Base_Weights", "ConvNeXt_Large_Weights", "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights", "convnext_base", "convnext_large", "convnext_small", "convnext_tiny",
]

Layer = Callable[..., nn.Module]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalisation of the channels of [N, C, H, W]."""

    def forward(self, x: Tensor) -> Tensor:
        last = x.permute(0, 2, 3, 1)
        last = F.layer_norm(last, self.normalized_shape, self.weight, self.bias, self.eps)
        return last.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A 7x7 convolution of each channel and two linear layers of all, scaled, beside the input."""

    def __init__(
        self, dim: int, layer_scale: float, stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]), norm(dim), nn.Linear(dim, 4 * dim, bias=True), nn.GELU(),
            nn.Linear(4 * dim, dim, bias=True), Permute([0, 3, 1, 2]))
        self.layer_scale = nn.Parameter(ops.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        result = self.stochastic_depth(self.layer_scale * self.block(input))
        result += input
        return result


class CNBlockConfig:
    """A stage: its width, that of the next one (None for the last), its number of blocks."""

    def __init__(self, input_channels: int, out_channels: int | None, num_layers: int) -> None:
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(input_channels={self.input_channels}, "
                f"out_channels={self.out_channels}, num_layers={self.num_layers})")


class ConvNeXt(nn.Module):
    """Convolutions arranged as a transformer is: [N, 3, H, W] to logits [N, num_classes].

    `block_setting` has a `CNBlockConfig` for each stage; none is a ValueError, something else a
    TypeError. `stochastic_depth_prob` is that of the last block, of earlier ones in proportion.
    """

    def __init__(
        self, block_setting: list[CNBlockConfig], stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6, num_classes: int = 1000, block: Layer | None = None,
        norm_layer: Layer | None = None, **kwargs: Any,
    ) -> None:
        super().__init__()
        stages = block_setting
        if not stages:
            raise ValueError("The block_setting should not be empty")
        if not (isinstance(stages, Sequence)
                and all(isinstance(each, CNBlockConfig) for each in stages)):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        make = block or CNBlock
        norm = norm_layer or partial(LayerNorm2d, eps=1e-6)
        layers: list[nn.Module] = [Conv2dNormActivation(
            3, stages[0].input_channels, kernel_size=4, stride=4, padding=0, norm_layer=norm,
            activation_layer=None, bias=True)]
        total, place = sum(each.num_layers for each in stages), 0
        for stage in stages:
            width, blocks = stage.input_channels, []
            for _ in range(stage.num_layers):
                blocks.append(
                    make(width, layer_scale, stochastic_depth_prob * place / (total - 1.0)))
                place += 1
            layers.append(nn.Sequential(*blocks))
            if stage.out_channels is not None:
                layers.append(nn.Sequential(
                    norm(width), nn.Conv2d(width, stage.out_channels, kernel_size=2, stride=2)))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        end = stages[-1]
        last = end.input_channels if end.out_channels is None else end.out_channels
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        for each in self.modules():
            if isinstance(each, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(each.weight, std=0.02)
                if each.bias is not None:
                    nn.init.zeros_(each.bias)

    def _forward_impl(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def _convnext(
    widths: Sequence[int], depths: Sequence[int], *, weights: WeightsEnum | None, progress: bool,
    **kwargs: Any,
) -> nn.Module:
    stages = [CNBlockConfig(*stage) for stage in zip(widths, [*widths[1:], None], depths)]
    return classifier(ConvNeXt, stages, weights=weights, progress=progress, **kwargs)


_entry: Any = partial(entry, __name__, _convnext)

ConvNeXt_Tiny_Weights, convnext_tiny = _entry(
    "ConvNeXt_Tiny_Weights", "convnext_tiny", (96, 192, 384, 768), (3, 3, 9, 3),
    stochastic_depth_prob=0.1)
ConvNeXt_Small_Weights, convnext_small = _entry(
    "ConvNeXt_Small_Weights", "convnext_small", (96, 192, 384, 768), (3, 3, 27, 3),
    stochastic_depth_prob=0.4)
ConvNeXt_Base_Weights, convnext_base = _entry(
    "ConvNeXt_Base_Weights", "convnext_base", (128, 256, 512, 1024), (3, 3, 27, 3),
    stochastic_depth_prob=0.5)
ConvNeXt_Large_Weights, convnext_large = _entry(
    "ConvNeXt_Large_Weights", "convnext_large", (192, 384, 768, 1536), (3, 3, 27, 3),
    stochastic_depth_prob=0.5)
