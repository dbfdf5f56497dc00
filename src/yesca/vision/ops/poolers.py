"""Regions of interest on feature maps of several sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ._utils import convert_boxes_to_roi_format
from .boxes import box_area
from .roi_align import roi_align

__all__ = ["LevelMapper", "MultiScaleRoIAlign", "initLevelMapper"]


def initLevelMapper(
    k_min: int, k_max: int, canonical_scale: int = 224, canonical_level: int = 4,
    eps: float = 1e-6,
) -> LevelMapper:
    return LevelMapper(k_min, k_max, canonical_scale, canonical_level, eps)


class LevelMapper:
    """Which of the levels `k_min` to `k_max` a box is read from, by its size.

    A box of `canonical_scale` squared has the level `canonical_level`, one of twice the sides the
    next.
    """

    def __init__(
        self, k_min: int, k_max: int, canonical_scale: int = 224, canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists: Sequence[Tensor]) -> Tensor:
        """The levels, counted from 0, of all boxes [L, 4] of each image, int64."""
        side = ops.sqrt(ops.cat([box_area(each) for each in boxlists]))
        levels = ops.floor(self.lvl0 + ops.log2(side / self.s0)
                           + ops.tensor(self.eps, dtype=side.dtype))
        return levels.clamp(min=self.k_min, max=self.k_max).long() - self.k_min


def _infer_scale(feature: Tensor, original_size: Sequence[int]) -> float:
    """What the sides of the image were multiplied by: the nearest power of two."""
    return 2.0 ** float(round(math.log2(feature.shape[-2] / original_size[0])))


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` on the map, of several, that fits a box.

    Args:
        featmap_names: which maps of the mapping are read, largest image first.
        output_size: of the result, one number or two.
        sampling_ratio: as `roi_align`'s.
        canonical_scale, canonical_level: as `LevelMapper`'s.

    The call takes a mapping of names to maps, boxes [L, 4] of each image, and the images' sizes
    (height, width); it gives [K, C, *output_size]. No images are a ValueError.
    """

    def __init__(
        self, featmap_names: list[str], output_size: int | tuple[int, ...] | list[int],
        sampling_ratio: int, *, canonical_scale: int = 224, canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = (
            (output_size, output_size) if isinstance(output_size, int) else tuple(output_size))
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def _set_up(self, maps: list[Tensor], image_shapes: list[tuple[int, int]]) -> None:
        """The scales, found at the first call."""
        if not image_shapes:
            raise ValueError("images list should not be empty")
        whole = [max(sizes) for sizes in zip(*image_shapes)]
        self.scales = [_infer_scale(each, whole) for each in maps]
        least, most = (int(-math.log2(each)) for each in (self.scales[0], self.scales[-1]))
        self.map_levels = initLevelMapper(
            least, most, self.canonical_scale, self.canonical_level)

    def forward(
        self, x: Mapping[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> Tensor:
        maps = [each for name, each in x.items() if name in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self._set_up(maps, image_shapes)
        assert self.scales is not None and self.map_levels is not None
        rois = convert_boxes_to_roi_format(boxes)
        if len(maps) == 1:
            return roi_align(maps[0], rois, self.output_size, self.scales[0], self.sampling_ratio)
        levels = self.map_levels(boxes)
        result = maps[0].new_zeros((len(rois), maps[0].shape[1], *self.output_size))
        for level, (each, scale) in enumerate(zip(maps, self.scales)):
            places = ops.where(levels == level)[0]
            part = roi_align(each, rois[places], self.output_size, scale, self.sampling_ratio)
            result[places] = part.to(result.dtype)
        return result

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(featmap_names={self.featmap_names}, "
                f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})")
