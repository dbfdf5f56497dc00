"""Random numbers of a counter: Philox 4x32, the same for every machine and block size.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from typing import Any

from .. import blocks, types
from ..blocks import Block, block
from .math import cos, log, sin, sqrt, umulhi

ROUNDS = 10
_KEYS = (0x9E3779B9, 0xBB67AE85)
_FACTORS = (0xD2511F53, 0xCD9E8D57)


def _u32(x: Any) -> Block:
    return blocks.cast(block(x), types.uint32)


def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: int = ROUNDS
           ) -> tuple[Any, ...]:
    """Four blocks of 32 random bits, of a seed of 64 bits and four counters."""
    seed = blocks.cast(block(seed), types.uint64)
    k0, k1 = _u32(seed & 0xFFFFFFFF), _u32(seed >> 32)
    c0, c1, c2, c3 = map(_u32, (c0, c1, c2, c3))
    a, b = (block(factor, types.uint32) for factor in _FACTORS)
    for _ in range(n_rounds):
        c0, c1, c2, c3 = (umulhi(b, c2) ^ c1 ^ k0, b * c2, umulhi(a, c0) ^ c3 ^ k1, a * c0)
        k0, k1 = k0 + _KEYS[0], k1 + _KEYS[1]
    return c0, c1, c2, c3


def randint4x(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tuple[Any, ...]:
    """Four blocks of 32 random bits for each offset."""
    low = block(offset)
    high = low >> 32 if low.type.itemsize == 8 else low * 0
    zero = low * 0
    return philox(seed, low, high, zero, zero, n_rounds)


def randint(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> Any:
    """32 random bits for each offset."""
    return randint4x(seed, offset, n_rounds)[0]


def uint_to_uniform_float(x: Block) -> Block:
    """Random bits as numbers of [0, 1)."""
    signed = blocks.cast(x, types.int32, bits=True)
    folded = blocks.where(signed < 0, -signed - 1, signed)
    return blocks.cast(folded, types.float32) * 4.6566127342e-10


def rand(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> Block:
    """A uniform number of [0, 1) for each offset, float32."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed: Any, offsets: Any, n_rounds: int = ROUNDS) -> tuple[Block, ...]:
    """Four uniform numbers for each offset."""
    return tuple(map(uint_to_uniform_float, randint4x(seed, offsets, n_rounds)))


def _normal(u1: Block, u2: Block) -> tuple[Block, Block]:
    """Two normal numbers of two uniform ones, by Box and Muller."""
    u1 = blocks.where(u1 < 1e-7, 1e-7, u1)
    angle = u2 * 6.283185307179586
    radius = sqrt(log(u1) * -2.0)
    return radius * cos(angle), radius * sin(angle)


def randn(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> Block:
    """A normal number for each offset, float32."""
    first, second, _, _ = rand4x(seed, offset, n_rounds)
    return _normal(first, second)[0]


def randn4x(seed: Any, offset: Any, n_rounds: int = ROUNDS) -> tuple[Block, ...]:
    """Four normal numbers for each offset."""
    u = rand4x(seed, offset, n_rounds)
    return (*_normal(u[0], u[1]), *_normal(u[2], u[3]))
