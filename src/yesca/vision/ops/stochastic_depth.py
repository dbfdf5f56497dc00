"""Branches of residual networks that are left out at random."""

from __future__ import annotations

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """`input` [N, ...], where training zeroes it with probability `p` and scales what remains.

    Args:
        mode: "row" draws for each sample, "batch" once for all of them.

    Raises:
        ValueError: `p` outside 0..1, or another mode.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    survives = 1.0 - p
    size = [input.shape[0] if mode == "row" else 1] + [1] * (input.ndim - 1)
    noise = ops.empty(size, dtype=input.dtype, device=input.device).bernoulli_(survives)
    if survives > 0.0:
        noise.div_(survives)
    return input * noise


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a layer."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
