"""`flex_attention`: attention whose scores and mask are functions of places.

All scores are made, (B, H, Q, KV), where scores are changed; a mask alone goes to
`scaled_dot_product_attention`, which stores no such table.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import functional as ops
from ..._tensor import Tensor
from ...base import absent
from ...base.frames import warn
from ...base.naming import lives_in
from ...core.dtypes import float32, float64
from ._block_masks import (
    BLOCK, BlockMask, Mod, and_masks, create_block_mask, create_mask, noop_mask, or_masks,
    over_places, sliced_mask,
)

__all__ = [
    "BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions",
    "create_block_mask", "create_mask", "or_masks", "and_masks", "noop_mask",
]

_DEFAULT_SPARSE_BLOCK_SIZE = BLOCK
FlexKernelOptions = dict


@lives_in("torch.nn.attention.flex_attention")
class AuxRequest(NamedTuple):
    """What `flex_attention` shall give beside its result."""

    lse: bool = False
    max_scores: bool = False


@lives_in("torch.nn.attention.flex_attention")
class AuxOutput(NamedTuple):
    """What `flex_attention` gives beside its result: None for what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Mod | None = None,
                   block_mask: BlockMask | None = None, scale: float | None = None,
                   enable_gqa: bool = False, return_lse: bool = False,
                   kernel_options: dict[str, Any] | None = None, *,
                   return_aux: AuxRequest | None = None) -> Any:
    """Attention with scores that `score_mod` changes, where `block_mask` leaves them.

    Args:
        query: (B, Hq, L, E).
        key: (B, Hkv, S, E).
        value: (B, Hkv, S, Ev); the result is (B, Hq, L, Ev).
        score_mod: `f(score, batch, head, query, key)`, all of them numbers as 0-dim tensors.
        block_mask: what `create_block_mask` gave for these lengths.
        scale: a factor of the scores; by default 1 / sqrt(E).
        enable_gqa: Hq may be a multiple of Hkv: neighbouring heads share keys and values.
        return_aux: give (result, AuxOutput) with the logarithms of the sums of the exponentials
            of each row of scores, or its largest score. `return_lse` is the former way to ask.
        kernel_options: about kernels of accelerators; not looked at.

    Rows that the mask leaves nothing of give 0. Raises ValueError where sizes do not fit.

    >>> import yesca as torch
    >>> x = torch.eye(2).reshape(1, 1, 2, 2)
    >>> causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    >>> flex_attention(x, x, x, lambda score, b, h, q, kv: score * 0, causal)
    tensor([[[[1.0000, 0.0000],
              [0.5000, 0.5000]]]])
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse:
        if return_aux is not None:
            raise ValueError("Cannot specify both return_lse and return_aux. return_lse is "
                             "deprecated, please use return_aux=AuxRequest(lse=True) instead.")
        warn("return_lse is deprecated and will be removed in v2.10. Please use "
             "return_aux=AuxRequest(lse=True) instead.", FutureWarning)
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = (t.repeat_interleave(groups, 1) for t in (key, value))
    key, value = (t.expand(query.size(0), -1, -1, -1) for t in (key, value))
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    result, scores = _attended(query, key, value, score_mod, block_mask, scale,
                               return_lse or return_aux is not None)
    if return_aux is not None:
        return result, AuxOutput(scores.logsumexp(-1) if return_aux.lse else None,
                                 scores.amax(-1) if return_aux.max_scores else None)
    return (result, scores.logsumexp(-1)) if return_lse else result


def _attended(query: Tensor, key: Tensor, value: Tensor, score_mod: Mod | None,
              block_mask: BlockMask | None, scale: float, wanted: bool) -> tuple[Tensor, Any]:
    """The result, and the scores (-inf where the mask is) where they are made or wanted."""
    sizes = (*query.shape[:3], key.size(2))
    mask = None
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        mask = over_places(block_mask.mask_mod, sizes=sizes, device=query.device)
        mask = mask.expand(sizes)
    empty = None if mask is None else ops.logical_not(mask.any(-1, keepdim=True))
    if score_mod is None and not wanted:
        made = ops.scaled_dot_product_attention(query, key, value, mask, scale=scale)
        return (made if empty is None else made.masked_fill(empty, 0.0)), None
    wide = float64 if query.dtype is float64 else float32
    scores = query.to(wide) @ key.to(wide).transpose(-2, -1) * scale
    if score_mod is not None:
        scores = over_places(score_mod, scores, sizes=sizes, device=query.device).to(wide)
    if mask is not None:
        scores = scores.masked_fill(ops.logical_not(mask), -math.inf)
    nothing = ops.isneginf(scores).all(-1, keepdim=True)
    weights = ops.softmax(scores, -1).masked_fill(nothing, 0.0)
    return (weights.to(query.dtype) @ value).to(query.dtype), scores


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None,
           enable_gqa: bool) -> None:
    if query.size(-1) != key.size(-1):
        raise ValueError("Expect query and key/value to have the same embedding dimension but got "
                         f"E={query.size(-1)} and E={key.size(-1)}.")
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads = query.size(1), key.size(1)
    if not enable_gqa and heads[0] != heads[1]:
        raise ValueError("Expect query and key/value to have the same number of heads but got "
                         f"Hq={heads[0]} and Hkv={heads[1]}. Try setting enable_gqa=True for GQA.")
    if enable_gqa and heads[0] % heads[1]:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but "
                         f"got Hq={heads[0]} and Hkv={heads[1]}.")
    batches = query.size(0), key.size(0)
    if batches[0] != batches[1] and block_mask is None:
        raise ValueError("Expect query and key/value to have the same batch size, or non-none "
                         f"block_mask, but got block_mask=None, Bq={batches[0]}, and "
                         f"Bkv={batches[1]}.")
    if block_mask is not None:
        _check_mask(query, key, block_mask, batches)


def _check_mask(query: Tensor, key: Tensor, block_mask: BlockMask, batches: tuple[int, int]
                ) -> None:
    own = block_mask.kv_num_blocks.size(0)
    if batches[0] != batches[1] and own != batches[0]:
        raise ValueError("Expect query and key/value to have the same batch size, or block_mask "
                         f"and query to have the same batch size, but got Bq={batches[0]}, "
                         f"Bkv={batches[1]}, B_block_mask={own}.")
    if block_mask.mask_mod is sliced_mask:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    lengths, made = (query.size(-2), key.size(-2)), block_mask.shape[-2:]
    if lengths == made:
        return
    smaller = lengths[0] > made[0] or lengths[1] > made[1]
    advice = (
        "smaller length than you're using it for, you likely need to create a new block mask."
        if smaller else
        "larger length than you're using it for, you can either 1. create a new block mask with "
        "the correct length, or 2. 'adjust' the existing block mask to the correct length by "
        "calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the "
        "upper left corner, which does not work for all mask_mods!")
    raise ValueError(
        f"block_mask was created for block_mask.shape={block_mask.shape} but got "
        f"q_len={lengths[0]} and kv_len={lengths[1]}. As the block mask was created for a {advice}")


__getattr__ = absent.names_of(__name__)
