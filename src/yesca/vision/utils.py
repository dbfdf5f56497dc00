"""Pictures of tensors: grids of images, boxes, masks and points drawn on them, flows as colours."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, BinaryIO

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base.frames import warn
from ..core.dtypes import bool_, float32, int64, uint8
from ..core.numeric_limits import finfo
from .transforms.kernels.conversion import pil_to_tensor, to_dtype_image, to_pil_image
from .transforms.kernels.pillow import from_array, pillow

__all__ = [
    "draw_bounding_boxes", "draw_keypoints", "draw_segmentation_masks", "flow_to_image",
    "make_grid", "save_image",
]

Colour = str | tuple[int, int, int]
Colours = Colour | Sequence[Colour] | None

# --- grids ----------------------------------------------------------------------------------------


@no_grad()
def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[int, int] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images beside and below each other, as one.

    Args:
        tensor: images (N, C, H, W), or a list of (C, H, W); a single (C, H, W) or (H, W) is given
            back as it is. One channel becomes three.
        nrow: images in a row.
        padding: pixels between and around them.
        normalize: map the values to [0, 1].
        value_range: what becomes 0 and 1; by default the least and the largest value.
        scale_each: find these for each image by itself.
        pad_value: the value of what is between.

    Raises:
        TypeError: anything but tensors, or a `value_range` that is no tuple.

    Example::

        >>> from yesca.vision.utils import make_grid
        >>> make_grid(torch.zeros(6, 3, 10, 20), nrow=4).shape
        torch.Size([3, 26, 90])
    """
    if isinstance(tensor, list):
        for each in tensor:
            if not isinstance(each, Tensor):
                raise TypeError("tensor or list of tensors expected, got a list containing "
                                f"{type(each)}")
        tensor = ops.stack(tensor)
    elif not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    images = tensor[None] if tensor.ndim == 2 else tensor
    images = images[None] if images.ndim == 3 else images
    if images.ndim == 4 and images.shape[1] == 1:
        images = ops.cat([images] * 3, 1)
    if normalize is True:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max "
                            "are numbers")
        images = images.clone()
        for part in images if scale_each is True else [images]:
            _stretch(part, value_range)
    if images.shape[0] == 1:
        return images.squeeze(0)
    return _laid_out(images, nrow, padding, pad_value)


def _stretch(part: Tensor, value_range: tuple[float, float] | None) -> None:
    """Map values in place, so that the ends of the range become 0 and 1."""
    low, high = value_range or (float(part.min()), float(part.max()))
    part.clamp_(min=low, max=high).sub_(low).div_(max(high - low, 1e-5))


def _laid_out(images: Tensor, nrow: int, padding: int, pad_value: float) -> Tensor:
    count, channels, height, width = images.shape
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    down, across = height + padding, width + padding
    grid = images.new_full((channels, down * rows + padding, across * columns + padding), pad_value)
    for number, image in enumerate(images):
        top = number // columns * down + padding
        left = number % columns * across + padding
        grid[:, top:top + height, left:left + width] = image
    return grid


@no_grad()
def save_image(tensor: Tensor | list[Tensor], fp: str | os.PathLike[str] | BinaryIO,
               format: str | None = None, **kwargs: Any) -> None:
    """Write images with values in [0, 1] to a file, several as a grid.

    Args:
        tensor: as of `make_grid`.
        fp: a path or an open file.
        format: "PNG", "JPEG", ...; by default from the name.
        kwargs: the other arguments of `make_grid`.
    """
    grid = make_grid(tensor, **kwargs)
    pixels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", uint8)
    pillow().fromarray(pixels.contiguous().numpy()).save(fp, format=format)


# --- drawing --------------------------------------------------------------------------------------


def _check_image(image: Any, channels: tuple[int, ...], what: str, which: str) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"{what}, got {type(image)}")
    if image.dtype is not uint8 and not image.is_floating_point():
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3:
        raise ValueError("Pass individual images, not batches")
    if image.shape[0] not in channels:
        raise ValueError(which)


