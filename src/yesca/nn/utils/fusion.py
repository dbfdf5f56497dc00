"""A convolution or linear layer and the batch norm after it, as one layer for inference."""

from __future__ import annotations

import copy
from typing import Any

from ... import functional as ops
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
           "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of `conv` that computes `bn(conv(x))`; both must be in evaluation mode.

    transpose: `conv` is a transposed convolution, whose output channels are the weight's second
    dimension.

    >>> import yesca as torch
    >>> conv, bn = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> x = torch.ones(1, 1, 4, 4)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-5)
    True
    """
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of `linear` that computes `bn(linear(x))`; both must be in evaluation mode.

    Raises AssertionError where the features of the two differ.
    """
    assert linear.out_features == bn.num_features or bn.num_features == 1, (
        "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
        f"{linear.out_features=} and {bn.num_features=}")
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer: Any, bn: Any, weights: Any, *rest: Any) -> Any:
    assert not (layer.training or bn.training), "Fusion only for eval!"
    assert bn.running_mean is not None and bn.running_var is not None, (
        "bn.running_mean and bn.running_var must not be None")
    made = copy.deepcopy(layer)
    made.weight, made.bias = weights(made.weight, made.bias, bn.running_mean, bn.running_var,
                                     bn.eps, bn.weight, bn.bias, *rest)
    return made


def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float,
                         bn_w: Any, bn_b: Any, transpose: bool = False
                         ) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused convolution, from those of the layers and the statistics."""
    shape = [1, -1] if transpose else [-1, 1]
    return _weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b,
                    [*shape, *(1 for _ in conv_w.shape[2:])])


def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float,
                           bn_w: Any, bn_b: Any) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused linear layer, from those of the layers and the statistics."""
    return _weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _weights(weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any,
             shape: list[int]) -> tuple[Parameter, Parameter]:
    """weight * s and (bias - mean) * s + shift, where s = scale / sqrt(variance + eps)."""
    bias = ops.zeros_like(mean) if bias is None else bias
    scale = ops.ones_like(mean) if scale is None else scale
    shift = ops.zeros_like(mean) if shift is None else shift
    factor = scale * ops.rsqrt(variance + eps)
    made = (weight * factor.reshape(shape)).to(weight.dtype)
    moved = ((bias - mean) * factor + shift).to(bias.dtype)
    return (Parameter(made.detach(), weight.requires_grad),
            Parameter(moved.detach(), bias.requires_grad))
