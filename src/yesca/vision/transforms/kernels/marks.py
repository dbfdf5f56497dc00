"""What the shapes of images do to bounding boxes and key points in them.

Kernels get plain tensors, with the format and the (height, width) of the canvas, and give plain
tensors, and the new canvas where it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from .arithmetic import (
    affine_arguments,
    affine_matrix,
    centre_corner,
    chosen_coefficients,
    expanded_size,
    pair,
    resized,
    sides,
)
from .boxes import LENGTH, XYXY, XYXYXYXY, Format, clamp, convert, parallelogram_to_boxes
from .warps import identity_grid, working_type

__all__: list[str] = []

Canvas = tuple[int, int]


def _is_turned(format: Format) -> bool:
    return format in LENGTH


def horizontal_flip_keypoints(keypoints: Tensor, canvas_size: Canvas) -> Tensor:
    made = keypoints.clone()
    made[..., 0] = made[..., 0].sub(canvas_size[1] - 1).neg()
    return made


def vertical_flip_keypoints(keypoints: Tensor, canvas_size: Canvas) -> Tensor:
    made = keypoints.clone()
    made[..., 1] = made[..., 1].sub(canvas_size[0] - 1).neg()
    return made


def _flipped(boxes: Tensor, format: Format, length: int, axis: int) -> Tensor:
    """Boxes in an image of that length along an axis (0: x), turned round."""
    shape, made = boxes.shape, boxes.clone().reshape(-1, boxes.shape[-1])
    if format is XYXY:
        made[:, [axis + 2, axis]] = length - made[:, [axis, axis + 2]]
    elif format is XYXYXYXY:
        made[:, axis::2] = length - made[:, axis::2]
        made = made[:, [2, 3, 0, 1, 6, 7, 4, 5]]
    else:
        if format is Format.XYWH:
            made[:, axis] += made[:, axis + 2]
        elif format is Format.XYWHR:  # the other end of the upper edge becomes the corner
            angle = made[:, 4].mul(math.pi).div(180)
            made[:, 0] += made[:, 2] * angle.cos()
            made[:, 1] -= made[:, 2] * angle.sin()
        made[:, axis] = length - made[:, axis]
        if format in LENGTH:
            made[:, 4] = (180 if axis else 0) - made[:, 4]
    return made.reshape(shape)


def horizontal_flip_bounding_boxes(bounding_boxes: Tensor, format: Format,
                                   canvas_size: Canvas) -> Tensor:
    return _flipped(bounding_boxes, format, canvas_size[1], 0)


def vertical_flip_bounding_boxes(bounding_boxes: Tensor, format: Format,
                                 canvas_size: Canvas) -> Tensor:
    return _flipped(bounding_boxes, format, canvas_size[0], 1)


def resize_keypoints(keypoints: Tensor, size: Any, canvas_size: Canvas,
                     max_size: int | None = None) -> tuple[Tensor, Canvas]:
    new = resized(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return keypoints, canvas_size
    ratios = ops.tensor([new[1] / canvas_size[1], new[0] / canvas_size[0]],
                        device=keypoints.device)
    return keypoints.mul(ratios).to(keypoints.dtype), new


def resize_bounding_boxes(bounding_boxes: Tensor, canvas_size: Canvas, size: Any,
                          max_size: int | None = None, format: Format = XYXY,
                          clamping_mode: str | None = "soft") -> tuple[Tensor, Canvas]:
    new = resized(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return bounding_boxes, canvas_size
    ratios = ops.tensor([new[1] / canvas_size[1], new[0] / canvas_size[0]],
                        device=bounding_boxes.device)
    if not _is_turned(format):
        return bounding_boxes.mul(ratios.tile(2)).to(bounding_boxes.dtype), new
    corners = convert(bounding_boxes, format, XYXYXYXY).reshape(-1, 8).mul(ratios.tile(4))
    made = clamp(parallelogram_to_boxes(corners), XYXYXYXY, new, clamping_mode)
    made = convert(made, XYXYXYXY, format)
    return made.to(bounding_boxes.dtype).reshape(bounding_boxes.shape), new


def _mapped(points: Tensor, angle: float, translate: Any, scale: float, shear: Any, center: Any,
            canvas_size: Canvas, expand: bool) -> tuple[Tensor, Canvas, Tensor | None]:
    """Points (..., 2) under an affine map, the canvas after it, and the corner of a canvas that
    grew (what was taken from the points)."""
    height, width = canvas_size
    angle, translate, shear, middle = affine_arguments(angle, translate, scale, shear, center)
    middle = [width * 0.5, height * 0.5] if middle is None else middle
    matrix = affine_matrix(middle, angle, translate, scale, shear, inverted=False)
    turned = ops.tensor(matrix, dtype=points.dtype, device=points.device).reshape(2, 3).T
    made = _with_ones(points) @ turned
    if not expand:
        return made, canvas_size, None
    w, h = float(width), float(height)
    edges = points.new_tensor([[0.0, 0.0], [0.0, h], [w, h], [w, 0.0]])
    corner = (_with_ones(edges) @ turned).amin(dim=0)
    inverse = affine_matrix(middle, angle, translate, scale, shear)
    new_width, new_height = expanded_size(inverse, width, height)
    return made.sub_(corner), (new_height, new_width), corner


def _with_ones(points: Tensor) -> Tensor:
    points = points.reshape(-1, 2)
    return ops.cat([points, points.new_ones(points.shape[0], 1)], dim=-1)


def _moved_points(keypoints: Tensor, *arguments: Any) -> tuple[Tensor, Canvas]:
    if not keypoints.numel():
        return keypoints, arguments[5]
    made, canvas, _ = _mapped(keypoints.to(working_type(keypoints)), *arguments)
    return made.reshape(keypoints.shape).to(keypoints.dtype), canvas


def affine_keypoints(keypoints: Tensor, canvas_size: Canvas, angle: float, translate: Any,
                     scale: float, shear: Any, center: Any = None) -> tuple[Tensor, Canvas]:
    return _moved_points(keypoints, angle, translate, scale, shear, center, canvas_size, False)


def rotate_keypoints(keypoints: Tensor, canvas_size: Canvas, angle: float, expand: bool = False,
                     center: Any = None) -> tuple[Tensor, Canvas]:
    return _moved_points(keypoints, -angle, [0.0, 0.0], 1.0, [0.0, 0.0], center, canvas_size,
                         expand)


def _corner_points(boxes: Tensor, format: Format) -> Tensor:
    """The four corners of each box, (N, 4, 2)."""
    if _is_turned(format):
        return convert(boxes, format, XYXYXYXY).reshape(-1, 4, 2)
    return convert(boxes, format, XYXY).reshape(-1, 4)[:, [0, 1, 2, 1, 2, 3, 0, 3]].view(-1, 4, 2)


def _around(points: Tensor, format: Format, canvas_size: Canvas, mode: str | None,
            like: Tensor) -> Tensor:
    """The boxes around four points each (N, 4, 2), kept inside the canvas, in a format."""
    if _is_turned(format):
        middle, made = XYXYXYXY, parallelogram_to_boxes(points.reshape(-1, 8))
    else:
        middle, made = XYXY, ops.cat(ops.aminmax(points.reshape(-1, 4, 2), dim=1), dim=1)
    made = convert(clamp(made, middle, canvas_size, mode), middle, format)
    return made.reshape(like.shape).to(like.dtype)


def _moved_boxes(boxes: Tensor, format: Format, mode: str | None,
                 *arguments: Any) -> tuple[Tensor, Canvas]:
    if not boxes.numel():
        return boxes, arguments[5]
    points = _corner_points(boxes.to(working_type(boxes)), format)
    made, canvas, _ = _mapped(points, *arguments)
    return _around(made, format, canvas, mode, boxes), canvas


def affine_bounding_boxes(bounding_boxes: Tensor, format: Format, canvas_size: Canvas,
                          angle: float, translate: Any, scale: float, shear: Any,
                          center: Any = None, clamping_mode: str | None = "soft") -> Tensor:
    return _moved_boxes(bounding_boxes, format, clamping_mode, angle, translate, scale, shear,
                        center, canvas_size, False)[0]


def rotate_bounding_boxes(bounding_boxes: Tensor, format: Format, canvas_size: Canvas,
                          angle: float, expand: bool = False, center: Any = None,
                          clamping_mode: str | None = "soft") -> tuple[Tensor, Canvas]:
    return _moved_boxes(bounding_boxes, format, clamping_mode, -angle, [0.0, 0.0], 1.0,
                        [0.0, 0.0], center, canvas_size, expand)


def _shift(marks: Tensor, format: Format | None, x: int, y: int) -> Tensor:
    """What to add to marks that move by (x, y): corners move, sizes and angles do not."""
    if format is None:
        by = [x, y]
    elif format in (XYXY, XYXYXYXY):
        by = [x, y] * (2 if format is XYXY else 4)
    else:
        by = [x, y] + [0] * (LENGTH.get(format, 4) - 2)
    return ops.tensor(by, dtype=marks.dtype, device=marks.device)


def _padded(canvas_size: Canvas, padding: Any, mode: str, kind: str) -> tuple[int, int, Canvas]:
    if mode != "constant":
        raise ValueError(f"Padding mode '{mode}' is not supported with {kind} (supported modes "
                         "are constant)")
    left, right, top, bottom = sides(padding)
    return left, top, (canvas_size[0] + top + bottom, canvas_size[1] + left + right)


def pad_keypoints(keypoints: Tensor, canvas_size: Canvas, padding: Any,
                  padding_mode: str = "constant") -> tuple[Tensor, Canvas]:
    left, top, canvas = _padded(canvas_size, padding, padding_mode, "KeyPoints")
    return keypoints + _shift(keypoints, None, left, top), canvas


def pad_bounding_boxes(bounding_boxes: Tensor, format: Format, canvas_size: Canvas, padding: Any,
                       padding_mode: str = "constant",
                       clamping_mode: str | None = "soft") -> tuple[Tensor, Canvas]:
    left, top, canvas = _padded(canvas_size, padding, padding_mode, "bounding boxes")
    made = bounding_boxes + _shift(bounding_boxes, format, left, top)
    return clamp(made, format, canvas, clamping_mode), canvas


def crop_keypoints(keypoints: Tensor, top: int, left: int, height: int,
                   width: int) -> tuple[Tensor, Canvas]:
    return keypoints - _shift(keypoints, None, left, top), (height, width)


def crop_bounding_boxes(bounding_boxes: Tensor, format: Format, top: int, left: int, height: int,
                        width: int, clamping_mode: str | None = "soft") -> tuple[Tensor, Canvas]:
    made = bounding_boxes - _shift(bounding_boxes, format, left, top)
    if format is XYXYXYXY:
        made = parallelogram_to_boxes(made)
    return clamp(made, format, (height, width), clamping_mode), (height, width)


def center_crop_keypoints(inpt: Tensor, canvas_size: Canvas,
                          output_size: Any) -> tuple[Tensor, Canvas]:
    height, width = pair(output_size)
    return crop_keypoints(inpt, *centre_corner(*canvas_size, height, width), height, width)


def center_crop_bounding_boxes(bounding_boxes: Tensor, format: Format, canvas_size: Canvas,
                               output_size: Any, clamping_mode: str | None = "soft"
                               ) -> tuple[Tensor, Canvas]:
    height, width = pair(output_size)
    top, left = centre_corner(*canvas_size, height, width)
    return crop_bounding_boxes(bounding_boxes, format, top, left, height, width, clamping_mode)


def resized_crop_keypoints(keypoints: Tensor, top: int, left: int, height: int, width: int,
                           size: Any) -> tuple[Tensor, Canvas]:
    made, canvas = crop_keypoints(keypoints, top, left, height, width)
    return resize_keypoints(made, size, canvas)


def resized_crop_bounding_boxes(bounding_boxes: Tensor, format: Format, top: int, left: int,
                                height: int, width: int, size: Any,
                                clamping_mode: str | None = "soft") -> tuple[Tensor, Canvas]:
    made, canvas = crop_bounding_boxes(bounding_boxes, format, top, left, height, width,
                                       clamping_mode)
    return resize_bounding_boxes(made, canvas, size, None, format, clamping_mode)


def _seen(points: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Points (N, 2) in a perspective, whose coefficients lead from the result to the source."""
    a, b, c, d, e, f, g, h = coefficients
    det = a * e - b * d
    if det == 0:
        raise RuntimeError(f"Provided perspective_coeffs {list(coefficients)} can not be inverted "
                           f"to transform bounding boxes. Denominator is zero, denom={det}")
    above = [[(e - f * h) / det, (-b + c * h) / det, (b * f - c * e) / det],
             [(-d + f * g) / det, (a - c * g) / det, (-a * f + c * d) / det]]
    below = [[(-e * g + d * h) / det, (-a * h + b * g) / det, 1.0]] * 2
    points = _with_ones(points)
    return (points @ points.new_tensor(above).T).div_(points @ points.new_tensor(below).T)