def _palette(count: int) -> list[tuple[int, ...]]:
    """Colours that are told apart, one for each object."""
    return [tuple(number * step % 255 for step in (2**25 - 1, 2**15 - 1, 2**21 - 1))
            for number in range(count)]


def _parse_colors(colors: Any, *, num_objects: int, dtype: Any = uint8) -> list[Any]:
    """A colour for each object as (red, green, blue); floats in [0, 1] for such a `dtype`.

    Raises ValueError for a list that is too short, or what is no colour.
    """
    if colors is None:
        colors = _palette(num_objects)
    elif isinstance(colors, list):
        if len(colors) < num_objects:
            raise ValueError("Number of colors must be equal or larger than the number of objects,"
                             f" but got {len(colors)} < {num_objects}.")
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(
            f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        colors = [colors] * num_objects
    named = [pillow("ImageColor").getrgb(each) if isinstance(each, str) else each
             for each in colors]
    if dtype.is_floating_point:
        return [tuple(value / 255 for value in each) for each in named]
    return named


def _dashes(draw: Any, start: Any, end: Any, colour: Any, width: int, length: int = 5) -> None:
    """A line of dashes, each followed by as much space."""
    (x, y), (to_x, to_y) = start, end
    left, shown = math.hypot(to_x - x, to_y - y), True
    while left > 0:
        step, angle = min(left, length), math.atan2(to_y - y, to_x - x)
        next_x, next_y = x + math.cos(angle) * step, y + math.sin(angle) * step
        if shown:
            draw.line([(x, y), (next_x, next_y)], colour, width, None)
        x, y, shown = next_x, next_y, not shown
        left = math.hypot(to_x - x, to_y - y) if left > length else 0


def _turned_box(draw: Any, box: list[int], *, outline: Any, fill: Any, width: int) -> None:
    """A box by its four corners; its first side, the top of what it shows, is dashed."""
    corners = list(zip(box[::2], box[1::2]))
    _dashes(draw, corners[0], corners[1], outline, width)
    for number in range(1, len(corners)):
        draw.line((corners[number], corners[(number + 1) % len(corners)]), outline, width)
    draw.polygon(box, fill=fill, outline=None, width=0)


@no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str] | None = None,
    colors: Colours = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Colours = None,
    label_background_colors: Colours = None,
    fill_labels: bool = False,
) -> Tensor:
    """The image with boxes drawn on it: (3, H, W), of the type of the image.

    Args:
        image: (1 or 3, H, W), uint8 or floating point in [0, 1].
        boxes: (N, 4): left, top, right, bottom; or (N, 8): the four corners of turned boxes.
        labels: a text for each box (or None).
        colors: one colour, or a list with one for each box: names, "#rrggbb" or (r, g, b).
        fill: fill the boxes, so that the image shows through. `width`: of the lines.
        font: the file of a TrueType font; `font_size` is its size, 10 by default.
        label_colors: of the texts; by default those of the boxes (black if they are filled).
        label_background_colors: behind the texts; by default those of the boxes.
        fill_labels: fill the ground of the texts.

    Raises:
        TypeError: the image is no tensor.
        ValueError: another shape or type, boxes whose ends are the wrong way round, or too few
            labels or colours.
    """
    _check_image(image, (1, 3), "Tensor expected", "Only grayscale and RGB images are supported")
    if boxes.shape[-1] == 4 and bool((boxes[:, :2] > boxes[:, 2:]).any()):
        raise ValueError("Boxes need to be in (xmin, ymin, xmax, ymax) format. Use "
                         "torchvision.ops.box_convert to convert them")
    count = boxes.shape[0]
    if count == 0:
        warn("boxes doesn't contain any box. No box was drawn")
        return image
    if labels is not None and len(labels) != count:
        raise ValueError(f"Number of boxes ({count}) and labels ({len(labels)}) mismatch. "
                         "Please specify labels for each box.")
    shades = _parse_colors(colors, num_objects=count)
    texts, grounds = shades, shades
    if label_colors or fill_labels:
        texts = _parse_colors(label_colors or "black", num_objects=count)
    if fill_labels and label_background_colors:
        grounds = _parse_colors(label_background_colors, num_objects=count)
    letters = _font(font, font_size)
    pixels = ops.tile(image, (3, 1, 1)) if image.shape[0] == 1 else image
    picture = to_pil_image(to_dtype_image(pixels, uint8, scale=True))
    draw = pillow("ImageDraw").Draw(picture, "RGBA" if fill else None)
    for box, label, shade, text, ground in zip(
            boxes.to(int64).tolist(), labels or repeat(None), shades, texts, grounds):
        shape = _turned_box if len(box) > 4 else type(draw).rectangle
        shape(draw, box, width=width, outline=shade, fill=(*shade, 100) if fill else None)
        if label is not None:
            at = box[0] + width + 1, box[1] + width + 1
            _write(draw, at, label, letters, text, ground if fill_labels else None)
    return to_dtype_image(pil_to_tensor(picture), image.dtype, scale=True)


