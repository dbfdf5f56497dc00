"""Convolutions that read the image where they are told to."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn.modules.utils import _pair

__all__ = ["DeformConv2d", "deform_conv2d"]

Pair = int | Sequence[int]


def _checked(input: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None,
             size: tuple[int, int]) -> int:
    """The number of groups that the offsets have; a RuntimeError for shapes that do not fit."""
    taps = weight.shape[2] * weight.shape[3]
    groups = offset.shape[1] // (2 * taps)
    if groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple "
            f"of 2 * weight.size[2] * weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, "
            f"while 2 * weight.size[2] * weight.size[3]={2 * taps}")
    wanted = {"offset": (offset, 2 * groups * taps)}
    if mask is not None:
        wanted["mask"] = (mask, groups * taps)
    for name, (given, channels) in wanted.items():
        expected = (input.shape[0], channels, *size)
        if tuple(given.shape) != expected:
            raise RuntimeError(f"{name} should have shape {expected} for this input, weight, "
                               f"stride, padding and dilation, got {tuple(given.shape)}")
    if input.shape[1] % weight.shape[1] or input.shape[1] % groups:
        raise RuntimeError(f"input has {input.shape[1]} channels, no multiple of the weight's "
                           f"{weight.shape[1]} and of the {groups} groups of offsets")
    return groups


def _between(image: Tensor, rows: Tensor, columns: Tensor, height: int, width: int) -> Tensor:
    """[B, C, P] of an image [B, C, H W] at [B, P] places between pixels; outside it is zero."""
    total: Tensor | None = None
    low_row, low_column = ops.floor(rows), ops.floor(columns)
    for down in (0, 1):
        for across in (0, 1):
            row, column = low_row + down, low_column + across
            weight = (1 - (rows - row).abs()) * (1 - (columns - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            places = (row.clamp(min=0, max=height - 1) * width
                      + column.clamp(min=0, max=width - 1)).long()
            values = image.gather(2, places[:, None].expand(-1, image.shape[1], -1))
            part = values * ops.where(inside, weight, 0.0)[:, None]
            total = part if total is None else total + part
    assert total is not None
    return total


def deform_conv2d(
    input: Tensor, offset: Tensor, weight: Tensor, bias: Tensor | None = None,
    stride: Pair = (1, 1), padding: Pair = (0, 0), dilation: Pair = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """[N, C_out, H_out, W_out]: a convolution each of whose readings is moved.

    Args:
        input: [N, C, H, W].
        offset: [N, 2 G kh kw, H_out, W_out]: down and right, for each tap of the kernel, of each
            of G groups of channels.
        weight: [C_out, C / groups, kh, kw].
        mask: [N, G kh kw, H_out, W_out], what each reading is multiplied by.

    Raises:
        RuntimeError: shapes that do not fit.

    Gradients go to the input, the offsets, the mask, the weight and the bias.

    >>> from yesca.vision.ops import deform_conv2d
    >>> image, right = torch.arange(9.0).reshape(1, 1, 3, 3), torch.tensor([0.0, 0.5])
    >>> deform_conv2d(image, right.reshape(1, 2, 1, 1).expand(1, 2, 3, 3), torch.ones(1, 1, 1, 1))
    tensor([[[[0.5000, 1.5000, 1.0000],
              [3.5000, 4.5000, 2.5000],
              [6.5000, 7.5000, 4.0000]]]])
    """
    count, channels, height, width = input.shape
    outputs, inner, kernel_height, kernel_width = weight.shape
    (down, across), (top, left), (tall, wide) = _pair(stride), _pair(padding), _pair(dilation)
    rows = (height + 2 * top - tall * (kernel_height - 1) - 1) // down + 1
    columns = (width + 2 * left - wide * (kernel_width - 1) - 1) // across + 1
    parts = _checked(input, offset, weight, mask, (rows, columns))
    taps = kernel_height * kernel_width
    moved = offset.reshape(count * parts, taps, 2, rows, columns)
    row = ops.arange(rows, dtype=input.dtype, device=input.device) * down - top
    column = ops.arange(columns, dtype=input.dtype, device=input.device) * across - left
    tap = ops.arange(taps, device=input.device)
    tap_row, tap_column = (each.to(input.dtype)[:, None, None] for each in (
        tap // kernel_width * tall, tap % kernel_width * wide))
    places = [(moved[:, :, 0] + (tap_row + row[:, None])).reshape(count * parts, -1),
              (moved[:, :, 1] + (tap_column + column)).reshape(count * parts, -1)]
    image = input.reshape(count * parts, channels // parts, height * width)
    read = _between(image, *places, height, width)
    if mask is not None:
        read = read * mask.reshape(count * parts, 1, -1)
    groups = channels // inner
    read = read.reshape(count, groups, inner * taps, rows * columns)
    kernel = weight.reshape(groups, outputs // groups, inner * taps)
    result = (kernel @ read).reshape(count, outputs, rows, columns)
    return result if bias is None else result + bias.view(1, -1, 1, 1)


class DeformConv2d(nn.Module):
    """`deform_conv2d` as a layer; it starts, and draws, as `Conv2d` does.

    Channels that `groups` does not divide are a ValueError.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Pair, stride: Pair = 1,
        padding: Pair = 0, dilation: Pair = 1, groups: int = 1, bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.weight = nn.Parameter(
            ops.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias: nn.Parameter | None
        if bias:
            self.bias = nn.Parameter(ops.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight[0].numel()
            bound = 1 / math.sqrt(fan_in)
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding,
                             self.dilation, mask)

    def __repr__(self) -> str:
        text = (f"{type(self).__name__}({self.in_channels}, {self.out_channels}, "
                f"kernel_size={self.kernel_size}, stride={self.stride}")
        if self.padding != (0, 0):
            text += f", padding={self.padding}"
        if self.dilation != (1, 1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text + (", bias=False)" if self.bias is None else ")")
