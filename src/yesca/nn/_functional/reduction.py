"""From losses to a loss: the `reduction` argument and the two that came before it."""

from __future__ import annotations

import warnings

from ..._tensor import Tensor


def reduce(losses: Tensor, reduction: str) -> Tensor:
    """`losses` as they are, their mean or their sum, by the name of the reduction."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that the old arguments `size_average` and `reduce` mean."""
    average = True if size_average is None else size_average
    summarise = True if reduce is None else reduce
    if not summarise:
        reduction = "none"
    else:
        reduction = "mean" if average else "sum"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction
