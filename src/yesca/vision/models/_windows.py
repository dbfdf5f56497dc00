"""Attention inside windows of an image."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ... import functional as ops
from ..._tensor import Tensor
from ...nn import functional as F


def relative_places(height: int, width: int) -> Tensor:
    """For each two places of a window their difference as a number, [area, area], int64."""
    rows = ops.arange(height).repeat_interleave(width)
    columns = ops.arange(width).repeat(height)
    down = rows[:, None] - rows[None, :] + height - 1
    across = columns[:, None] - columns[None, :] + width - 1
    return down * (2 * width - 1) + across


def _cut(x: Tensor, window: Sequence[int]) -> Tensor:
    """[N, H, W, ...] to [N * windows, area, ...]."""
    count, height, width, *rest = x.shape
    rows, columns = height // window[0], width // window[1]
    x = x.reshape(count, rows, window[0], columns, window[1], *rest)
    return x.transpose(2, 3).reshape(count * rows * columns, window[0] * window[1], *rest)


def _joined(x: Tensor, window: Sequence[int], height: int, width: int) -> Tensor:
    """The inverse of `_cut`."""
    rows, columns = height // window[0], width // window[1]
    x = x.reshape(-1, rows, columns, window[0], window[1], x.shape[-1])
    return x.transpose(2, 3).reshape(-1, height, width, x.shape[-1])


def _zone(size: int, window: int, shift: int, like: Tensor) -> Tensor:
    """0, 1, 2 for the places that a shift leaves together; the last came round the rim."""
    place = ops.arange(size, device=like.device)
    if shift == 0:
        return ops.zeros_like(place)
    return (place >= size - window).long() + (place >= size - shift).long()


def _mask(height: int, width: int, window: Sequence[int], shift: Sequence[int],
          like: Tensor) -> Tensor:
    """[windows, area, area]: -100 where two places of a window are no neighbours."""
    zones = (3 * _zone(height, window[0], shift[0], like)[:, None]
             + _zone(width, window[1], shift[1], like)[None, :])
    zones = _cut(zones[None], window)
    apart = zones.unsqueeze(1) != zones.unsqueeze(2)
    return ops.zeros(apart.shape, dtype=like.dtype, device=like.device).masked_fill(apart, -100.0)


def _weights(q: Tensor, k: Tensor, logit_scale: Tensor | None) -> Tensor:
    """By products, or by cosines times a scale that is learnt."""
    if logit_scale is None:
        return (q * q.shape[-1] ** -0.5).matmul(k.transpose(-2, -1))
    cosines = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    return cosines * ops.clamp(logit_scale, max=math.log(100.0)).exp()


def shifted_window_attention(
    input: Tensor, qkv_weight: Tensor, proj_weight: Tensor, relative_position_bias: Tensor,
    window_size: list[int], num_heads: int, shift_size: list[int],
    attention_dropout: float = 0.0, dropout: float = 0.0, qkv_bias: Tensor | None = None,
    proj_bias: Tensor | None = None, logit_scale: Tensor | None = None, training: bool = True,
) -> Tensor:
    """Attention inside the windows of [N, H, W, C], moved by `shift_size`, over the rim.

    Args:
        relative_position_bias: [1, heads, area, area].
        logit_scale: attention by cosines, times it; the keys then have no bias.
    """
    _, height, width, channels = input.shape
    window = window_size
    x = F.pad(input, (0, 0, 0, -width % window[1], 0, -height % window[0]))
    tall, wide = x.shape[1:3]
    shift = [0 if window[0] >= tall else shift_size[0], 0 if window[1] >= wide else shift_size[1]]
    if any(shift):
        x = ops.roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
    x = _cut(x, window)
    if logit_scale is not None and qkv_bias is not None:
        queries, keys, values = qkv_bias.chunk(3)  # out of place: exporters know no views
        qkv_bias = ops.cat([queries, ops.zeros_like(keys), values])
    qkv = F.linear(x, qkv_weight, qkv_bias)
    qkv = qkv.reshape(*x.shape[:2], 3, num_heads, channels // num_heads).permute(2, 0, 3, 1, 4)
    attention = _weights(qkv[0], qkv[1], logit_scale) + relative_position_bias
    if any(shift):
        mask = _mask(tall, wide, window, shift, x)
        each = attention.view(-1, mask.shape[0], *attention.shape[1:])
        attention = (each + mask.unsqueeze(1).unsqueeze(0)).view(attention.shape)
    attention = F.dropout(F.softmax(attention, dim=-1), p=attention_dropout, training=training)
    x = attention.matmul(qkv[2]).transpose(1, 2).reshape(x.shape)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = _joined(x, window, tall, wide)
    if any(shift):
        x = ops.roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
    return x[:, :height, :width, :].contiguous()
