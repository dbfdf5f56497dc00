"""ResNet, ResNeXt and Wide ResNet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._entries import classifier, entry

__all__ = [
    "ResNet", "ResNet101_Weights", "ResNet152_Weights", "ResNet18_Weights", "ResNet34_Weights",
    "ResNet50_Weights", "ResNeXt101_32X8D_Weights", "ResNeXt101_64X4D_Weights",
    "ResNeXt50_32X4D_Weights", "Wide_ResNet101_2_Weights", "Wide_ResNet50_2_Weights", "resnet101",
    "resnet152", "resnet18", "resnet34", "resnet50", "resnext101_32x8d", "resnext101_64x4d",
    "resnext50_32x4d", "wide_resnet101_2", "wide_resnet50_2",
]

Layer = Callable[..., nn.Module]


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=dilation,
                     groups=groups, bias=False, dilation=dilation)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside the input."""

    expansion = 1

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None,
        groups: int = 1, base_width: int = 64, dilation: int = 1, norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        norm = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 3x3 convolution between two 1x1 ones, beside the input; it has the stride, if any."""

    expansion = 4

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None,
        groups: int = 1, base_width: int = 64, dilation: int = 1, norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """Residual networks: images [N, 3, H, W] to logits [N, num_classes].

    Args:
        block: `BasicBlock` or `Bottleneck`.
        layers: how many of them in each of the four stages.
        zero_init_residual: start every block as the identity.
        replace_stride_with_dilation: for each of the last three stages, whether its convolutions
            spread instead of its output shrinking.

    >>> from yesca.vision import models
    >>> models.resnet18(num_classes=4)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self, block: type[BasicBlock | Bottleneck], layers: list[int], num_classes: int = 1000,
        zero_init_residual: bool = False, groups: int = 1, width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None, norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        dilate = replace_stride_with_dilation
        dilate = [False] * 3 if dilate is None else dilate
        if len(dilate) != 3:
            raise ValueError("replace_stride_with_dilation should be None or a 3-element tuple, "
                             f"got {dilate}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._start(zero_init_residual)

    def _start(self, zero_init_residual: bool) -> None:
        for each in self.modules():
            if isinstance(each, nn.Conv2d):
                nn.init.kaiming_normal_(each.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(each, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(each.weight, 1)
                nn.init.constant_(each.bias, 0)
        for each in self.modules() if zero_init_residual else ():
            if isinstance(each, (BasicBlock, Bottleneck)):
                last = each.bn3 if isinstance(each, Bottleneck) else each.bn2
                if last.weight is not None:
                    nn.init.constant_(last.weight, 0)

    def _make_layer(
        self, block: type[BasicBlock | Bottleneck], planes: int, blocks: int, stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        norm, width = self._norm_layer, planes * block.expansion
        first_dilation = self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        downsample = None
        if stride != 1 or self.inplanes != width:
            downsample = nn.Sequential(conv1x1(self.inplanes, width, stride), norm(width))
        layers = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width,
                        first_dilation, norm)]
        self.inplanes = width
        layers += [block(width, planes, groups=self.groups, base_width=self.base_width,
                         dilation=self.dilation, norm_layer=norm) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(ops.flatten(self.avgpool(x), 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


_entry: Any = partial(entry, __name__, partial(classifier, ResNet))
_DEPTHS = {50: [3, 4, 6, 3], 101: [3, 4, 23, 3], 152: [3, 8, 36, 3]}

ResNet18_Weights, resnet18 = _entry("ResNet18_Weights", "resnet18", BasicBlock, [2, 2, 2, 2])
ResNet34_Weights, resnet34 = _entry("ResNet34_Weights", "resnet34", BasicBlock, [3, 4, 6, 3])
ResNet50_Weights, resnet50 = _entry("ResNet50_Weights", "resnet50", Bottleneck, _DEPTHS[50])
ResNet101_Weights, resnet101 = _entry("ResNet101_Weights", "resnet101", Bottleneck, _DEPTHS[101])
ResNet152_Weights, resnet152 = _entry("ResNet152_Weights", "resnet152", Bottleneck, _DEPTHS[152])
ResNeXt50_32X4D_Weights, resnext50_32x4d = _entry(
    "ResNeXt50_32X4D_Weights", "resnext50_32x4d", Bottleneck, _DEPTHS[50],
    fixed={"groups": 32, "width_per_group": 4})
ResNeXt101_32X8D_Weights, resnext101_32x8d = _entry(
    "ResNeXt101_32X8D_Weights", "resnext101_32x8d", Bottleneck, _DEPTHS[101],
    fixed={"groups": 32, "width_per_group": 8})
ResNeXt101_64X4D_Weights, resnext101_64x4d = _entry(
    "ResNeXt101_64X4D_Weights", "resnext101_64x4d", Bottleneck, _DEPTHS[101],
    fixed={"groups": 64, "width_per_group": 4})
Wide_ResNet50_2_Weights, wide_resnet50_2 = _entry(
    "Wide_ResNet50_2_Weights", "wide_resnet50_2", Bottleneck, _DEPTHS[50],
    fixed={"width_per_group": 128})
Wide_ResNet101_2_Weights, wide_resnet101_2 = _entry(
    "Wide_ResNet101_2_Weights", "wide_resnet101_2", Bottleneck, _DEPTHS[101],
    fixed={"width_per_group": 128})
