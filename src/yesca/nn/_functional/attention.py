"""Multi-head attention over packed or separate projections."""

from __future__ import annotations

import math

from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import bool_
from .dropout import dropout
from .shapes import pad


def _none_or_dtype(input: Tensor | None):
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type,
    other_name: str,
    target_type,
    check_other: bool = True,
) -> Tensor | None:
    """A mask to add to scores: a boolean one becomes -inf where it is True."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if mask.dtype != bool_ and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
        )
    if is_float:
        return mask
    return ops.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the inputs have a batch dimension; raises AssertionError if they disagree."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{rank}-D query tensor"
        )
    kind = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != rank - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but "
            f"found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                f"{attn_mask.dim()}-D tensor instead"
            )
        expected = (num_heads, query.shape[0], key.shape[0])
        if rank == 2 and attn_mask.dim() == 3 and attn_mask.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return rank == 3


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None):
    """The three projections, their weights stacked in `w` (3E, E): one product where possible."""
    size = q.size(-1)
    if k is v and q is k:
        return ops.linear(q, w, b).chunk(3, -1)
    if k is v:
        w_q, w_kv = w.split([size, 2 * size])
        b_q, b_kv = (None, None) if b is None else b.split([size, 2 * size])
        return (ops.linear(q, w_q, b_q), *ops.linear(k, w_kv, b_kv).chunk(2, -1))
    biases = (None, None, None) if b is None else b.chunk(3)
    return tuple(map(ops.linear, (q, k, v), w.chunk(3), biases))


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """The three projections, each with a weight of its own."""
    size = q.size(-1)
    checks = (("query", w_q, b_q, q), ("key", w_k, b_k, k), ("value", w_v, b_v, v))
    for name, weight, bias, input in checks:
        expected = (size, input.size(-1))
        if weight.shape != expected:
            raise AssertionError(
                f"expecting {name} weights shape of {expected}, but got {weight.shape}"
            )
        if bias is not None and bias.shape != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {bias.shape}")
    return ops.linear(q, w_q, b_q), ops.linear(k, w_k, b_k), ops.linear(v, w_v, b_v)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `MultiheadAttention` computes, from its weights.

    Query (L, N, E) or (L, E), key and value (S, N, E) or (S, E); weights (N, L, S), or (N, H, L,
    S). `key_padding_mask` (N, S), `attn_mask` (L, S) or (N * H, L, S): True is where not to look.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    key_padding_mask, attn_mask, is_causal = _canonical_masks(
        key_padding_mask, attn_mask, is_causal, need_weights, query.dtype
    )
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    length, batch, _ = query.shape
    weights = (in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _project(query, key, value, weights, in_proj_bias, use_separate_proj_weight)
    attn_mask = _three_dimensional(attn_mask, length, key.shape[0], batch * num_heads)
    k, v, added = _add_bias_rows(k, v, bias_k, bias_v, static_k, static_v)
    q, k, v = _heads(q, k, v, static_k, static_v, num_heads)
    if add_zero_attn:
        k, v = (ops.cat([x, x.new_zeros(x.size(0), 1, x.size(2))], 1) for x in (k, v))
        added += 1
    attn_mask, key_padding_mask = (_show(each, added) for each in (attn_mask, key_padding_mask))
    attn_mask = _merge_masks(attn_mask, key_padding_mask, batch, num_heads, k.size(1))
    rate = dropout_p if training else 0.0
    if need_weights:
        output, found = _attend_with_weights(q, k, v, attn_mask, rate)
        found = _tidy(found.view(batch, num_heads, *found.shape[1:]), average_attn_weights, batched)
    else:
        output, found = _attend(q, k, v, attn_mask, rate, is_causal, num_heads), None
    output = output.transpose(0, 1).reshape(length, batch, query.size(-1))  # (L, N, E)
    output = ops.linear(output, out_proj_weight, out_proj_bias)
    return (output if batched else output.squeeze(1)), found


def _canonical_masks(key_padding_mask, attn_mask, is_causal, need_weights, dtype):
    """(key_padding_mask, attn_mask, is_causal) with float masks; the causal hint where it stays."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True  # the kernel masks by itself
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    return key_padding_mask, attn_mask, False


