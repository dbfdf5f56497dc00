"""Regions of interest, sampled between pixels."""

from __future__ import annotations

from collections.abc import Sequence

from ... import nn
from ..._tensor import Tensor
from . import _regions
from ._regions import Boxes, regions

__all__ = ["RoIAlign", "roi_align"]


def roi_align(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0,
    sampling_ratio: int = -1, aligned: bool = False,
) -> Tensor:
    """[K, C, *output_size]: for each box the means of its bins, read between pixels.

    Args:
        input: [N, C, H, W].
        boxes: [K, 5], the image's number and (x1, y1, x2, y2), or a list with [L, 4] for each
            image; of the dtype of `input`.
        spatial_scale: size of the feature map over that of what the boxes are in.
        sampling_ratio: samples of a bin in each direction; 0 or less for one a pixel.
        aligned: pixels are squares around their places; without it boxes are half a pixel off,
            and at least one pixel wide.

    Raises:
        AssertionError: boxes of another shape.
        RuntimeError: an input of another rank, boxes of another dtype.

    Gradients go to `input`.

    >>> from yesca.vision.ops import roi_align
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_align(image, [torch.tensor([[0.0, 0.0, 4.0, 4.0]])], 2, aligned=True)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    rois, tall, wide = regions(input, boxes, output_size)
    return _regions.aligned(input, rois, tall, wide, spatial_scale, sampling_ratio,
                            0.5 if aligned else 0.0, None if aligned else 1.0)


class RoIAlign(nn.Module):
    """`roi_align` as a layer."""

    def __init__(
        self, output_size: int | Sequence[int], spatial_scale: float, sampling_ratio: int,
        aligned: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio,
                         self.aligned)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(output_size={self.output_size}, "
                f"spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio}, "
                f"aligned={self.aligned})")
