"""DenseNet."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ...utils.checkpoint import checkpoint
from ._api import WeightsEnum
from ._entries import entry
from ._utils import _ovewrite_named_param

__all__ = ["DenseNet", "DenseNet121_Weights", "DenseNet161_Weights", "DenseNet169_Weights",
           "DenseNet201_Weights", "densenet121", "densenet161", "densenet169", "densenet201"]


class _DenseLayer(nn.Module):
    """A 1x1 and a 3x3 convolution of all that came before in the block."""

    def __init__(
        self, num_input_features: int, growth_rate: int, bn_size: int, drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, kernel_size=1, stride=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(
            width, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bn_function(self, inputs: list[Tensor]) -> Tensor:
        return self.conv1(self.relu1(self.norm1(ops.cat(inputs, 1))))

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:
        features = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(each.requires_grad for each in features):
            narrow = checkpoint(lambda *inputs: self.bn_function(list(inputs)), *features,
                                use_reentrant=False)
        else:
            narrow = self.bn_function(features)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate else new


class _DenseBlock(nn.ModuleDict):
    _version = 2

    def __init__(
        self, num_layers: int, num_input_features: int, bn_size: int, growth_rate: int,
        drop_rate: float, memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for place in range(num_layers):
            self.add_module(f"denselayer{place + 1}", _DenseLayer(
                num_input_features + place * growth_rate, growth_rate, bn_size, drop_rate,
                memory_efficient))

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return ops.cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(
            num_input_features, num_output_features, kernel_size=1, stride=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Blocks whose layers see all earlier ones: [N, 3, H, W] to logits [N, num_classes].

    Args:
        growth_rate: channels that each layer adds.
        block_config: how many layers in each block.
        bn_size: width of a layer's first convolution, in growth rates.
        memory_efficient: compute the concatenations again in the backward pass.
    """

    def __init__(
        self, growth_rate: int = 32, block_config: Sequence[int] = (6, 12, 24, 16),
        num_init_features: int = 64, bn_size: int = 4, drop_rate: float = 0,
        num_classes: int = 1000, memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.features = nn.Sequential(OrderedDict(
            conv0=nn.Conv2d(
                3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1)))
        width = num_init_features
        for place, count in enumerate(block_config, start=1):
            self.features.add_module(f"denseblock{place}", _DenseBlock(
                count, width, bn_size, growth_rate, drop_rate, memory_efficient))
            width += count * growth_rate
            if place < len(block_config):
                self.features.add_module(f"transition{place}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        for each in self.modules():
            if isinstance(each, nn.Conv2d):
                nn.init.kaiming_normal_(each.weight)
            elif isinstance(each, nn.BatchNorm2d):
                nn.init.constant_(each.weight, 1)
                nn.init.constant_(each.bias, 0)
            elif isinstance(each, nn.Linear):
                nn.init.constant_(each.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.features(x), inplace=True)
        return self.classifier(ops.flatten(F.adaptive_avg_pool2d(out, (1, 1)), 1))


#: The published files are older than names without dots: `denselayer1.norm.1.weight`.
_DOTTED = re.compile(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\..*)$")


def _densenet(
    growth_rate: int, block_config: Sequence[int], num_init_features: int, *,
    weights: WeightsEnum | None, progress: bool, **kwargs: Any,
) -> nn.Module:
    if weights is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    model = DenseNet(growth_rate, block_config, num_init_features, **kwargs)
    if weights is not None:
        state = weights.get_state_dict(progress=progress, check_hash=True)
        model.load_state_dict({_DOTTED.sub(r"\1\2", name): x for name, x in state.items()})
    return model


_entry: Any = partial(entry, __name__, _densenet)

DenseNet121_Weights, densenet121 = _entry(
    "DenseNet121_Weights", "densenet121", 32, (6, 12, 24, 16), 64)
DenseNet161_Weights, densenet161 = _entry(
    "DenseNet161_Weights", "densenet161", 48, (6, 12, 36, 24), 96)
DenseNet169_Weights, densenet169 = _entry(
    "DenseNet169_Weights", "densenet169", 32, (6, 12, 32, 32), 64)
DenseNet201_Weights, densenet201 = _entry(
    "DenseNet201_Weights", "densenet201", 32, (6, 12, 48, 32), 64)
