"""ShuffleNet V2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._entries import classifier, entry

__all__ = [
    "ShuffleNetV2", "ShuffleNet_V2_X0_5_Weights", "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights", "ShuffleNet_V2_X2_0_Weights", "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0",
]


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """[N, C, H, W] with the channels of `groups` groups in turn."""
    batch, channels, height, width = x.shape
    split = x.view(batch, groups, channels // groups, height, width)
    return split.transpose(1, 2).contiguous().view(batch, channels, height, width)


def _pointwise(inner: int, outer: int) -> list[nn.Module]:
    return [nn.Conv2d(inner, outer, 1, 1, 0, bias=False), nn.BatchNorm2d(outer),
            nn.ReLU(inplace=True)]


class InvertedResidual(nn.Module):
    """One half of the channels through three convolutions, the other (at stride 1) as it is."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        half = oup // 2
        if stride == 1 and inp != 2 * half:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If "
                "stride == 1 then inp should be equal to oup // 2 << 1.")
        self.stride = stride
        spread = partial(self.depthwise_conv, kernel_size=3, stride=stride, padding=1)
        self.branch1 = nn.Sequential(*(
            [spread(inp, inp), nn.BatchNorm2d(inp), *_pointwise(inp, half)] if stride > 1 else []))
        self.branch2 = nn.Sequential(
            *_pointwise(inp if stride > 1 else half, half), spread(half, half),
            nn.BatchNorm2d(half), *_pointwise(half, half))

    @staticmethod
    def depthwise_conv(
        i: int, o: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ) -> nn.Conv2d:
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            kept, x = x.chunk(2, dim=1)
        else:
            kept = self.branch1(x)
        return channel_shuffle(ops.cat((kept, self.branch2(x)), dim=1), 2)


class ShuffleNetV2(nn.Module):
    """Split, convolved and shuffled channels: [N, 3, H, W] to logits [N, num_classes].

    `stages_repeats` are the blocks of the three stages, `stages_out_channels` the widths of the
    first convolution, the stages and the last convolution; other lengths are a ValueError.
    """

    def __init__(
        self, stages_repeats: list[int], stages_out_channels: list[int], num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        width, *stages, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width),
            nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for place, repeats, outer in zip((2, 3, 4), stages_repeats, stages):
            blocks = [inverted_residual(width, outer, 2)]
            blocks += [inverted_residual(outer, outer, 1) for _ in range(repeats - 1)]
            setattr(self, f"stage{place}", nn.Sequential(*blocks))
            width = outer
        self.conv5 = nn.Sequential(*_pointwise(width, last))
        self.fc = nn.Linear(last, num_classes)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


_entry: Any = partial(entry, __name__, partial(classifier, ShuffleNetV2))
_REPEATS = [4, 8, 4]

ShuffleNet_V2_X0_5_Weights, shufflenet_v2_x0_5 = _entry(
    "ShuffleNet_V2_X0_5_Weights", "shufflenet_v2_x0_5", _REPEATS, [24, 48, 96, 192, 1024])
ShuffleNet_V2_X1_0_Weights, shufflenet_v2_x1_0 = _entry(
    "ShuffleNet_V2_X1_0_Weights", "shufflenet_v2_x1_0", _REPEATS, [24, 116, 232, 464, 1024])
ShuffleNet_V2_X1_5_Weights, shufflenet_v2_x1_5 = _entry(
    "ShuffleNet_V2_X1_5_Weights", "shufflenet_v2_x1_5", _REPEATS, [24, 176, 352, 704, 1024])
ShuffleNet_V2_X2_0_Weights, shufflenet_v2_x2_0 = _entry(
    "ShuffleNet_V2_X2_0_Weights", "shufflenet_v2_x2_0", _REPEATS, [24, 244, 488, 976, 2048])
