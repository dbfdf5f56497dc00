"""Starts that several families share."""

from __future__ import annotations

from collections.abc import Callable

from ... import nn


def _normal(layer: nn.Linear) -> None:
    nn.init.normal_(layer.weight, 0, 0.01)


def start_narrow(model: nn.Module, linear: Callable[[nn.Linear], None] = _normal) -> None:
    """MobileNet's start: convolutions by what goes out of them, norms as the identity."""
    for each in model.modules():
        if isinstance(each, nn.Conv2d):
            nn.init.kaiming_normal_(each.weight, mode="fan_out")
            if each.bias is not None:
                nn.init.zeros_(each.bias)
        elif isinstance(each, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(each.weight)
            nn.init.zeros_(each.bias)
        elif isinstance(each, nn.Linear):
            linear(each)
            nn.init.zeros_(each.bias)
