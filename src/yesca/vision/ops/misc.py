"""Blocks that many models share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn.functional import interpolate as interpolate

__all__ = ["Conv2dNormActivation", "Conv3dNormActivation", "ConvNormActivation",
           "FrozenBatchNorm2d", "MLP", "Permute", "SqueezeExcitation"]

Layer = Callable[..., nn.Module]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation of [N, C, H, W] whose statistics and affine parameters stay as they are.

    All four are buffers [C], so that optimizers and training leave them alone.

    >>> from yesca.vision.ops import FrozenBatchNorm2d
    >>> FrozenBatchNorm2d(3)
    FrozenBatchNorm2d(3, eps=1e-05)
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, start in (("weight", ops.ones), ("bias", ops.zeros),
                            ("running_mean", ops.zeros), ("running_var", ops.ones)):
            self.register_buffer(name, start(num_features))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # States of trained layers count their batches, which nothing here reads.
        state_dict.pop(f"{prefix}num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


def _same_padding(kernel: int | Sequence[int], dilation: int | Sequence[int]) -> Any:
    """What keeps the size of images under an odd kernel and stride 1."""
    if isinstance(kernel, int) and isinstance(dilation, int):
        return (kernel - 1) // 2 * dilation
    rank = len(kernel) if isinstance(kernel, Sequence) else len(dilation)  # type: ignore[arg-type]
    kernels = kernel if isinstance(kernel, Sequence) else (kernel,) * rank
    dilations = dilation if isinstance(dilation, Sequence) else (dilation,) * rank
    return tuple((size - 1) // 2 * step for size, step in zip(kernels, dilations))


class ConvNormActivation(nn.Sequential):
    """Convolution, normalisation, activation; see `Conv2dNormActivation`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any = 3, stride: Any = 1,
        padding: Any = None, groups: int = 1, norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU, dilation: Any = 1, inplace: bool | None = True,
        bias: bool | None = None, conv_layer: Layer = nn.Conv2d,
    ) -> None:
        layers = [conv_layer(
            in_channels, out_channels, kernel_size, stride,
            _same_padding(kernel_size, dilation) if padding is None else padding,
            dilation=dilation, groups=groups, bias=norm_layer is None if bias is None else bias)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**_inplace(inplace)))
        super().__init__(*layers)
        self.out_channels = out_channels
        if type(self) is ConvNormActivation:
            warnings.warn(
                "Don't use ConvNormActivation directly, please use Conv2dNormActivation and "
                "Conv3dNormActivation instead.")


def _inplace(value: bool | None) -> Mapping[str, bool]:
    """The argument of a layer that may not have it."""
    return {} if value is None else {"inplace": value}


class Conv2dNormActivation(ConvNormActivation):
    """Convolution of [N, C, H, W], then `norm_layer`, then `activation_layer`.

    Args:
        padding: what keeps the size of the image at stride 1, unless given.
        norm_layer, activation_layer: None leaves the step out.
        inplace: passed to the activation; None for one that has no such argument.
        bias: of the convolution; where nothing normalises there is one.

    >>> from yesca.vision.ops import Conv2dNormActivation
    >>> Conv2dNormActivation(3, 8, kernel_size=5)(torch.ones(2, 3, 9, 9)).shape
    torch.Size([2, 8, 9, 9])
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any = 3, stride: Any = 1,
        padding: Any = None, groups: int = 1, norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU, dilation: Any = 1, inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups,
                         norm_layer, activation_layer, dilation, inplace, bias, nn.Conv2d)


class Conv3dNormActivation(ConvNormActivation):
    """`Conv2dNormActivation` for [N, C, D, H, W]."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any = 3, stride: Any = 1,
        padding: Any = None, groups: int = 1, norm_layer: Layer | None = nn.BatchNorm3d,
        activation_layer: Layer | None = nn.ReLU, dilation: Any = 1, inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups,
                         norm_layer, activation_layer, dilation, inplace, bias, nn.Conv3d)


class SqueezeExcitation(nn.Module):
    """Channels of [N, C, H, W], each weighted by what two layers make of all channels' means."""

    def __init__(
        self, input_channels: int, squeeze_channels: int, activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def _scale(self, input: Tensor) -> Tensor:
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed))

    def forward(self, input: Tensor) -> Tensor:
        return self._scale(input) * input


class MLP(nn.Sequential):
    """Linear layers [..., in_channels] to [..., hidden_channels[-1]], with dropout after each.

    Between two of them stand `norm_layer`, if given, and `activation_layer`.
    """

    def __init__(
        self, in_channels: int, hidden_channels: Sequence[int], norm_layer: Layer | None = None,
        activation_layer: Layer | None = nn.ReLU, inplace: bool | None = None, bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = _inplace(inplace)
        layers: list[nn.Module] = []
        *inner, last = hidden_channels
        for width in inner:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(width))
            if activation_layer is not None:
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            in_channels = width
        super().__init__(*layers, nn.Linear(in_channels, last, bias=bias),
                         nn.Dropout(dropout, **options))


class Permute(nn.Module):
    """The input with its dimensions in the order `dims`."""

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.dims)
