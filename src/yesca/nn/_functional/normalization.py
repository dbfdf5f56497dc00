"""Normalisation: the checks, and the argument order of `nn.functional`."""

from __future__ import annotations

import math

from ... import functional as ops
from ..._tensor import Tensor
from .shapes import pad


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of (N, C, ...) over batch and space, then scale and shift.

    In training the batch's own mean and (biased) variance serve, and the running statistics
    move towards them by `momentum`, the variance unbiased. Otherwise the running ones serve.
    """
    if training:
        _check_values_per_channel(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return ops.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def _check_values_per_channel(size) -> None:
    if math.prod(size[:1]) * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample of (N, C, ...) over space."""
    if use_input_stats and math.prod(input.size()[2:]) == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{input.size()}"
        )
    return ops.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def layer_norm(
    input: Tensor,
    normalized_shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions, which have `normalized_shape`; then scale and shift."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root mean square over the last dimensions; `eps` defaults to the dtype's."""
    return ops.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each of `num_groups` groups of channels of each sample of (N, C, ...)."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    size = input.size()
    _check_values_per_channel([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide each entry by a power of the mean square over `size` neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    channels = input.size(1)
    before, after = size // 2, (size - 1) // 2
    padded = pad(input * input, (0, 0) * (input.dim() - 2) + (before, after))
    window = padded.narrow(1, 0, channels)
    for offset in range(1, size):
        window = window + padded.narrow(1, offset, channels)
    rounding = None if input.dtype.is_floating_point or input.dtype.is_complex else "trunc"
    means = window.div(size, rounding_mode=rounding)  # of integers: as average pools have them
    return input / means.mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """input divided by its `p`-norm along `dim`, which counts as `eps` where smaller.

    >>> import yesca as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / length if out is None else ops.div(input, length, out=out)
