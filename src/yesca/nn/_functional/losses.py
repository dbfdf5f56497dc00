"""Losses on predictions: regression, classification, densities."""

from __future__ import annotations

import math

from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from .reduction import chosen_reduction
from .reduction import reduce as _reduced


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log-likelihood of `target` under `softmax(input)`.

    Args:
        input: logits, (C), (N, C) or (N, C, d1, ...).
        target: class numbers, of the shape of `input` without C; or probabilities, of its shape.
        weight: (C), a factor for each class.
        ignore_index: a class number that counts for nothing.
        reduction: `"mean"` (weighted), `"sum"` or `"none"`.
        label_smoothing: the part of the target spread evenly over all classes.

    >>> import yesca as torch
    >>> logits = torch.tensor([[2.0, 0.5, -1.0, 0.1]])
    >>> torch.nn.functional.cross_entropy(logits, torch.tensor([0]))
    tensor(0.3524)
    """
    reduction = chosen_reduction(reduction, size_average, reduce)
    return ops.cross_entropy(
        input,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative of `input` at the classes `target`; input are log-probabilities.

    Shapes and arguments are those of `cross_entropy`.
    """
    reduction = chosen_reduction(reduction, size_average, reduce)
    return ops.nll_loss(
        input, target, weight=weight, ignore_index=ignore_index, reduction=reduction
    )


def _warn_about_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
        )


def _weighted(losses: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """The reduction of weighted losses; the mean is over the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    losses = losses * weight
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / weight.sum()


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target) squared; with `weight`, the mean is weighted."""
    _warn_about_sizes(input, target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted((input - target).pow(2), weight, input, reduction)
    if input.size() != target.size():
        input, target = ops.broadcast_tensors(input, target)
    return ops.mse_loss(input, target, reduction=reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|; with `weight`, the mean is weighted."""
    _warn_about_sizes(input, target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted((input - target).abs(), weight, input, reduction)
    if input.is_floating_point() and not target.is_complex():
        return ops.l1_loss(input, target, reduction=reduction)
    return _reduced((input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """With d = |input - target|: d² / (2 beta) below `beta`, d - beta / 2 from there."""
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    _warn_about_sizes(input, target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return ops.smooth_l1_loss(input, target, beta=beta, reduction=reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """With d = |input - target|: d² / 2 up to `delta`, delta (d - delta / 2) from there."""
    _warn_about_sizes(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return ops.huber_loss(input, target, delta=delta, reduction=reduction)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = ops.huber_loss(input, target, delta=delta, reduction="none")
    return _reduced(losses * weight, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) for probabilities `input`; logarithms count as -100 at least.

    `target` has the shape of `input`; `weight` is broadcast to it.
    """
    reduction = chosen_reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(ops.broadcast_shapes(target.size(), weight.size()))
    return ops.binary_cross_entropy(input, target, weight=weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input), without the overflow; `pos_weight` scales t = 1."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return ops.binary_cross_entropy_with_logits(
        input, target, weight=weight, pos_weight=pos_weight, reduction=reduction
    )


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log target - input): `input` is log-probabilities, `target` too if `log_target`.

    `reduction="batchmean"` divides the sum by the batch size, as the definition has it.
    """
    if size_average is not None or reduce is not None:
        reduction = chosen_reduction(reduction, size_average, reduce)
    elif reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
        )
    if reduction == "batchmean":
        total = ops.kl_div(input, target, log_target=log_target, reduction="sum")
        return total / input.size(0) if input.dim() else total
    return ops.kl_div(input, target, log_target=log_target, reduction=reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts `target`; `input` is the (log of the) rate.

    `full` adds Stirling's approximation of log(target!).
    """
    reduction = chosen_reduction(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ops.poisson_nll_loss(
        input, target, log_input=log_input, full=full, eps=eps, reduction=reduction
    )


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of `target` under normals of mean `input` and variance `var`.

    `var` has the shape of `input`, or lacks its last dimension, or has size 1 there; it counts
    as `eps` where smaller, without changing its gradient.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = ops.full_like(input, var)
    elif ops.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        var = _fit_variance(var, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return _reduced(losses, reduction)


def _fit_variance(var: Tensor, input: Tensor) -> Tensor:
    if input.size()[:-1] == var.size():
        return var.unsqueeze(-1)
    if input.dim() == var.dim():
        differing = [v for i, v in zip(input.size(), var.size(), strict=True) if i != v]
        if sum(differing) == 1:
            return var
    raise ValueError("var is of incorrect size")


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths,
    target_lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: -log of all alignments of targets to frames."""
    return ops.ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank=blank,
        reduction=reduction,
        zero_infinity=zero_infinity,
    )
