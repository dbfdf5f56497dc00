"""Layers that normalise each sample by itself."""

from __future__ import annotations

import numbers

from ...base import absent
from ... import functional as ops
from ..._tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module, weight_and_bias

__all__ = ["LocalResponseNorm", "CrossMapLRN2d", "LayerNorm", "GroupNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divides by a power of the mean square over neighbouring channels."""

    __constants__ = ["size", "alpha", "beta", "k"]
    size: int
    alpha: float
    beta: float
    k: float

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """The older form of `LocalResponseNorm`, of (N, C, H, W) only.

    Its mean at channel c is over the channels nearer than size / 2 and, as in PyTorch, channel 0.
    The gradient is that of these values; PyTorch's is off by a channel.
    """

    __constants__: list[str] = []

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead."
            )
        channel = ops.arange(input.size(1), device=input.device)
        near = (channel[:, None] - channel).abs() <= (self.size - 1) // 2
        near = (near | (channel == 0)).to(input.dtype)  # (C, C)
        sums = (near @ input.flatten(2).square()).reshape(input.shape)
        return input * (self.k + sums * (self.alpha / self.size)) ** -self.beta


def _set_scale_and_shift(module: Module, shape, affine: bool, bias: bool, options: dict) -> None:
    """Register `weight` and `bias` of `shape`, or None for what the layer has not."""
    for name, wanted in (("weight", affine), ("bias", affine and bias)):
        value = Parameter(ops.empty(shape, **options)) if wanted else None
        module.register_parameter(name, value)


class LayerNorm(Module):
    """Normalises over the last dimensions, then scales and shifts by learned values.

    Args:
        normalized_shape: the sizes of those dimensions (an int means the last one).
        eps: added to the variance.
        elementwise_affine: whether there are a weight and (with `bias`) a bias.

    >>> import yesca as torch
    >>> torch.nn.LayerNorm(4)
    LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        single = isinstance(normalized_shape, numbers.Integral)
        self.normalized_shape = (normalized_shape,) if single else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        options = {"device": device, "dtype": dtype}
        _set_scale_and_shift(self, self.normalized_shape, elementwise_affine, bias, options)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, *weight_and_bias(self), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalises each of `num_groups` groups of channels of (N, C, ...)."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        options = {"device": device, "dtype": dtype}
        _set_scale_and_shift(self, num_channels, affine, bias, options)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, *weight_and_bias(self), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions, then scales.

    `eps` is added to the mean square; the dtype's own epsilon if left out.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        single = isinstance(normalized_shape, numbers.Integral)
        self.normalized_shape = (normalized_shape,) if single else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(ops.empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


__getattr__ = absent.names_of(__name__)
