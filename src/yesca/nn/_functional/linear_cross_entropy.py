"""The cross entropy of a linear layer's outputs, in one function that need not keep them all."""

from __future__ import annotations

import math
from typing import Any

from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.function import Function
from ...autograd.grads import grad as gradients
from ...autograd.modes import enable_grad
from ...core.dtypes import bfloat16, float16, float32, int64
from .losses import cross_entropy

_REDUCTIONS = ("mean", "sum", "none")


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target, ...)`.

    Args:
        input: (in_features) or (N, in_features).
        linear_weight: (C, in_features) or (C, d1, ..., in_features).
        target: class numbers (), (N) or (N, d1, ...); or probabilities of the logits' shape.
        linear_bias: of the shape of `linear_weight` without its last dimension.
        weight: (C), a factor for each class.
        ignore_index: a class number that counts for nothing; by default -100. Not for
            probabilities.
        options: a `nn.LinearCrossEntropyOptions` works through the rows of the input in chunks,
            and never holds the logits (N, C) of more than one. Its derivative has none itself.

    Raises RuntimeError where shapes do not fit.

    >>> import yesca as torch
    >>> x, w = torch.tensor([[1.0, 2.0]]), torch.eye(2)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([1]))
    tensor(0.3133)
    """
    between = _check(input, linear_weight, linear_bias)
    shape = (*input.shape[:-1], linear_weight.shape[0], *between)
    if target.shape == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None and _chunks_fit(reduction, label_smoothing, target, between,
                                           linear_bias):
        return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction,
                          ignore_index, options)
    if between:
        rows = math.prod(shape[1:])
        linear_weight = linear_weight.reshape((rows, input.shape[-1]))
        linear_bias = None if linear_bias is None else linear_bias.reshape(rows)
    logits = ops.linear(input, linear_weight, linear_bias).reshape(shape)
    return cross_entropy(logits, target, weight, None, ignore_index, None, reduction,
                         label_smoothing)


def _check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> tuple[int, ...]:
    """Refuse shapes that do not fit; gives the dimensions between classes and features."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError("expected linear_weight with dimensionality at least 2, got "
                           f"{linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively")
    outer = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outer:
        raise RuntimeError(f"expected linear_bias shape {outer}, got {tuple(linear_bias.shape)}")
    if len(outer) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}")
    return outer[1:]


def _chunks_fit(reduction: str, label_smoothing: float, target: Tensor, between: tuple[int, ...],
                linear_bias: Tensor | None) -> bool:
    """Whether the loss can be worked out in chunks; warns if not."""
    fit = (reduction in _REDUCTIONS and label_smoothing == 0 and target.dtype is int64
           and not between)
    if not fit:
        bias = None if linear_bias is None else tuple(linear_bias.shape)
        warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
             "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == "
             f"(). Got reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype="
             f"{target.dtype}, out_features={between}, tracing=False, linear_bias.shape={bias}.")
    return fit


def _in_chunks(input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None,
               weight: Tensor | None, reduction: str, ignore_index: int, options: Any) -> Tensor:
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    options = options._adjust(*input.shape, linear_weight.shape[0], input.dtype, input.device)
    wide = options.acc_dtype
    if wide is not input.dtype and (wide is not float32 or input.dtype not in (float16, bfloat16)):
        raise RuntimeError(
            "linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but got "
            f"{wide} acc_dtype and {input.dtype} inputs.")
    form = _ChunkedLosses if reduction == "none" else _ChunkedLoss
    made = form.apply(input, linear_weight, linear_bias, target, weight,
                      _Settings(options, ignore_index, reduction))
    return made.squeeze(0) if single and reduction == "none" else made


class _Settings:
    """What all chunks have in common."""

    def __init__(self, options: Any, ignore_index: int, reduction: str) -> None:
        self.size, self.wide = options.batch_chunk_size, options.acc_dtype
        self.keep = options.allow_retain_graph
        self.ignore_index, self.reduction = ignore_index, reduction

    def losses(self, x: Tensor, linear_weight: Tensor, bias: Tensor | None, target: Tensor,
               weight: Tensor | None) -> Tensor:
        """The loss of each row, in the wide dtype."""
        given = [None if t is None else t.to(self.wide) for t in (x, linear_weight, bias, weight)]
        return cross_entropy(ops.linear(*given[:3]), target, given[3],
                             ignore_index=self.ignore_index, reduction="none")

    def share(self, target: Tensor, weight: Tensor | None) -> Tensor | float:
        """What a row's loss counts in the result."""
        if self.reduction == "sum":
            return 1.0
        counted = target != self.ignore_index
        if weight is None:
            return counted.sum().to(self.wide).reciprocal()
        return weight.to(self.wide)[target[counted]].sum().reciprocal()

    def chunks(self, *tensors: Tensor) -> Any:
        return zip(*(t.split(self.size) for t in tensors), strict=True)


def _chunk_gradients(settings: _Settings, ctx: Any, operands: tuple[Any, ...], target: Tensor,
                     weight: Tensor | None, upstream: Tensor, total: Any) -> Tensor:
    """The losses of a chunk; adds to the gradients of input (a list), weight and bias."""
    with enable_grad():
        leaves = [None if t is None else t.detach().requires_grad_(need)
                  for t, need in zip(operands, ctx.needs_input_grad[:3], strict=True)]
        losses = settings.losses(*leaves, target, weight)
        wanted = [k for k, need in enumerate(ctx.needs_input_grad[:3]) if need]
        made = gradients(losses, [leaves[k] for k in wanted], upstream) if wanted else ()
    for k, each in zip(wanted, made, strict=True):
        if k == 0:
            total[0].append(each)
        else:  # summed in the wide dtype
            total[k] = each.to(settings.wide) if total[k] is None else total[k].add_(each)
    return losses.detach()


def _gathered(total: list[Any], operands: tuple[Any, ...], ctx: Any) -> list[Any]:
    """The gradients in their operands' dtypes."""
    total[0] = ops.cat(total[0]) if total[0] else None
    return [g.to(t.dtype) if need else None
            for g, t, need in zip(total, operands, ctx.needs_input_grad[:3], strict=True)]


class _ChunkedLoss(Function):
    """One number: forward makes the gradients too, while it has a chunk's logits."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, linear_weight: Tensor, bias: Any, target: Tensor,
                weight: Any, settings: _Settings) -> Tensor:
        share = settings.share(target, weight)
        result = ops.zeros((), dtype=settings.wide, device=input.device)
        total: list[Any] = [[], None, None]
        for rows, classes in settings.chunks(input, target):
            upstream = ops.ones(classes.shape, dtype=settings.wide, device=input.device) * share
            result += (_chunk_gradients(settings, ctx, (rows, linear_weight, bias), classes,
                                        weight, upstream, total) * share).sum()
        ctx.gradients = _gathered(total, (input, linear_weight, bias), ctx)
        ctx.settings = settings
        return result.to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if ctx.gradients is None:
            raise RuntimeError("linear_cross_entropy chunked backward called twice; "
                               "retain_graph=True / double backward are not supported.")
        made = [None if g is None else g * grad for g in ctx.gradients]
        if not ctx.settings.keep:
            ctx.gradients = None
        return (*made, None, None, None)


class _ChunkedLosses(Function):
    """A number for each row: backward makes the logits of each chunk again."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, linear_weight: Tensor, bias: Any, target: Tensor,
                weight: Any, settings: _Settings) -> Tensor:
        ctx.save_for_backward(input, linear_weight, bias, target, weight)
        ctx.settings = settings
        return ops.cat([settings.losses(rows, linear_weight, bias, classes, weight)
                        for rows, classes in settings.chunks(input, target)]).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        input, linear_weight, bias, target, weight = ctx.saved_tensors
        total: list[Any] = [[], None, None]
        for rows, classes, upstream in ctx.settings.chunks(input, target, grad):
            _chunk_gradients(ctx.settings, ctx, (rows, linear_weight, bias), classes, weight,
                             upstream.to(ctx.settings.wide), total)
        return (*_gathered(total, (input, linear_weight, bias), ctx), None, None, None)
