"""What all ways to multiply have in common: the sizes of a product, blocks of K, packed panels."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .products_text import ITEM_BYTES, compute_dtype

BLOCK_INNER = 384  # steps of K between two visits to C: panels of A and B stay in L1 and L2
MOST_INNER = BLOCK_INNER * 3 // 2  # ... at most, as blocks of K are equal
ALIGN = 64


@dataclass(frozen=True)
class Product:
    """Sizes and byte strides of one product, and where its operands come from."""

    dtype: str
    batch: int
    m: int
    n: int
    k: int
    a: tuple[int, int, int]  # batch, row, inner
    b: tuple[int, int, int]  # batch, inner, column
    c: tuple[int, int]  # batch, row
    d: tuple[int, int] | None  # batch, row
    alpha: float
    beta: float
    floor: float
    roles: tuple[str, str] = ("a", "b")
    a_pieces: tuple[int, ...] = (0,)  # where equal parts of A's rows begin, in bytes
    b_pieces: tuple[int, ...] = (0,)  # ... of B's steps of K

    @property
    def gathers(self) -> bool:
        """Whether an operand lies in pieces, which only tiles put together."""
        return len(self.a_pieces) > 1 or len(self.b_pieces) > 1

    @property
    def size(self) -> int:
        return ITEM_BYTES[self.dtype]

    @property
    def goal(self) -> int:
        return ITEM_BYTES[compute_dtype(self.dtype)]


def word_of(p: Product, value: float) -> int:
    """The parameter word of a float of the compute dtype."""
    if p.goal == 8:
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return struct.unpack("<q", struct.pack("<f", value) + bytes(4))[0]


def ahead(stride: int) -> int:
    """Bytes to prefetch ahead of a step: steps far apart share cache sets, so fewer of them."""
    return stride * (16 if stride <= 256 else 4)


def block_inner(k: int) -> int:
    """Equal blocks of K near the best size, in sixteens."""
    count = max(1, (k + BLOCK_INNER // 2) // BLOCK_INNER)
    block = (k + count - 1) // count
    return max(16, (block + 15) // 16 * 16)


@dataclass(frozen=True)
class Packed:
    """The layout of a packed operand: panels of `width` lanes, each of `inner` steps.

    Panels have room for a multiple of `block` steps.
    """

    inner: int
    width: int
    batches: int
    panels: int
    size: int
    block: int = 1

    @property
    def panel_stride(self) -> int:
        """Bytes from panel to panel: one line more than full, to spread over cache sets."""
        steps = -(-self.inner // self.block) * self.block
        return -(-steps * self.width * self.size // ALIGN) * ALIGN + ALIGN

    @property
    def batch_stride(self) -> int:
        return self.panels * self.panel_stride if self.batches > 1 else 0

    @property
    def total(self) -> int:
        return self.batches * self.panels * self.panel_stride


def panel_bytes(p: Product, tile: tuple[int, int]) -> int:
    """The bytes of a panel of A, as far as a block of K goes."""
    return Packed(min(block_inner(p.k), p.k), tile[0], 1, 1, p.goal).panel_stride
