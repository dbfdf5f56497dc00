"""Masks of attention as functions of places, and which blocks of the table they leave empty."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base.naming import lives_in
from ...core.dtypes import bool_, int32, int64
from ...func import vmap
from .. import functional as F

BLOCK = 128
Mod = Callable[..., Any]
#: The tensors of a block mask, in the order in which it gives them.
TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
           "q_indices", "full_q_num_blocks", "full_q_indices", "dq_write_order",
           "dq_write_order_full", "dq_kv_order")


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that leaves everything."""
    return batch.new_ones((), dtype=bool_)


def sliced_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask of a part of a block mask: nobody knows where it begins."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the "
        "mask_mod attribute is reset. You must set it from the original BlockMask's mask_mod.")


def takes_scores(mod: Mod) -> bool:
    """Whether a function is one of scores (five arguments) and not of places alone (four)."""
    needed = [p for p in inspect.signature(mod).parameters.values() if p.default is p.empty]
    if len(needed) not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {len(needed)}")
    return len(needed) == 5


def over_places(mod: Mod, *scores: Tensor, sizes: tuple[int, ...], device: Any) -> Tensor:
    """What a function of one place gives for all: (B, H, Q, KV)."""
    score = (0,) * len(scores)
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None),
                 (0, None, None, None)):
        mod = vmap(mod, in_dims=(*score, *dims))
    places = [ops.arange(size, device=device) for size in sizes]
    return mod(*scores, *places)


def _combined(mask_mods: tuple[Mod, ...], start: bool) -> Mod:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_full((), start, dtype=bool_)
        for mod in mask_mods:
            found = mod(b, h, q_idx, kv_idx)
            result = result & found if start else result | found
        return result

    mask.__name__ = mask.__qualname__ = "and_mask" if start else "or_mask"
    return mask


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask that leaves what one of the masks leaves."""
    return _combined(mask_mods, False)


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask that leaves what all of the masks leave."""
    return _combined(mask_mods, True)


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int,  # noqa: N803
                KV_LEN: int, device: Any = None) -> Tensor:  # noqa: N803
    """The mask (B, H, Q_LEN, KV_LEN) of truth values that a function of places gives.

    Args:
        mod_fn: `f(batch, head, query, key)`, true where attention may go; or one of scores,
            `f(score, batch, head, query, key)`, whose result is -inf where it may not.
        B, H: None counts as 1.

    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if takes_scores(mod_fn):
        scores = ops.zeros(sizes, device=device)
        return ops.logical_not(ops.isneginf(
            over_places(mod_fn, scores, sizes=sizes, device=device)))
    return over_places(mod_fn, sizes=sizes, device=device)


def create_block_mask(mask_mod: Mod, B: int | None, H: int | None,  # noqa: N803
                      Q_LEN: int, KV_LEN: int, device: Any = None,  # noqa: N803
                      BLOCK_SIZE: int | tuple[int, int] = BLOCK,  # noqa: N803
                      _compile: bool = False, separate_full_blocks: bool = True,
                      compute_dq_write_order: bool = False, dq_kv_order: bool = True
                      ) -> BlockMask:
    """The block mask of a function `f(batch, head, query, key)`.

    Args:
        BLOCK_SIZE: queries and keys of a block.
        separate_full_blocks: list blocks that the mask leaves whole apart.
        compute_dq_write_order, dq_kv_order: about kernels of accelerators; not looked at.

    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> mask.shape, mask.sparsity()
    ((1, 1, 256, 256), 25.0)
    """
    if takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    counts = _counts(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), size)
    whole = size[0] * size[1] if separate_full_blocks else -1
    partial, full = (counts > 0) & (counts != whole), counts == whole
    return BlockMask.from_kv_blocks(
        *_ordered(partial), *(_ordered(full) if separate_full_blocks else (None, None)),
        BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))


def _counts(mask: Tensor, size: tuple[int, ...]) -> Tensor:
    """How many places of each block a mask leaves: (B, H, rows, columns)."""
    missing = [-n % block for n, block in zip(mask.shape[-2:], size, strict=True)]
    mask = F.pad(mask, (0, missing[1], 0, missing[0]))
    batch, heads, queries, keys = mask.shape
    blocks = mask.view(batch, heads, queries // size[0], size[0], keys // size[1], size[1])
    return blocks.to(int64).sum((-3, -1))


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks a row has, and their columns first."""
    dense = dense.to(int32)
    columns = ops.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(int32), columns.to(int32)


def _dense(counts: Tensor, columns: Tensor) -> Tensor:
    """1 for each block that is listed."""
    listed = ops.arange(columns.shape[-1], device=columns.device) < counts.unsqueeze(-1)
    return ops.zeros_like(columns).scatter(-1, columns.to(int64), listed.to(int32))


