"""The autograd functions that modules need."""

from __future__ import annotations

from ...autograd.function import Function


class BackwardHookFunction(Function):
    """The identity over any number of tensors: one node that full backward hooks watch."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*[each for each in tensors if not each.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return gradients