def perspective_keypoints(keypoints: Tensor, canvas_size: Canvas, startpoints: Any, endpoints: Any,
                          coefficients: Any = None) -> Tensor:
    if not keypoints.numel():
        return keypoints
    coefficients = chosen_coefficients(startpoints, endpoints, coefficients)
    made = _seen(keypoints.to(working_type(keypoints)), coefficients)
    return made.to(keypoints.dtype).reshape(keypoints.shape)


def perspective_bounding_boxes(bounding_boxes: Tensor, format: Format, canvas_size: Canvas,
                               startpoints: Any, endpoints: Any, coefficients: Any = None,
                               clamping_mode: str | None = "soft") -> Tensor:
    if not bounding_boxes.numel():
        return bounding_boxes
    coefficients = chosen_coefficients(startpoints, endpoints, coefficients)
    points = _corner_points(bounding_boxes, format).to(working_type(bounding_boxes))
    return _around(_seen(points, coefficients), format, canvas_size, clamping_mode,
                   bounding_boxes)


def _displaced(displacement: Any, canvas_size: Canvas, like: Tensor
               ) -> Callable[[Tensor], Tensor]:
    """Where the points (N, 2) of an image go when each pixel takes its value from elsewhere."""
    height, width = canvas_size
    expected = (1, height, width, 2)
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    if displacement.shape != expected:
        raise ValueError(f"Argument displacement shape should be {expected}, "
                         f"but given {displacement.shape}")
    dtype = working_type(like)
    grid = identity_grid(canvas_size, dtype, like.device).sub_(displacement.to(like.device, dtype))

    def moved(points: Tensor) -> Tensor:
        x, y = points.long().unbind(-1)
        places = grid[0, y.clamp(0, height - 1), x.clamp(0, width - 1)]
        return places.add_(1).mul_(0.5 * grid.new_tensor([width, height])).sub_(0.5)

    return moved