def _check_sizes(query, key, value, embed_dim: int, num_heads: int, separate: bool) -> None:
    found = query.size(-1)
    if found != embed_dim:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim}, but got {found}"
        )
    if found % num_heads != 0:
        raise AssertionError(f"embed_dim {found} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _project(query, key, value, weights: tuple, bias: Tensor | None, separate: bool) -> tuple:
    """Queries, keys and values, by the packed weight or by the three separate ones."""
    packed, *three = weights
    if not separate:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return _in_projection_packed(query, key, value, packed, bias)
    for name, weight in zip("qkv", three, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return _in_projection(query, key, value, *three, *biases)


def _three_dimensional(mask: Tensor | None, length: int, source: int, heads: int):
    if mask is None:
        return None
    expected = (length, source) if mask.dim() == 2 else (heads, length, source)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if mask.shape != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _add_bias_rows(k, v, bias_k, bias_v, static_k, static_v):
    """Keys and values with the learned row at the end, and the number of rows added."""
    if bias_k is None and bias_v is None:
        return k, v, 0
    if bias_v is None:
        raise AssertionError("bias_k is set but bias_v is None")
    if bias_k is None:
        raise AssertionError("bias_v is set but bias_k is None")
    for name, static in (("key", static_k), ("value", static_v)):
        if static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    batch = k.size(1)
    return ops.cat([k, bias_k.repeat(1, batch, 1)]), ops.cat([v, bias_v.repeat(1, batch, 1)]), 1


def _show(mask: Tensor | None, added: int) -> Tensor | None:
    """The mask with room for the rows added to the keys, which every query sees."""
    return mask if mask is None or not added else pad(mask, (0, added))


def _heads(q, k, v, static_k, static_v, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """The three as (N * H, length, D); static keys and values already are."""
    q = _split_heads(q, num_heads)
    k = _split_heads(k, num_heads) if static_k is None else _checked(static_k, q, "static_k")
    v = _split_heads(v, num_heads) if static_v is None else _checked(static_v, q, "static_v")
    return q, k, v


def _split_heads(x: Tensor, num_heads: int) -> Tensor:
    length, batch, size = x.shape
    return x.reshape(length, batch * num_heads, size // num_heads).transpose(0, 1)


def _checked(static: Tensor, q: Tensor, name: str) -> Tensor:
    for dim in (0, 2):
        if static.size(dim) != q.size(dim):
            raise AssertionError(
                f"expecting {name}.size({dim}) of {q.size(dim)}, but got {static.size(dim)}"
            )
    return static


def _merge_masks(attn_mask, key_padding_mask, batch: int, num_heads: int, source: int):
    """One mask (1 or N * H, L or 1, S) to add to the scores, or None."""
    if key_padding_mask is None:
        return attn_mask
    for dim, expected in enumerate((batch, source)):
        if key_padding_mask.shape[dim] != expected:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got "
                f"{key_padding_mask.shape[dim]}"
            )
    per_head = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
    per_head = per_head.reshape(batch * num_heads, 1, source)
    return per_head if attn_mask is None else attn_mask + per_head


def _attend_with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rate: float):
    """(output (N * H, L, D), weights (N * H, L, S))."""
    scaled = q * math.sqrt(1.0 / q.size(-1))
    if mask is None:
        scores = ops.bmm(scaled, k.transpose(-2, -1))
    else:
        scores = ops.baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if rate > 0.0:
        weights = dropout(weights, rate)
    return ops.bmm(weights, v), weights


def _tidy(weights: Tensor, average: bool, batched: bool) -> Tensor:
    """The weights (N, H, L, S) without the dimensions that the caller did not ask for."""
    weights = weights.mean(1) if average else weights
    return weights if batched else weights.squeeze(0)


def _attend(q, k, v, mask, rate: float, is_causal: bool, num_heads: int) -> Tensor:
    """The output (N * H, L, D) by the kernel that never stores the weights."""
    batch = q.size(0) // num_heads
    if mask is not None:
        source = k.size(1)
        shared = mask.size(0) == 1
        mask = mask.unsqueeze(0) if shared else mask.view(batch, num_heads, -1, source)
    q, k, v = (x.reshape(batch, num_heads, x.size(1), x.size(2)) for x in (q, k, v))
    output = ops.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=rate, is_causal=is_causal
    )
    return output.flatten(0, 1)
