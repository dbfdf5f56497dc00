"""Layers that multiply by a weight: Linear, Bilinear; and Identity."""

from __future__ import annotations

import math
from typing import Any

from ...base import absent
from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module, weight_and_bias

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """Returns its input; any arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`y = x @ weight.T + bias` over the last dimension.

    Shapes: input (..., in_features), output (..., out_features), weight (out_features,
    in_features), bias (out_features). Both start uniform in ±1/sqrt(in_features).

    >>> import yesca as torch
    >>> torch.nn.Linear(20, 30)(torch.zeros(128, 20)).shape
    torch.Size([128, 30])
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(ops.empty((out_features, in_features), **options))
        if bias:
            self.bias = Parameter(ops.empty(out_features, **options))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        # A leaky slope of sqrt(5) makes the bound of He's start 1/sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters  # what `weight_and_bias` does: for the commonest layer a call less
        try:
            weight, bias = own["weight"], own["bias"]
        except KeyError:
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The Linear inside MultiheadAttention, of a type of its own so that tools can tell it."""


class Bilinear(Module):
    """`y[k] = x1 @ weight[k] @ x2 + bias[k]`.

    Shapes: inputs (..., in1_features) and (..., in2_features), output (..., out_features).
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]
    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(ops.empty((out_features, in1_features, in2_features), **options))
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        if bias:
            self.bias = Parameter(ops.empty(out_features, **options))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in ±1/sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, *weight_and_bias(self))

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose `in_features` is the last size of its first input; then it is a `Linear`.

    Equal seeds at the first call give the weights of a `Linear` made with them.

    >>> import yesca as torch
    >>> layer = torch.nn.LazyLinear(30)
    >>> layer(torch.zeros(128, 20)).shape
    torch.Size([128, 30])
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `in_features` from `input`; shapes that were loaded stay."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            found, known = input.shape[-1], self.weight.shape[-1]
            assert found == known, (
                f"The in_features inferred from input: {found} is not equal to in_features from "
                f"self.weight: {known}"
            )
            self.in_features = found


__getattr__ = absent.names_of(__name__)
