"""Dropout of whole blocks of an image."""

from __future__ import annotations

from math import prod

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F

__all__ = ["DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"]


def _drop(
    input: Tensor, p: float, block_size: int, inplace: bool, eps: float, training: bool, rank: int
) -> Tensor:
    """Both ranks: seeds are drawn where a block fits, and each seed zeroes the block around it."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != rank + 2:
        raise ValueError(f"input should be {rank + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    batch, channels, *sizes = input.shape
    block_size = min(block_size, *sizes)
    if block_size % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block_size} which is even.")
    places = [size - block_size + 1 for size in sizes]
    seeds = ops.empty((batch, channels, *places), dtype=input.dtype, device=input.device)
    seeds.bernoulli_(p * prod(sizes) / (block_size**rank * prod(places)))
    half = block_size // 2
    pool = F.max_pool2d if rank == 2 else F.max_pool3d
    kept = 1 - pool(F.pad(seeds, [half] * (2 * rank)), block_size, stride=1, padding=half)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06,
    training: bool = True,
) -> Tensor:
    """[N, C, H, W] with blocks of `block_size` squared zeroed, and the rest scaled for it.

    A value is dropped with probability of about `p`. An even block is a ValueError.
    """
    return _drop(input, p, block_size, inplace, eps, training, 2)


def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06,
    training: bool = True,
) -> Tensor:
    """[N, C, D, H, W] with blocks of `block_size` cubed zeroed, and the rest scaled for it."""
    return _drop(input, p, block_size, inplace, eps, training, 3)


class DropBlock2d(nn.Module):
    """`drop_block2d` as a layer."""

    def __init__(
        self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06
    ) -> None:
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        return drop_block2d(
            input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, "
                f"inplace={self.inplace})")


class DropBlock3d(DropBlock2d):
    """`drop_block3d` as a layer."""

    def forward(self, input: Tensor) -> Tensor:
        return drop_block3d(
            input, self.p, self.block_size, self.inplace, self.eps, self.training)
