"""Dropout and its relatives: the checks and shapes; the draws are the operators'."""

from __future__ import annotations


from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each entry with probability `p` and scale the rest by 1 / (1 - p)."""
    if p < 0.0 or p > 1.0:
        _check_probability(p)
    return ops.dropout_(input, p, training) if inplace else ops.dropout(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of SELU's outputs."""
    _check_probability(p)
    if inplace:
        return ops.alpha_dropout_(input, p, training)
    return ops.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""
    _check_probability(p)
    if inplace:
        return ops.feature_alpha_dropout_(input, p, training)
    return ops.feature_alpha_dropout(input, p, training)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of an input (N, C, L) or (C, L)."""
    _check_probability(p)
    rank = input.dim()
    if rank not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, batched=rank == 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of an input (N, C, H, W); (N, C, L) is taken as `dropout1d` does."""
    _check_probability(p)
    rank = input.dim()
    if rank not in (3, 4):
        _warn_about_rank("dropout2d", 2, rank, "3D or 4D")
    if rank == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
        )
    return _channels(input, p, training, inplace, batched=True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels of an input (N, C, D, H, W) or (C, D, H, W)."""
    _check_probability(p)
    rank = input.dim()
    if rank not in (4, 5):
        _warn_about_rank("dropout3d", 3, rank, "4D or 5D")
    return _channels(input, p, training, inplace, batched=rank == 5)


def _warn_about_rank(name: str, spatial: int, rank: int, expected: str) -> None:
    warn(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {expected} inputs).",
    )


def _channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    if inplace:
        result = ops.feature_dropout_(input, p, training)
    else:
        result = ops.feature_dropout(input, p, training)
    if batched:
        return result
    return result.squeeze_(0) if inplace else result.squeeze(0)