def _write(draw: Any, at: tuple[int, int], label: str, letters: Any, shade: Any,
           ground: Any) -> None:
    """A text, on a ground a pixel larger than itself if that has a colour."""
    if ground is not None:
        left, top, right, bottom = draw.textbbox(at, label, font=letters)
        draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=ground)
    draw.text(at, label, fill=shade, font=letters)


def _font(font: str | None, size: int | None) -> Any:
    if font is not None:
        return pillow("ImageFont").truetype(font=font, size=size or 10)
    if size is not None:
        warn("Argument 'font_size' will be ignored since 'font' is not set.")
    return pillow("ImageFont").load_default()


@no_grad()
def draw_segmentation_masks(image: Tensor, masks: Tensor, alpha: float = 0.8,
                            colors: Colours = None) -> Tensor:
    """The image with coloured areas laid over it; where several lie it is darkened.

    Args:
        image: (3, H, W), uint8 or floating point in [0, 1].
        masks: bool (N, H, W) or (H, W).
        alpha: 0 shows the image alone, 1 the colours alone.
        colors: one colour, or a list with one for each mask, as of `draw_bounding_boxes`.

    Raises:
        TypeError: the image is no tensor.
        ValueError: another shape or type, or too few colours.
    """
    _check_image(image, (3,), "The image must be a tensor",
                 "Pass an RGB image. Other Image formats are not supported")
    if masks.ndim == 2:
        masks = masks[None]
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype is not bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    count = masks.shape[0]
    if count == 0:
        warn("masks doesn't contain any mask. No mask was drawn")
        return image
    painted = image.detach()
    for mask, shade in zip(masks, _parse_colors(colors, num_objects=count, dtype=image.dtype)):
        paint = ops.tensor(shade, dtype=image.dtype, device=image.device)
        painted = ops.where(mask, paint[:, None, None], painted)
    painted = painted.masked_fill(masks.sum(dim=0) > 1, 0)
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Colour | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """The image with points on it, and lines between them.

    Args:
        image: (3, H, W), uint8 or floating point in [0, 1].
        keypoints: (N, K, 2): x and y of K points of each of N things.
        connectivity: pairs of numbers of points that a line joins.
        colors: the colour of the points.
        radius: of the points. `width`: of the lines.
        visibility: (N, K) or (N, K, 1): which points are drawn, and lines between such.

    Raises:
        TypeError: the image is no tensor.
        ValueError: another shape or type.
    """
    _check_image(image, (3,), "The image must be a tensor",
                 "Pass an RGB image. Other Image formats are not supported")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    if visibility is None:
        visibility = ops.ones(keypoints.shape[:-1], dtype=bool_)
    if visibility.ndim == 3:
        visibility = visibility.squeeze(-1)
    if visibility.ndim != 2:
        raise ValueError("visibility must be of shape (num_instances, K). Got "
                         f"ndim={visibility.ndim}")
    if visibility.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. "
            f"Got visibility.shape={visibility.shape!r} and keypoints.shape={keypoints.shape!r}")
    picture = to_pil_image(to_dtype_image(image, uint8, scale=True))
    draw = pillow("ImageDraw").Draw(picture)
    seen = visibility.cpu().bool().tolist()
    for points, shown in zip(keypoints.to(int64).tolist(), seen):
        for x, y in (point for point, there in zip(points, shown) if there):
            draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colors,
                         outline=None, width=0)
        for first, second in connectivity or ():
            if shown[first] and shown[second]:
                draw.line((tuple(points[first]), tuple(points[second])), width=width)
    return to_dtype_image(pil_to_tensor(picture), image.dtype, scale=True)


