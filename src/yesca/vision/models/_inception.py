"""What GoogLeNet and Inception v3 share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ._api import WeightsEnum
from ._entries import load
from ._utils import _ovewrite_named_param

Layer = Callable[..., nn.Module]


class BasicConv2d(nn.Module):
    """Convolution, normalisation, ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Branches(nn.Module):
    """Joins the channels of what `_forward` lists."""

    def _forward(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return ops.cat(self._forward(x), 1)


def rescaled(x: Tensor) -> Tensor:
    """Images normalised by ImageNet's statistics, as if by means and deviations of 0.5."""
    scale = [0.229 / 0.5, 0.224 / 0.5, 0.225 / 0.5]
    shift = [(0.485 - 0.5) / 0.5, (0.456 - 0.5) / 0.5, (0.406 - 0.5) / 0.5]
    factor, term = (ops.tensor(each, dtype=x.dtype, device=x.device).reshape(3, 1, 1)
                    for each in (scale, shift))
    return x * factor + term


def chain(x: Tensor, layers: Sequence[nn.Module]) -> Tensor:
    for layer in layers:
        x = layer(x)
    return x


def announced(init_weights: bool | None, name: str) -> bool:
    """Whether to draw the weights; not saying so is to be deprecated."""
    if init_weights is None:
        warnings.warn(
            f"The default weight initialization of {name} will be changed in future releases of "
            "torchvision. If you wish to keep the old behavior (which leads to long initialization "
            "times due to scipy/scipy#11299), please set init_weights=True.", FutureWarning)
    return init_weights is None or init_weights


def start(model: nn.Module, deviation: float) -> None:
    for each in model.modules():
        if isinstance(each, (nn.Conv2d, nn.Linear)):
            std = float(getattr(each, "stddev", deviation))
            nn.init.trunc_normal_(each.weight, mean=0.0, std=std, a=-2, b=2)
        elif isinstance(each, nn.BatchNorm2d):
            nn.init.constant_(each.weight, 1)
            nn.init.constant_(each.bias, 0)


def pretrained(
    cls: Layer, weights: WeightsEnum, progress: bool, heads: Sequence[str], kept: bool,
    **kwargs: Any,
) -> nn.Module:
    """A model with its weights; the files have the auxiliary heads, dropped unless `kept`."""
    kwargs.setdefault("transform_input", True)
    for key, value in (("aux_logits", True), ("init_weights", False),
                       ("num_classes", len(weights.meta["categories"]))):
        _ovewrite_named_param(kwargs, key, value)
    model: Any = load(cls(**kwargs), weights, progress)
    if not kept:
        model.aux_logits = False
        for head in heads:
            setattr(model, head, None)
    return model