def elastic_keypoints(keypoints: Tensor, canvas_size: Canvas, displacement: Tensor) -> Tensor:
    moved = _displaced(displacement, canvas_size, keypoints)
    made = moved(keypoints.reshape(-1, 2)).to(keypoints.dtype)
    return made.reshape(keypoints.shape)


def elastic_bounding_boxes(bounding_boxes: Tensor, format: Format, canvas_size: Canvas,
                           displacement: Tensor, clamping_mode: str | None = "soft") -> Tensor:
    moved = _displaced(displacement, canvas_size, bounding_boxes)
    if not bounding_boxes.numel():
        return bounding_boxes
    if not _is_turned(format):
        points = _corner_points(bounding_boxes, format)
        points = points.ceil() if points.is_floating_point() else points
        made = moved(points.reshape(-1, 2))
        return _around(made, format, canvas_size, clamping_mode, bounding_boxes)
    middle = Format.CXCYWHR  # the centre moves, size and angle stay
    boxes = convert(bounding_boxes, format, middle).reshape(-1, 5)
    made = ops.cat([moved(boxes[:, :2].ceil()), boxes[:, 2:]], dim=1).to(boxes.dtype)
    made = clamp(made, middle, canvas_size, clamping_mode)
    return convert(made, middle, format).reshape(bounding_boxes.shape)