# --- flows ----------------------------------------------------------------------------------------

#: How many steps the wheel of colours takes from red to yellow, to green, cyan, blue, magenta
#: and red: which colour changes, and whether it grows.
_WHEEL = ((15, 1, True), (6, 0, False), (4, 2, True), (11, 1, False), (13, 0, True), (6, 2, False))
_BEGINS = ((255, 0, 0), (255, 255, 0), (0, 255, 0), (0, 255, 255), (0, 0, 255), (255, 0, 255))


def _wheel() -> Tensor:
    """The colours of directions, float32 (55, 3)."""
    colours = []
    for (steps, band, grows), begin in zip(_WHEEL, _BEGINS):
        for number in range(steps):
            shade, part = list(begin), 255 * number // steps
            shade[band] = part if grows else 255 - part
            colours.append(shade)
    return ops.tensor(colours, dtype=float32)


@no_grad()
def flow_to_image(flow: Tensor) -> Tensor:
    """Movements as colours: the direction is the hue, the distance its strength.

    Args:
        flow: float32 (2, H, W) or (N, 2, H, W): how far each pixel moves, across and down.

    Returns:
        uint8 (3, H, W) or (N, 3, H, W).

    Raises:
        ValueError: another shape or type.
    """
    if flow.dtype is not float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    batch = flow[None] if flow.ndim == 3 else flow
    if batch.ndim != 4 or batch.shape[1] != 2:
        raise ValueError("Input flow should have shape (2, H, W) or (N, 2, H, W), got "
                         f"{flow.shape}.")
    farthest = batch.pow(2).sum(dim=1).sqrt().max()
    scaled = batch / (farthest + finfo(float32).eps)
    norm = scaled.pow(2).sum(dim=1).sqrt()
    wheel = _wheel().to(flow.device)
    angle = ops.atan2(-scaled[:, 1], -scaled[:, 0]) / math.pi
    place = (angle + 1) / 2 * (len(wheel) - 1)
    before = place.floor().to(int64)
    share = place - before
    near, far = (wheel[at] / 255.0 for at in (before, (before + 1) % len(wheel)))
    bands = []
    for band in range(3):
        hue = (1 - share) * near[..., band] + share * far[..., band]
        bands.append((255 * (1 - norm * (1 - hue))).floor().to(uint8))
    image = ops.stack(bands, 1)
    return image[0] if flow.ndim == 3 else image


# --- what other packages take from here -----------------------------------------------------------


def _Image_fromarray(obj: Any, mode: str) -> Any:
    """A PIL image of a mode from an array."""
    return from_array(obj, mode)


def _make_ntuple(x: Any, n: int) -> tuple[Any, ...]:
    """What can be iterated over as a tuple, or a value `n` times."""
    return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))


def _log_api_usage_once(obj: Any) -> None:
    """Nothing: no use of anything is written down."""
