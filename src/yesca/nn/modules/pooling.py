"""Pooling layers; `nn.functional` says what each computes."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._tensor import Tensor
from .. import functional as F
from ._names import to_tuple
from .module import Module

__all__ = [
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
]


class _MaxPoolNd(Module):
    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    ]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _arguments(self) -> tuple:
        where = (self.kernel_size, self.stride, self.padding, self.dilation)
        return (*where, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of every window of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor):
        return F.max_pool1d(input, *self._arguments())


class MaxPool2d(_MaxPoolNd):
    """The maximum of every window of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor):
        return F.max_pool2d(input, *self._arguments())


class MaxPool3d(_MaxPoolNd):
    """The maximum of every window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor):
        return F.max_pool3d(input, *self._arguments())


class _MaxUnpoolNd(Module):
    _rank: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = to_tuple(kernel_size, self._rank)
        self.stride = to_tuple(kernel_size if stride is None else stride, self._rank)
        self.padding = to_tuple(padding, self._rank)

    def forward(self, input: Tensor, indices: Tensor, output_size=None) -> Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self._rank - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where `MaxPool1d(return_indices=True)` found them."""

    _rank = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where `MaxPool2d(return_indices=True)` found them."""

    _rank = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where `MaxPool3d(return_indices=True)` found them."""

    _rank = 3


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = to_tuple(kernel_size, 1)
        self.stride = to_tuple(kernel_size if stride is None else stride, 1)
        self.padding = to_tuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        where = (self.kernel_size, self.stride, self.padding)
        return F.avg_pool1d(input, *where, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _arguments(self) -> tuple:
        where = (self.kernel_size, self.stride, self.padding)
        return (*where, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        defaults = {"padding": 0, "ceil_mode": False, "count_include_pad": True}
        for name, value in {**defaults, "divisor_override": None}.items():
            self.__dict__.setdefault(name, value)


class AvgPool2d(_AvgPoolWithDivisor):
    """The mean of every window of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._arguments())


class AvgPool3d(_AvgPoolWithDivisor):
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._arguments())


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    norm_type: float
    ceil_mode: bool

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _arguments(self) -> tuple:
        return (float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The `norm_type`-norm of every window of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, *self._arguments())


class LPPool2d(_LPPoolNd):
    """The `norm_type`-norm of every window of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, *self._arguments())


class LPPool3d(_LPPoolNd):
    """The `norm_type`-norm of every window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, *self._arguments())


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of windows chosen so that the length becomes `output_size`."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of windows chosen so that height and width become `output_size`."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of windows chosen so that the three dimensions become `output_size`."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _rank: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = to_tuple(kernel_size, self._rank)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else to_tuple(output_size, self._rank)
        self.output_ratio = None if output_ratio is None else to_tuple(output_ratio, self._rank)
        if any(size <= 0 for size in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor):
        pool = getattr(F, f"fractional_max_pool{self._rank}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows at random places of (N, C, H, W) or (C, H, W); Graham, arXiv:1412.6071.

    Height and width become `output_size`, or `output_ratio` (in (0, 1)) times what they are.
    """

    _rank = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows at random places of (N, C, D, H, W) or (C, D, H, W), as in two dimensions.
    """

    _rank = 3


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows chosen so that the length becomes `output_size`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows chosen so that height and width become `output_size`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows chosen so that the three dimensions become `output_size`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
