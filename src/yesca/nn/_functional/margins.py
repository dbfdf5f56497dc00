"""Losses with a margin, and the distances they are made of."""

from __future__ import annotations

from collections.abc import Callable

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...core.dtypes import SCALAR_NAMES, int64, promote
from ...dispatch.autocast import widening
from ...operators.argument_types import check_tensors
from .reduction import check as check_reduction
from .reduction import chosen_reduction
from .reduction import reduce as _reduced


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms count as at least `eps`."""
    check_tensors("cosine_similarity", x1=x1, x2=x2)
    common = promote(x1.dtype, x2.dtype)
    x1, x2 = ops.broadcast_tensors(x1.to(common), x2.to(common))
    norms = [x.norm(2, dim, keepdim=True).clone() for x in (x1, x2)]
    with no_grad():  # the bound guards the division; the gradient is that of the norm itself
        for norm in norms:
            norm.clamp_min_(eps)
    return ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The `p`-norm of `x1 - x2 + eps` along the last dimension."""
    check_tensors("pairwise_distance", x1=x1, x2=x2)
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


@widening
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin): target 1 wants input1 larger, -1 smaller."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@widening
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    check_tensors("hinge_embedding_loss", input=input, target=target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    apart = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    together = input.masked_fill(target == -1, 0)
    return _reduced(apart + together, reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    return ops.soft_margin_loss(input, target, reduction=reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of each class's logit, averaged over the classes: input (N, C)."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    losses = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    losses = losses.sum(-1) / input.size(-1)  # (N)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return _reduced(losses, reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The hinge loss between the classes listed in `target` (up to a -1) and all others."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    return ops.multilabel_margin_loss(input, target, reduction=reduction)


@widening
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The hinge loss between the class `target` and every other, to the power `p`.

    input (N, C) or (C), target (N) or a 0-dim tensor, weight (C).
    """
    check_tensors("multi_margin_loss", input=input, target=target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    check_reduction(reduction)
    _check_classes(input, target, weight)
    if input.dim() == 0:
        input = input.unsqueeze(0)
    if target.dim() == 1 and input.dim() == 1:
        input = input.unsqueeze(0)
    index = target.unsqueeze(-1)  # (N, 1)
    hinge = (margin - input.gather(-1, index) + input).clamp_min(0)  # (N, C)
    hinge = hinge if p == 1 else hinge * hinge
    if weight is not None:
        hinge = hinge * weight[index]
    hinge = hinge.scatter(-1, index, 0.0)
    return _reduced(hinge.sum(-1) / input.size(-1), reduction)


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """What `multi_margin_loss` wants of its operands."""
    shape, batched = list(input.shape), input.dim() > 1
    if len(shape) > 2 or 0 in shape[batched:]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, "
                           f"but got: {shape}")
    samples = shape[0] if batched else 1
    if target.dim() > 1 or target.numel() != samples or batched and target.dim() == 0:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{samples}], but got "
            f"{list(target.shape)}. Input has shape {shape}.")
    if target.dtype is not int64:
        raise RuntimeError(
            f"expected scalar type Long but found {SCALAR_NAMES[target.dtype]}")
    classes = shape[-1] if shape else 1
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")


@widening
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1: inputs (N, D) or (D)."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    if target.dim() not in (0, 1):
        raise RuntimeError(
            f"0D or 1D target tensor expected, multi-target not supported; got {target.size()}"
        )
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.size())} and {list(input2.size())}."
        )
    tiny = 1e-12  # keeps the root away from zero, where its gradient has no value
    products = (input1 * input2).sum(-1)
    squares = [(x * x).sum(-1) + tiny for x in (input1, input2)]
    cosine = products / (squares[0] * squares[1]).sqrt()
    together = (1 - cosine).masked_fill(target != 1, 0)
    apart = (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return _reduced(together + apart, reduction)


@widening
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the `p`-norm distance.

    `swap` takes d(positive, negative) instead of d(anchor, negative) where that is smaller.
    """
    check_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    reduction = chosen_reduction(reduction, size_average, reduce)
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda x, y: pairwise_distance(x, y, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of your own."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = (anchor.dim(), positive.dim(), negative.dim())
    if len(set(ranks)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return _reduced((margin + near - far).clamp_min(0), reduction)
