"""From losses to a loss: the `reduction` argument and the two that came before it."""

from __future__ import annotations


from ...base.frames import warn
from ..._tensor import Tensor


def reduce(losses: Tensor, reduction: str) -> Tensor:
    """`losses` as they are, their mean or their sum, by the name of the reduction."""
    check(reduction)
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


def check(reduction: str) -> None:
    """Refuse what is no reduction."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def chosen_reduction(
    reduction: str, size_average: bool | None, reduce: bool | None
) -> str:
    """`reduction`, or what the old arguments `size_average` and `reduce` mean if one is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        reduction = "none"
    else:
        reduction = "mean" if size_average is None or size_average else "sum"
    warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{reduction}' instead.",
    )
    return reduction
