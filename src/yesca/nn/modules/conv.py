"""Convolutions and transposed convolutions in 1, 2 and 3 dimensions."""

from __future__ import annotations

import math
from typing import Any

from ...base import absent
from ... import functional as ops
from ..._tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from ._names import to_tuple
from .lazy import LazyModuleMixin
from .module import Module, weight_and_bias

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The weights and the arguments of a convolution; every size is a tuple."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    _rank: int
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed: bool,
        output_padding,
        groups: int,
        bias: bool,
        padding_mode: str,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        _check_arguments(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_of_both_ends()
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(ops.empty(_weight_shape(self), **options))
        if bias:
            self.bias = Parameter(ops.empty(out_channels, **options))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_of_both_ends(self) -> list[int]:
        """Sizes for `functional.pad`: before and after, last dimension first."""
        if not isinstance(self.padding, str):
            return [size for size in reversed(self.padding) for _ in range(2)]
        sizes: list[int] = []
        for step, size in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = step * (size - 1) if self.padding == "same" else 0
            sizes += [total // 2, total - total // 2]
        return sizes

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in ±1/sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _weight_shape(conv: _ConvNd) -> tuple[int, ...]:
    inputs, outputs = conv.in_channels, conv.out_channels
    if conv.transposed:
        return (inputs, outputs // conv.groups, *conv.kernel_size)
    return (outputs, inputs // conv.groups, *conv.kernel_size)


def _check_arguments(in_channels, out_channels, stride, padding, groups, padding_mode) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {set(_PADDING_MODES)}, but got "
            f"padding_mode='{padding_mode}'"
        )


class _Conv(_ConvNd):
    """A convolution of the rank that the subclass states."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        rank = self._rank
        super().__init__(
            in_channels,
            out_channels,
            to_tuple(kernel_size, rank),
            to_tuple(stride, rank),
            padding if isinstance(padding, str) else to_tuple(padding, rank),
            to_tuple(dilation, rank),
            False,
            (0,) * rank,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            sizes = self._reversed_padding_repeated_twice
            input = F.pad(input, sizes, mode=self.padding_mode)
            padding = (0,) * self._rank
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self._rank - 1]
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, *weight_and_bias(self))


class Conv1d(_Conv):
    """Slides a kernel over (N, C, L) or (C, L); see `Conv2d`."""

    _rank = 1


class Conv2d(_Conv):
    """Slides a kernel over (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, dilation: a number or one for each dimension.
        padding: likewise, or `"same"` (output as large as the input) or `"valid"` (none).
        groups: parts into which the channels are split, convolved each by itself.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
    """

    _rank = 2


class Conv3d(_Conv):
    """Slides a kernel over (N, C, D, H, W) or (C, D, H, W); see `Conv2d`."""

    _rank = 3


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution of the rank that the subclass states."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}'
            )
        rank = self._rank
        super().__init__(
            in_channels,
            out_channels,
            to_tuple(kernel_size, rank),
            to_tuple(stride, rank),
            to_tuple(padding, rank),
            to_tuple(dilation, rank),
            True,
            to_tuple(output_padding, rank),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._rank - 1]
        return convolve(
            input,
            *weight_and_bias(self),
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )

    def _output_padding(self, input: Tensor, output_size) -> tuple[int, ...]:
        """What to add at the far end so that the result has `output_size`."""
        if output_size is None:
            return self.output_padding
        rank = self._rank
        lead = 2 if input.dim() == rank + 2 else 1  # dimensions before those of space
        sizes = list(output_size)
        sizes = sizes[lead:] if len(sizes) == lead + rank else sizes
        if len(sizes) != rank:
            raise ValueError(
                f"ConvTranspose{rank}D: for {input.dim()}D input, output_size must have {rank} or "
                f"{lead + rank} elements (got {len(sizes)})"
            )
        smallest = [
            (input.size(lead + d) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(rank)
        ]
        largest = [smallest[d] + self.stride[d] - 1 for d in range(rank)]
        if any(not low <= size <= high for low, size, high in zip(smallest, sizes, largest)):
            raise ValueError(
                f"requested an output size of {sizes}, but valid sizes range from {smallest} to "
                f"{largest} (for an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(sizes, smallest))


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` as a layer; `forward` takes an optional `output_size`."""

    _rank = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` as a layer; `forward` takes an optional `output_size`."""

    _rank = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of `Conv3d` as a layer; `forward` takes an optional `output_size`."""

    _rank = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution whose `in_channels` is that of its first input."""

    def __init__(self: Any, out_channels, options: dict, bias: bool, device, dtype) -> None:
        super().__init__(0, 0, **options, bias=False)
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take `in_channels` from `input`; shapes that were loaded stay."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        shape = _weight_shape(self)
        self.weight.materialize(shape)
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self: Any, input: Tensor) -> int:
        rank = self._get_num_spatial_dims()
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[-1 - rank]

    def _get_num_spatial_dims(self: Any) -> int:
        return self._rank


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        options = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
            "padding_mode": padding_mode,
        }
        super().__init__(out_channels, options, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        options = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "output_padding": output_padding,
            "groups": groups,
            "dilation": dilation,
            "padding_mode": padding_mode,
        }
        super().__init__(out_channels, options, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):  # type: ignore[misc]
    """A `Conv1d` whose `in_channels` is that of its first input; then it is one.

    >>> import yesca as torch
    >>> torch.nn.LazyConv1d(4, 3)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 4, 6])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):  # type: ignore[misc]
    """A `Conv2d` whose `in_channels` is that of its first input; then it is one."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):  # type: ignore[misc]
    """A `Conv3d` whose `in_channels` is that of its first input; then it is one."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):  # type: ignore[misc]
    """A `ConvTranspose1d` whose `in_channels` is that of its first input; then it is one."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):  # type: ignore[misc]
    """A `ConvTranspose2d` whose `in_channels` is that of its first input; then it is one."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):  # type: ignore[misc]
    """A `ConvTranspose3d` whose `in_channels` is that of its first input; then it is one."""

    cls_to_become = ConvTranspose3d


__getattr__ = absent.names_of(__name__)
