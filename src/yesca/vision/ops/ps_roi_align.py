"""Regions of interest, sampled between pixels, whose bins have channels of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ... import nn
from ..._tensor import Tensor
from ._regions import Boxes, aligned, regions

__all__ = ["PSRoIAlign", "ps_roi_align"]


def ps_roi_align(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """[K, C / (h w), h, w]: the bin (i, j) of a box reads the channels c h w + i w + j.

    The arguments are `roi_align`'s, and pixels are squares around their places. Channels that are
    no multiple of the number of bins are a RuntimeError.
    """
    rois, tall, wide = regions(input, boxes, output_size, divided=True)
    return aligned(input, rois, tall, wide, spatial_scale, sampling_ratio, 0.5, None, divided=True)


class PSRoIAlign(nn.Module):
    """`ps_roi_align` as a layer."""

    def __init__(
        self, output_size: int | Sequence[int], spatial_scale: float, sampling_ratio: int
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_align(
            input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(output_size={self.output_size}, "
                f"spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio})")
