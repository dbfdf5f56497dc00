"""MNASNet."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from ... import nn
from ..._tensor import Tensor
from ._entries import classifier, entry

__all__ = ["MNASNet", "MNASNet0_5_Weights", "MNASNet0_75_Weights", "MNASNet1_0_Weights",
           "MNASNet1_3_Weights", "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3"]

#: TensorFlow's 0.9997, said the other way round.
_BN_MOMENTUM = 1 - 0.9997

#: Of each stack: kernel, stride of its first block, expansion, blocks.
_STACKS = ((3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1))


def _norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, momentum=_BN_MOMENTUM)


class _InvertedResidual(nn.Module):
    def __init__(
        self, in_ch: int, out_ch: int, kernel_size: int, stride: int, expansion_factor: int,
        bn_momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        wide = in_ch * expansion_factor
        norm = partial(nn.BatchNorm2d, momentum=bn_momentum)
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            nn.Conv2d(in_ch, wide, 1, bias=False), norm(wide), nn.ReLU(inplace=True),
            nn.Conv2d(wide, wide, kernel_size, padding=kernel_size // 2, stride=stride,
                      groups=wide, bias=False), norm(wide), nn.ReLU(inplace=True),
            nn.Conv2d(wide, out_ch, 1, bias=False), norm(out_ch))

    def forward(self, input: Tensor) -> Tensor:
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(
    in_ch: int, out_ch: int, kernel_size: int, stride: int, exp_factor: int, repeats: int,
    bn_momentum: float,
) -> nn.Sequential:
    """Blocks of one width; the first has the stride."""
    if repeats < 1:
        raise ValueError(f"repeats should be >= 1, instead got {repeats}")
    return nn.Sequential(*(
        _InvertedResidual(out_ch if place else in_ch, out_ch, kernel_size, 1 if place else stride,
                          exp_factor, bn_momentum) for place in range(repeats)))


def _round_to_multiple_of(val: float, divisor: int, round_up_bias: float = 0.9) -> int:
    """The nearest multiple of `divisor`, the one above where that is less than `bias * val`."""
    if not 0.0 < round_up_bias < 1.0:
        raise ValueError("round_up_bias should be greater than 0.0 and smaller than 1.0 instead "
                         f"of {round_up_bias}")
    nearest = max(divisor, int(val + divisor / 2) // divisor * divisor)
    return nearest if nearest >= round_up_bias * val else nearest + divisor


def _get_depths(alpha: float) -> list[int]:
    return [_round_to_multiple_of(depth * alpha, 8) for depth in
            (32, 16, 24, 40, 80, 96, 192, 320)]


def _stem(first: int, second: int) -> list[nn.Module]:
    """3x3, 3x3 in each channel, 1x1."""
    return [
        nn.Conv2d(3, first, 3, padding=1, stride=2, bias=False), _norm(first),
        nn.ReLU(inplace=True),
        nn.Conv2d(first, first, 3, padding=1, stride=1, groups=first, bias=False), _norm(first),
        nn.ReLU(inplace=True),
        nn.Conv2d(first, second, 1, padding=0, stride=1, bias=False), _norm(second)]


class MNASNet(nn.Module):
    """Inverted residuals found by a search: [N, 3, H, W] to logits [N, num_classes].

    `alpha`, above 0 (a ValueError otherwise), multiplies the widths. States of the first version,
    whose stem had one width whatever `alpha` was, load with a warning.
    """

    _version = 2

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        depths = _get_depths(alpha)
        layers = _stem(depths[0], depths[1])
        layers += [_stack(inner, outer, *stack, _BN_MOMENTUM)
                   for inner, outer, stack in zip(depths[1:], depths[2:], _STACKS)]
        layers += [nn.Conv2d(depths[7], 1280, 1, padding=0, stride=1, bias=False), _norm(1280),
                   nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        for each in self.modules():
            if isinstance(each, nn.Conv2d):
                nn.init.kaiming_normal_(each.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(each, nn.BatchNorm2d):
                nn.init.ones_(each.weight)
                nn.init.zeros_(each.bias)
            elif isinstance(each, nn.Linear):
                nn.init.kaiming_uniform_(each.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(each.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean([2, 3]))

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        if version not in (1, 2):
            raise ValueError(f"version should be set to 1 or 2 instead of {version}")
        if version == 1 and self.alpha != 1.0:
            former = _stem(32, 16)
            former.append(_stack(16, _get_depths(self.alpha)[2], *_STACKS[0], _BN_MOMENTUM))
            for place, layer in enumerate(former):
                self.layers[place] = layer
            self._version = 1
            warnings.warn(
                "A new version of MNASNet model has been implemented. Your checkpoint was saved "
                "using the previous version. This checkpoint will load and work as before, but "
                "you may want to upgrade by training a newer model or transfer learning from an "
                "updated ImageNet checkpoint.", UserWarning)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


_entry: Any = partial(entry, __name__, partial(classifier, MNASNet))

MNASNet0_5_Weights, mnasnet0_5 = _entry("MNASNet0_5_Weights", "mnasnet0_5", 0.5)
MNASNet0_75_Weights, mnasnet0_75 = _entry("MNASNet0_75_Weights", "mnasnet0_75", 0.75)
MNASNet1_0_Weights, mnasnet1_0 = _entry("MNASNet1_0_Weights", "mnasnet1_0", 1.0)
MNASNet1_3_Weights, mnasnet1_3 = _entry("MNASNet1_3_Weights", "mnasnet1_3", 1.3)
