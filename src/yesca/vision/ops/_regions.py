"""Regions of interest: boxes on a feature map, cut into bins."""

from __future__ import annotations

from collections.abc import Sequence

from ... import functional as ops
from ..._tensor import Tensor
from ...nn.modules.utils import _pair
from ._sampling import bags, chunks, hats, outer, pixels
from ._utils import check_roi_boxes_shape, convert_boxes_to_roi_format

Boxes = Tensor | Sequence[Tensor]


def regions(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], divided: bool = False
) -> tuple[Tensor, int, int]:
    """The boxes as [K, 5], and the bins' number; `divided` channels belong to one bin each."""
    check_roi_boxes_shape(boxes)
    rois = boxes if isinstance(boxes, Tensor) else convert_boxes_to_roi_format(boxes)
    tall, wide = _pair(output_size)
    if input.dim() != 4:
        raise RuntimeError(f"input should be a 4d tensor [N, C, H, W], got {input.dim()}D")
    if input.dtype != rois.dtype:
        raise RuntimeError("input and rois must have the same dtype, got "
                           f"{input.dtype} and {rois.dtype}")
    if divided and input.shape[1] % (tall * wide):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width, "
                           f"got {input.shape[1]} and {tall} * {wide}")
    rois = rois.detach()
    if rois.shape[0] and not rois.is_meta:
        images = rois[:, 0]
        if not bool(((images >= 0) & (images < input.shape[0])).all()):
            raise RuntimeError(f"boxes are of images 0 to {input.shape[0] - 1} of the input, got "
                               f"numbers from {images.min().item()} to {images.max().item()}")
    return rois, tall, wide


def table_of(input: Tensor, bins: int = 1) -> Tensor:
    """The pixels of all images as rows [N bins H W, C / bins]."""
    count, channels, height, width = input.shape
    parted = input.reshape(count, channels // bins, bins, height, width)
    return parted.permute(0, 2, 3, 4, 1).reshape(-1, channels // bins)


def first_pixels(rois: Tensor, input: Tensor, tall: int, wide: int, divided: bool) -> Tensor:
    """[K, 1, 1], or [K, tall, wide] with divided channels: the row of the table to count from."""
    area = input.shape[2] * input.shape[3]
    image = rois[:, 0].long()[:, None, None]
    if not divided:
        return image * area
    return (image * (tall * wide) + ops.arange(tall * wide).view(tall, wide)) * area


def result(parts: list[Tensor], input: Tensor, tall: int, wide: int, bins: int = 1) -> Tensor:
    """What the bins hold as [K, C / bins, tall, wide]."""
    channels = input.shape[1] // bins
    if not parts:
        return input.new_zeros((0, channels, tall, wide))
    joined = parts[0] if len(parts) == 1 else ops.cat(parts)
    return joined.view(-1, tall, wide, channels).permute(0, 3, 1, 2).contiguous()


def aligned(
    input: Tensor, rois: Tensor, tall: int, wide: int, scale: float, sampling: int, offset: float,
    least: float | None, divided: bool = False,
) -> Tensor:
    """The mean of samples between pixels, in each bin.

    Args:
        sampling: samples of a bin in each direction; 0 or less for one a pixel.
        offset: what the corners are moved by; `least` is the least size, if there is one.
    """
    bins = tall * wide if divided else 1
    if input.is_meta:
        return input.new_empty((rois.shape[0], input.shape[1] // bins, tall, wide))
    height, width = input.shape[2:]
    corners = rois[:, 1:] * scale - offset
    sizes = corners[:, 2:] - corners[:, :2]
    if least is not None:
        sizes = sizes.clamp(min=least)
    steps = sizes / ops.tensor([wide, tall], dtype=sizes.dtype)
    grid = ops.full_like(steps, sampling) if sampling > 0 else ops.ceil(steps)
    most = _most(grid)
    table, parts = table_of(input, bins), []
    for part in chunks(len(rois), tall * wide * 4 * most[0] * most[1], table):
        axes = [
            _samples(corners[part, axis], steps[part, axis], grid[part, axis], bins_, most[axis],
                     size) for axis, bins_, size in ((1, tall, height), (0, wide, width))]
        (rows, row_weights), (columns, column_weights) = axes
        first = first_pixels(rois[part], input, tall, wide, divided)
        places = pixels(first, rows * width, columns)
        weights = outer(row_weights, column_weights).reshape(places.shape)
        sums = bags(table, places, weights) if places.shape[1] else input.new_zeros(
            (places.shape[0], input.shape[1] // bins))
        count = grid[part].prod(1)
        count = count if divided else count.clamp(min=1)
        parts.append(sums.view(len(count), -1) / count[:, None])
    return result(parts, input, tall, wide, bins)


def _most(grid: Tensor) -> list[int]:
    """The largest numbers of samples across and down."""
    across, down = grid.amax(0).clamp(min=0).tolist() if len(grid) else (0, 0)
    if not across * down <= 1 << 24:
        raise RuntimeError(f"a bin has {across:.0f} * {down:.0f} samples, one a pixel; are the "
                           "boxes in pixels of the image? sampling_ratio sets their number")
    return [int(across), int(down)]


def _samples(
    start: Tensor, step: Tensor, grid: Tensor, bins: int, most: int, size: int
) -> tuple[Tensor, Tensor]:
    """The pixels [K, bins, 2 most] of the samples on one axis, and their weights."""
    bin_ = ops.arange(bins, dtype=start.dtype)[None, :, None]
    sample = ops.arange(most, dtype=start.dtype)[None, None, :]
    start, step, grid = (each[:, None, None] for each in (start, step, grid))
    places, weights = hats(start + bin_ * step + (sample + 0.5) * step / grid, size)
    used = (sample < grid).expand(-1, bins, -1)
    return places, ops.where(ops.cat([used, used], dim=-1), weights, 0.0)


def rounded(x: Tensor) -> Tensor:
    """To whole numbers, halves away from zero, int64."""
    return (ops.sign(x) * ops.floor(ops.abs(x) + 0.5)).long()


def whole_bins(
    rois: Tensor, axis: int, scale: float, bins: int, beyond: int, limit: int
) -> tuple[Tensor, Tensor]:
    """First pixel of each bin [K, bins] on an axis, and the one after its last.

    `beyond` is what a region is larger than the difference of its corners; `limit` the end.
    """
    start = rounded(rois[:, 1 + axis] * scale)
    end = rounded(rois[:, 3 + axis] * scale)
    size = (end - start + beyond).clamp(min=1).to(rois.dtype)[:, None] / bins
    bin_ = ops.arange(bins, dtype=rois.dtype)[None, :]
    first = ops.floor(bin_ * size).long() + start[:, None]
    after = ops.ceil((bin_ + 1) * size).long() + start[:, None]
    return first.clamp(min=0, max=limit), after.clamp(min=0, max=limit)


def longest(first: Tensor, after: Tensor) -> int:
    """Pixels of the longest bin."""
    return max(1, int((after - first).max().item())) if first.numel() else 1
