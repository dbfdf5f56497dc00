"""Gradients of convolutions with respect to their input and weight, as functions of their own."""

from __future__ import annotations

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.grads import grad
from ..autograd.modes import enable_grad
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
           "conv3d_weight"]


def _by_input(rank: int, input_size: Any, weight: Tensor, grad_output: Tensor, *numbers: Any
              ) -> Tensor:
    with enable_grad():
        input = ops.empty(tuple(input_size), dtype=weight.dtype, device=weight.device)
        made = _convolved(rank, input.requires_grad_(), weight.detach(), *numbers)
    return grad(made, input, grad_output)[0]


def _by_weight(rank: int, input: Tensor, weight_size: Any, grad_output: Tensor, *numbers: Any
               ) -> Tensor:
    with enable_grad():
        weight = ops.empty(tuple(weight_size), dtype=input.dtype, device=input.device)
        made = _convolved(rank, input.detach(), weight.requires_grad_(), *numbers)
    return grad(made, weight, grad_output)[0]


def _convolved(rank: int, input: Tensor, weight: Tensor, *numbers: Any) -> Tensor:
    """numbers: stride, padding, dilation and groups."""
    return (F.conv1d, F.conv2d, F.conv3d)[rank - 1](input, weight, None, *numbers)


def conv1d_input(input_size, weight: Tensor, grad_output: Tensor, stride=1, padding=0, dilation=1,
                 groups=1) -> Tensor:
    """The gradient of `conv1d` with respect to an input of `input_size`; see `conv2d_input`."""
    return _by_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input: Tensor, weight_size, grad_output: Tensor, stride=1, padding=0,
                  dilation=1, groups=1) -> Tensor:
    """The gradient of `conv1d` with respect to a weight of `weight_size`; see `conv2d_weight`."""
    return _by_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight: Tensor, grad_output: Tensor, stride=1, padding=0, dilation=1,
                 groups=1) -> Tensor:
    """The gradient of `conv2d` with respect to an input (N, C, H, W) of `input_size`.

    `grad_output` (N, O, H', W') is the gradient of the result; the other arguments are those of
    the convolution.

    >>> import yesca as torch
    >>> weight, slope = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1)
    >>> torch.nn.grad.conv2d_input((1, 1, 2, 2), weight, slope).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """
    return _by_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input: Tensor, weight_size, grad_output: Tensor, stride=1, padding=0,
                  dilation=1, groups=1) -> Tensor:
    """The gradient of `conv2d` with respect to a weight (O, C, h, w) of `weight_size`.

    >>> import yesca as torch
    >>> x, slope = torch.arange(4.0).reshape(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
    >>> torch.nn.grad.conv2d_weight(x, (1, 1, 1, 1), slope).item()
    6.0
    """
    return _by_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight: Tensor, grad_output: Tensor, stride=1, padding=0, dilation=1,
                 groups=1) -> Tensor:
    """The gradient of `conv3d` with respect to an input of `input_size`; see `conv2d_input`."""
    return _by_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input: Tensor, weight_size, grad_output: Tensor, stride=1, padding=0,
                  dilation=1, groups=1) -> Tensor:
    """The gradient of `conv3d` with respect to a weight of `weight_size`; see `conv2d_weight`."""
    return _by_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
