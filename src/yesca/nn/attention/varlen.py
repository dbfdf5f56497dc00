"""`varlen_attn`: attention over sequences of several lengths that stand one after another.

Each sequence is one call of `scaled_dot_product_attention`, which stores no table of scores: there
is no padding, and gradients follow from the parts.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import is_grad_enabled
from ...base import absent
from ...base.naming import lives_in
from ...core.dtypes import bool_, float32, float64

__all__ = ["varlen_attn", "varlen_attn_out", "AuxRequest"]

Aux = Tensor | tuple[Tensor, Tensor]


@lives_in("torch.nn.attention.varlen")
class AuxRequest(NamedTuple):
    """What `varlen_attn` shall give beside its result."""

    lse: bool = False


def varlen_attn(query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor,
                cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
                return_aux: AuxRequest | None = None, scale: float | None = None,
                window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False,
                seqused_k: Tensor | None = None, block_table: Tensor | None = None,
                num_splits: int | None = None) -> Aux:
    """Attention within each of N sequences; the result is like `query`, (Tq, Hq, D).

    Args:
        query: (Tq, Hq, D), all queries of all sequences; any floating-point dtype.
        key, value: (Tk, H, D); with `block_table`, pages (P, page size, H, D).
        cu_seq_q, cu_seq_k: (N + 1), where the sequences begin, and where the last one ends.
        max_q, max_k: the greatest lengths.
        return_aux: with `lse` also the logarithms of the sums of exp(scores), (Hq, Tq) in float32;
            -inf for a query that sees no key, whose result is 0.
        scale: factor of the scores; by default 1 / sqrt(D).
        window_size: how many keys before and after its own a query sees, -1 for all; the last
            query's own key is the last one. (-1, 0) is causal.
        enable_gqa: several heads of queries share a head of keys.
        seqused_k: (N), how many keys of each sequence count.
        block_table: (N, pages), the pages of each sequence in order; wants `seqused_k`.
        num_splits: accepted; results do not depend on how work is divided.

    Raises ValueError for heads or places that do not fit, RuntimeError where gradients are
    recorded with `seqused_k` or `block_table`, which are for inference.

    >>> import yesca as torch
    >>> from yesca.nn.attention.varlen import varlen_attn
    >>> x = torch.tensor([1.0, 3.0, 10.0]).reshape(3, 1, 1)
    >>> starts = torch.tensor([0, 2, 3])
    >>> varlen_attn(torch.zeros_like(x), x, x, starts, starts, 2, 2).flatten()
    tensor([ 2.,  2., 10.])
    """
    _check(query, key, value, seqused_k, block_table, enable_gqa)
    begins = _places("cu_seq_q", cu_seq_q, query.size(0), max_q)
    keys = _sequences(key, cu_seq_k, max_k, seqused_k, block_table)
    values = _sequences(value, cu_seq_k, max_k, seqused_k, block_table)
    if not len(begins) - 1 == len(keys):
        raise ValueError(f"cu_seq_q tells of {len(begins) - 1} sequences, but there are keys of "
                         f"{len(keys)}")
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    wanted = return_aux is not None and return_aux.lse
    results, sums = [], []
    for begin, end, k, v in zip(begins, begins[1:], keys, values):
        q = query[begin:end].transpose(0, 1)  # (Hq, L, D)
        k, v = k.transpose(0, 1), v.transpose(0, 1)  # (H, S, D)
        mask = _window(q.size(1), k.size(1), window_size, query.device)
        results.append(_attended(q, k, v, mask, scale, enable_gqa).transpose(0, 1))
        if wanted:
            sums.append(_sums(q, k, mask, scale))
    rest = query.size(0) - begins[-1]  # queries of no sequence
    results.append(query.new_zeros(rest, query.size(1), value.size(-1)))
    result = ops.cat(results)
    if not wanted:
        return result
    return result, ops.cat([*sums, query.new_zeros(query.size(1), rest, dtype=float32)], 1)


def varlen_attn_out(out: Tensor, query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor,
                    cu_seq_k: Tensor | None, max_q: int, max_k: int, **options: Any) -> Aux:
    """As `varlen_attn`, with its options, but the result is written to `out`, (Tq, Hq, D)."""
    made = varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, **options)
    if isinstance(made, tuple):
        return out.copy_(made[0]), made[1]
    return out.copy_(made)


def _check(query: Tensor, key: Tensor, value: Tensor, seqused_k: Tensor | None,
           block_table: Tensor | None, enable_gqa: bool) -> None:
    rank = 3 if block_table is None else 4
    if query.dim() != 3 or key.dim() != rank or value.dim() != rank:
        raise ValueError(f"Expect query of 3 dimensions and key and value of {rank}, but got "
                         f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}")
    heads, shared = query.size(1), key.size(-2)
    if not enable_gqa and heads != shared:
        raise ValueError("Expect query and key/value to have the same number of heads but got "
                         f"Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA.")
    if enable_gqa and heads % shared:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but "
                         f"got Hq={heads} and Hkv={shared}.")
    if block_table is not None and seqused_k is None:
        raise ValueError("block_table requires seqused_k, which tells how many keys count")
    for name, given in (("seqused_k", seqused_k), ("block_table", block_table)):
        if given is not None and is_grad_enabled() and any(
                t.requires_grad for t in (query, key, value)):
            raise RuntimeError(f"{name} is an inference-only parameter.")


def _places(name: str, starts: Tensor | None, length: int, longest: int) -> list[int]:
    """Where sequences begin and end, as numbers."""
    if starts is None or starts.dim() != 1 or not starts.numel():
        shown = None if starts is None else tuple(starts.shape)
        raise ValueError(f"{name} must be a tensor of shape (N + 1,), but got {shown}")
    places = starts.tolist()
    lengths = [end - begin for begin, end in zip(places, places[1:])]
    if places[0] != 0 or places[-1] > length or min(lengths, default=0) < 0:
        raise ValueError(f"{name} must rise from 0 to at most {length}, but is {places}")
    if max(lengths, default=0) > longest:
        raise ValueError(f"a sequence of {name} has {max(lengths)} elements, more than the "
                         f"{longest} that were told")
    return places


def _sequences(stored: Tensor, starts: Tensor | None, longest: int, used: Tensor | None,
               table: Tensor | None) -> list[Tensor]:
    """The keys or values of each sequence, (S, H, D)."""
    if table is not None:
        pieces = [stored[pages].flatten(0, 1) for pages in table]
    else:
        places = _places("cu_seq_k", starts, stored.size(0), longest)
        pieces = [stored[begin:end] for begin, end in zip(places, places[1:])]
    if used is None:
        return pieces
    return [piece[:count] for piece, count in zip(pieces, used.tolist(), strict=True)]


def _window(queries: int, keys: int, size: tuple[int, int], device: Any) -> Tensor | bool | None:
    """Which keys a query sees: all (None), those up to its own (True), or a mask (L, S)."""
    left, right = size
    if left < 0 and right < 0:
        return None
    if queries == keys and left < 0 and right == 0:
        return True
    own = ops.arange(queries, device=device).unsqueeze(1) + (keys - queries)
    ahead = ops.arange(keys, device=device) - own
    mask = ops.ones(queries, keys, dtype=bool_, device=device)
    if right >= 0:
        mask = mask & (ahead <= right)
    return mask & (ahead >= -left) if left >= 0 else mask


def _attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | bool | None,
              scale: float, enable_gqa: bool) -> Tensor:
    """The result of one sequence, (Hq, L, D)."""
    if not key.size(1):
        return query.new_zeros(*query.shape[:2], value.size(-1))
    given = mask if isinstance(mask, Tensor) else None
    made = ops.scaled_dot_product_attention(query, key, value, given, 0.0, mask is True,
                                            scale=scale, enable_gqa=enable_gqa)
    if given is None:
        return made
    return made.masked_fill(ops.logical_not(given.any(-1, keepdim=True)), 0.0)


def _sums(query: Tensor, key: Tensor, mask: Tensor | bool | None, scale: float) -> Tensor:
    """The logarithm of the sum of exp(scores) of each query, (Hq, L) in float32."""
    wide = float64 if query.dtype is float64 else float32
    key = key.repeat_interleave(query.size(0) // key.size(0), 0)
    scores = query.to(wide) @ key.to(wide).transpose(-2, -1) * scale
    if mask is True:
        mask = ops.ones(scores.shape[-2:], dtype=bool_, device=query.device).tril()
    if isinstance(mask, Tensor):
        scores = scores.masked_fill(ops.logical_not(mask), -math.inf)
    return scores.logsumexp(-1).to(float32)


__getattr__ = absent.names_of(__name__)
