"""Regions of interest: the means of their bins, which have channels of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._regions import Boxes, first_pixels, longest, regions, result, table_of, whole_bins
from ._sampling import bags, chunks, outer, pixels

__all__ = ["PSRoIPool", "ps_roi_pool"]


def ps_roi_pool(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """[K, C / (h w), h, w]: the bin (i, j) of a box has the mean of channels c h w + i w + j.

    The arguments are `roi_align`'s. Bins end at whole pixels, before the last row and column of
    the image; one outside is 0. Channels that are no multiple of the number of bins are a
    RuntimeError.
    """
    rois, tall, wide = regions(input, boxes, output_size, divided=True)
    bins = tall * wide
    if input.is_meta:
        return input.new_empty((rois.shape[0], input.shape[1] // bins, tall, wide))
    height, width = input.shape[2:]
    top, bottom = whole_bins(rois, 1, spatial_scale, tall, 0, height - 1)
    left, right = whole_bins(rois, 0, spatial_scale, wide, 0, width - 1)
    down, across = longest(top, bottom), longest(left, right)
    area = outer((bottom - top).clamp(min=0)[..., None], (right - left).clamp(min=0)[..., None])
    table, parts = table_of(input, bins), []
    for part in chunks(len(rois), bins * down * across, table):
        rows, columns = (first[part, :, None] + ops.arange(count)
                         for first, count in ((top, down), (left, across)))
        used = outer((rows < bottom[part, :, None]).to(input.dtype),
                     (columns < right[part, :, None]).to(input.dtype))
        first = first_pixels(rois[part], input, tall, wide, True)
        places = pixels(first, rows.clamp(max=height - 1) * width, columns.clamp(max=width - 1))
        sums = bags(table, places, used.reshape(places.shape))
        parts.append(sums / area[part].reshape(-1, 1).clamp(min=1).to(input.dtype))
    return result(parts, input, tall, wide, bins)


class PSRoIPool(nn.Module):
    """`ps_roi_pool` as a layer."""

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(output_size={self.output_size}, "
                f"spatial_scale={self.spatial_scale})")
