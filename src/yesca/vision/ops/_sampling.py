"""Bags of pixels: values of an image at many places, weighted and joined."""

from __future__ import annotations

from collections.abc import Iterable

from ... import functional as ops
from ..._tensor import Tensor
from ...nn import functional as F

#: How many values are read at once.
_LIMIT = 1 << 24


def chunks(count: int, each: int, table: Tensor) -> Iterable[slice]:
    """Parts of `count` regions that read `each` pixels of a table [pixels, C]."""
    step = max(1, _LIMIT // max(1, each * table.shape[1]))
    return (slice(start, start + step) for start in range(0, count, step))


def hats(places: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The two pixels beside each place on an axis and their weights, [..., 2 n] each.

    Places up to one pixel outside read the rim; those beyond have weights of zero.
    """
    inside = (places >= -1.0) & (places <= size)
    places = places.clamp(min=0)
    low = places.long().clamp(min=0, max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    part = ops.where(low >= size - 1, 0.0, places - low.to(places.dtype))
    weights = ops.cat([1 - part, part], dim=-1)
    weights = ops.where(ops.cat([inside, inside], dim=-1), weights, 0.0)
    return ops.cat([low, high], dim=-1), weights.to(places.dtype)


def outer(rows: Tensor, columns: Tensor) -> Tensor:
    """[K, P, n] and [K, Q, m] multiplied, [K, P, Q, n, m]."""
    return rows[:, :, None, :, None] * columns[:, None, :, None, :]


def pixels(image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Numbers [K P Q, n m] of pixels in a table of them; `image` [K, 1 or P, 1 or Q] is added."""
    places = rows[:, :, None, :, None] + columns[:, None, :, None, :] + image[..., None, None]
    count = places.shape[0] * places.shape[1] * places.shape[2]
    return places.reshape(count, -1)


def bags(table: Tensor, places: Tensor, weights: Tensor | None) -> Tensor:
    """[bags, C] of a table [pixels, C]: sums with weights [bags, n], or, without, maxima."""
    read = F.embedding(places, table)
    if weights is None:
        return read.max(dim=1)[0]
    return (weights.unsqueeze(1) @ read).squeeze(1)
