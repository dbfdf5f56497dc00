"""Regions of interest: the maxima of their bins."""

from __future__ import annotations

from collections.abc import Sequence

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._regions import Boxes, first_pixels, longest, regions, result, table_of, whole_bins
from ._sampling import bags, chunks, pixels

__all__ = ["RoIPool", "roi_pool"]


def roi_pool(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """[K, C, *output_size]: the maxima of each box's bins, whose corners are whole pixels.

    The arguments are `roi_align`'s. A bin outside the image is 0; gradients go to the maxima.

    >>> from yesca.vision.ops import roi_pool
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_pool(image, [torch.tensor([[0.0, 0.0, 3.0, 3.0]])], 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    rois, tall, wide = regions(input, boxes, output_size)
    if input.is_meta:
        return input.new_empty((rois.shape[0], input.shape[1], tall, wide))
    height, width = input.shape[2:]
    top, bottom = whole_bins(rois, 1, spatial_scale, tall, 1, height)
    left, right = whole_bins(rois, 0, spatial_scale, wide, 1, width)
    down, across = longest(top, bottom), longest(left, right)
    empty = (bottom <= top)[:, :, None] | (right <= left)[:, None, :]
    table, parts = table_of(input), []
    for part in chunks(len(rois), tall * wide * down * across, table):
        rows, columns = (
            # A shorter bin reads its last pixel again.
            ops.minimum(first[part, :, None] + ops.arange(count), after[part, :, None] - 1)
            .clamp(min=0, max=size - 1) for first, after, count, size in (
                (top, bottom, down, height), (left, right, across, width)))
        first = first_pixels(rois[part], input, tall, wide, False)
        most = bags(table, pixels(first, rows * width, columns), None)
        parts.append(most.masked_fill(empty[part].reshape(-1, 1), 0.0))
    return result(parts, input, tall, wide)


class RoIPool(nn.Module):
    """`roi_pool` as a layer."""

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(output_size={self.output_size}, "
                f"spatial_scale={self.spatial_scale})")
