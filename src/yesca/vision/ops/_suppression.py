"""Which boxes are kept beside better ones."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...core.dtypes import int64, uint8

#: Boxes whose overlaps with all later ones are computed at once.
_BLOCK = 256


def _checked(boxes: Tensor, scores: Tensor) -> None:
    if boxes.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {boxes.dim()}D")
    if boxes.size(1) != 4:
        raise RuntimeError(
            f"boxes should have 4 elements in dimension 1, got {boxes.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if boxes.size(0) != scores.size(0):
        raise RuntimeError("boxes and scores should have same number of elements in dimension 0, "
                           f"got {boxes.size(0)} and {scores.size(0)}")
    if boxes.dtype != scores.dtype:
        raise RuntimeError("dets should have the same type as scores, got "
                           f"{boxes.dtype} and {scores.dtype}")
    if not boxes.is_floating_point():
        raise RuntimeError(f'"nms_kernel" not implemented for {boxes.dtype}; use boxes.float()')


def _overlapping(some: Tensor, others: Tensor, threshold: float) -> Tensor:
    """[A, B]: whether the boxes [A, 4] and [B, 4] overlap by more than `threshold`."""
    corner = ops.maximum(some[:, None, :2], others[None, :, :2])
    size = (ops.minimum(some[:, None, 2:], others[None, :, 2:]) - corner).clamp(min=0)
    common = size[..., 0] * size[..., 1]
    areas = [(each[:, 2] - each[:, 0]) * (each[:, 3] - each[:, 1]) for each in (some, others)]
    union = areas[0][:, None] + areas[1][None, :] - common
    return (common / union).double() > threshold  # the threshold is not rounded to the boxes'


def _bits(rows: Tensor) -> list[int]:
    """Each row of truths as one number; the first column is the lowest bit."""
    count, width = rows.shape
    padded = ops.zeros(count, -(-width // 8) * 8, dtype=uint8)
    padded[:, :width] = rows
    weights = ops.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=uint8)
    packed = (padded.view(count, -1, 8) * weights).sum(-1, dtype=uint8).contiguous()
    data, stride = bytes(packed.untyped_storage()), packed.shape[1]
    return [int.from_bytes(data[row * stride:(row + 1) * stride], "little")
            for row in range(count)]


@no_grad()
def kept(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Places of the boxes kept, the best first, int64.

    The best of all boxes goes first and drops those that overlap it, then the best of the rest;
    overlaps are computed in blocks of rows, and what is dropped is a number with a bit for each.
    """
    _checked(boxes, scores)
    count = boxes.shape[0]
    order = ops.argsort(scores, dim=0, descending=True, stable=True)
    ranked = boxes.detach()[order]
    dropped, chosen, start = 0, [], 0
    while start < count:
        rows: list[int] = []
        while start < count and len(rows) < _BLOCK:
            if not dropped >> start & 1:
                rows.append(start)
            start += 1
        if not rows:
            break
        first = rows[0]
        hits = _overlapping(ranked[ops.tensor(rows)], ranked[first:], float(threshold))
        for row, bits in zip(rows, _bits(hits)):
            if not dropped >> row & 1:
                chosen.append(row)
                dropped |= bits << first
    return order[ops.tensor(chosen, dtype=int64, device=order.device)]