@lives_in("torch.nn.attention.flex_attention")
class BlockMask:
    """A mask as a function of places, and which blocks of the table have anything to compute.

    `kv_num_blocks` (B, H, rows) counts the blocks of each row that are masked in part,
    `kv_indices` (B, H, rows, columns) lists their columns first; `full_...` are those that the
    mask leaves whole, `q_...` the same by columns. Attention here looks at `mask_mod` alone.
    """

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
                 full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None,
                 q_num_blocks: Tensor | None, q_indices: Tensor | None,
                 full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
                 BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK),  # noqa: N803
                 mask_mod: Mod = noop_mask, *, dq_write_order: Tensor | None = None,
                 dq_write_order_full: Tensor | None = None, dq_kv_order: Tensor | None = None,
                 dq_kv_order_spt: bool | None = None) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, pair in (("kv", (full_kv_num_blocks, full_kv_indices)),
                           ("q", (full_q_num_blocks, full_q_indices))):
            if (pair[0] is None) != (pair[1] is None):
                raise AssertionError(f"full_{name}_num_blocks and full_{name}_indices must be both "
                                     "provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor,
                       full_kv_num_blocks: Tensor | None = None,
                       full_kv_indices: Tensor | None = None,
                       BLOCK_SIZE: int | tuple[int, int] = BLOCK,  # noqa: N803
                       mask_mod: Mod | None = None, seq_lengths: tuple[int, int] | None = None,
                       compute_q_blocks: bool = True, **order: Any) -> BlockMask:
        """A block mask of the blocks of each row; those of each column follow."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        columns: list[Tensor | None] = []
        for counts, listed in ((kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)):
            known = compute_q_blocks and counts is not None and listed is not None
            columns += _ordered(_dense(counts, listed).transpose(-2, -1)) if known else (None, None)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
                   *columns, size, mask_mod or noop_mask, **order)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Lengths, tensors, sizes of a block and the function of places, one after the other."""
        lengths = tuple(self.seq_lengths) if flatten else (self.seq_lengths,)
        size = tuple(self.BLOCK_SIZE) if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, name) for name in TENSORS), self.dq_kv_order_spt, *size,
                self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many places there are."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """The share of the table, in percent, that no block covers."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block with anything to compute: (B, H, rows, columns)."""
        made = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            made = made | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return made

    def __getitem__(self, index: Any) -> BlockMask:
        """A part, by batch, head and row of blocks; its `mask_mod` must be set anew."""
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        places = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < 0
            else slice(i, i + 1) if isinstance(i, int) else i
            for i, n in zip(padded, self.kv_num_blocks.shape[:3], strict=True))
        parts = [None if t is None else t[places] for t in (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)]
        return BlockMask.from_kv_blocks(
            *parts, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=sliced_mask,
            seq_lengths=self.seq_lengths, compute_q_blocks=self.q_indices is not None)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part for other lengths."""
        rows, columns = (-(-n // block) for n, block in zip(
            (new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True))
        parts: list[Tensor | None] = []
        for counts, listed in ((self.kv_num_blocks, self.kv_indices),
                               (self.full_kv_num_blocks, self.full_kv_indices)):
            kept = None if counts is None or listed is None else _dense(counts, listed)
            parts += (None, None) if kept is None else _ordered(kept[:, :, :rows, :columns])
        return BlockMask.from_kv_blocks(
            *parts, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len), compute_q_blocks=self.q_indices is not None)

    def to(self, device: Any) -> BlockMask:
        """The same with its tensors on a device."""
        moved = {n: None if getattr(self, n) is None else getattr(self, n).to(device)
                 for n in TENSORS}
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE,
                         mask_mod=self.mask_mod, dq_kv_order_spt=self.dq_kv_order_spt)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """The blocks as a picture: full, part and empty squares; -1 draws all of them."""
        dense = self.to_dense().float()
        *batch, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        steps = [1 if m == -1 else max(1, -(-n // m))
                 for n, m in zip((rows, columns), most, strict=True)]
        drawn = []
        for number, place in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                drawn += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch "
                          "or head"]
                break
            drawn.append(f"{place}\n" + _picture(dense[place], *steps))
        return "\n".join(drawn)

    def __str__(self) -> str:
        return (f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
                f"{self.to_string().strip()}\n)")

    def __repr__(self) -> str:
        lines = [f"    {name}={None if getattr(self, name) is None else getattr(self, name).shape}"
                 for name in TENSORS[:8]]
        lines += [f"    BLOCK_SIZE={self.BLOCK_SIZE}", f"    shape={self.shape}",
                  f"    sparsity={self.sparsity():.2f}%",
                  f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}"]
        return "BlockMask(\n" + ",\n".join(lines) + "\n)"


def _picture(dense: Tensor, down: int, right: int) -> str:
    text = ""
    for row in dense.split(down):
        for part in row.split(right, 1):
            share = part.mean().item()
            text += ("█" if share == 1 else " " if share == 0 else "░") * 2
        text += "\n"
    return text
