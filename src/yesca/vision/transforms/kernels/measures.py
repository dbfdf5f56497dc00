"""What inputs of every kind tell about themselves; boxes and points checked, clamped, converted."""

from __future__ import annotations

from typing import Any

from ...._tensor import Tensor
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, TVTensor, Video, wrap
from . import boxes, pillow

__all__: list[str] = []


def is_pure_tensor(inpt: Any) -> bool:
    """Whether something is a tensor that does not say what it is."""
    return isinstance(inpt, Tensor) and not isinstance(inpt, TVTensor)


def _refuse(name: str, inpt: Any) -> TypeError:
    return TypeError(f"Functional F.{name} supports inputs of images, videos and PIL images, "
                     f"but got {type(inpt)} instead.")


def _is_marks(inpt: Any) -> bool:
    return isinstance(inpt, (BoundingBoxes, KeyPoints))


def get_dimensions_image(image: Tensor) -> list[int]:
    """Channels (1 if there is no such dimension), height and width."""
    shape = list(image.shape[-3:])
    if len(shape) < 2:
        raise TypeError(f"Input tensor should have at least two dimensions, but got {len(shape)}")
    return shape if len(shape) == 3 else [1, *shape]


def get_num_channels_image(image: Tensor) -> int:
    return get_dimensions_image(image)[0]


def get_size_image(image: Tensor) -> list[int]:
    """Height and width."""
    return get_dimensions_image(image)[1:]


get_size_mask = get_size_image


def get_size_bounding_boxes(bounding_box: BoundingBoxes) -> list[int]:
    return list(bounding_box.canvas_size)


def get_size_keypoints(keypoints: KeyPoints) -> list[int]:
    return list(keypoints.canvas_size)


def get_num_frames_video(video: Tensor) -> int:
    return video.shape[-4]


def get_dimensions(inpt: Any) -> list[int]:
    """Channels, height and width of an image or a video."""
    if isinstance(inpt, Tensor) and not _is_marks(inpt):
        return get_dimensions_image(inpt)
    if pillow.is_pil(inpt):
        return pillow.dimensions(inpt)
    raise _refuse("get_dimensions", inpt)


def get_num_channels(inpt: Any) -> int:
    """The number of channels of an image or a video."""
    return get_dimensions(inpt)[0]


def get_size(inpt: Any) -> list[int]:
    """Height and width of an image, a video or a mask, or of the canvas of boxes and points."""
    if _is_marks(inpt):
        return list(inpt.canvas_size)
    if isinstance(inpt, Tensor):
        return get_size_image(inpt)
    if pillow.is_pil(inpt):
        return pillow.size(inpt)
    raise _refuse("get_size", inpt)


def get_num_frames(inpt: Any) -> int:
    """The number of frames of a video [..., T, C, H, W]."""
    if isinstance(inpt, Video) or is_pure_tensor(inpt):
        return inpt.shape[-4]
    raise _refuse("get_num_frames", inpt)


def convert_bounding_box_format(inpt: Tensor, old_format: Any = None, new_format: Any = None,
                                inplace: bool = False) -> Tensor:
    """Boxes in another format; `old_format` is given for plain tensors, and only for them.

    >>> convert_bounding_box_format(torch.tensor([[1, 2, 4, 6]]), "xyxy", "xywh")
    tensor([[1, 2, 3, 4]])
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    old, new = boxes.format_of(old_format), boxes.format_of(new_format)
    if is_pure_tensor(inpt):
        if old is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return boxes.convert(inpt, old, new, inplace)
    if not isinstance(inpt, BoundingBoxes):
        raise TypeError("Input can either be a plain tensor or a bounding box tv_tensor, "
                        f"but got {type(inpt)} instead.")
    if old is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    made = boxes.convert(inpt.as_subclass(Tensor), inpt.format, new, inplace)
    return wrap(made, like=inpt, format=new)


def clamp_bounding_boxes(inpt: Tensor, format: Any = None, canvas_size: Any = None,
                         clamping_mode: str | None = "auto") -> Tensor:
    """Boxes kept inside their canvas. Plain tensors need format, canvas and mode.

    Args:
        clamping_mode: `"soft"`, `"hard"`, None (a copy as they are), or `"auto"`: what they say.
    """
    if clamping_mode not in (None, "soft", "hard", "auto"):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` "
                             "have to be passed.")
        return boxes.clamp(inpt, boxes.format_of(format), canvas_size, clamping_mode)
    if not isinstance(inpt, BoundingBoxes):
        raise TypeError("Input can either be a plain tensor or a bounding box tv_tensor, "
                        f"but got {type(inpt)} instead.")
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not "
                         "be passed.")
    mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    return wrap(boxes.clamp(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, mode),
                like=inpt)


def clamp_keypoints(inpt: Tensor, canvas_size: Any = None) -> Tensor:
    """Points moved onto their canvas, which plain tensors need to be given."""
    if is_pure_tensor(inpt):
        if canvas_size is None:
            raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
        return boxes.clamp_points(inpt, canvas_size)
    if not isinstance(inpt, KeyPoints):
        raise TypeError("Input can either be a plain tensor or a keypoints tv_tensor, "
                        f"but got {type(inpt)} instead.")
    if canvas_size is not None:
        raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
    return wrap(boxes.clamp_points(inpt.as_subclass(Tensor), inpt.canvas_size), like=inpt)


def sanitize_bounding_boxes(bounding_boxes: Tensor, format: BoundingBoxFormat | None = None,
                            canvas_size: Any = None, min_size: float = 1.0,
                            min_area: float = 1.0) -> tuple[Tensor, Tensor]:
    """The boxes that lie inside their canvas and are large enough, and which these are."""
    if is_pure_tensor(bounding_boxes):
        if format is None or canvas_size is None:
            raise ValueError("format and canvas_size cannot be None if bounding_boxes is a pure "
                             f"tensor. Got format={format} and canvas_size={canvas_size}. Set "
                             "those to appropriate values or pass bounding_boxes as a "
                             "tv_tensors.BoundingBoxes object.")
        valid = boxes.sane_boxes(bounding_boxes, boxes.format_of(format), canvas_size, min_size,
                                 min_area)
        return bounding_boxes[valid], valid
    if not isinstance(bounding_boxes, BoundingBoxes):
        raise ValueError("bounding_boxes must be a tv_tensors.BoundingBoxes instance or a pure "
                         "tensor.")
    if format is not None or canvas_size is not None:
        raise ValueError("format and canvas_size must be None when bounding_boxes is a "
                         f"tv_tensors.BoundingBoxes instance. Got format={format} and "
                         f"canvas_size={canvas_size}. Leave those to None or pass bounding_boxes "
                         "as a pure tensor.")
    plain = bounding_boxes.as_subclass(Tensor)
    valid = boxes.sane_boxes(plain, bounding_boxes.format, bounding_boxes.canvas_size, min_size,
                             min_area)
    return wrap(plain[valid], like=bounding_boxes), valid


def sanitize_keypoints(key_points: Tensor, canvas_size: Any = None) -> tuple[Tensor, Tensor]:
    """The points (or rows of points) that lie inside their canvas, and which these are."""
    if is_pure_tensor(key_points):
        if canvas_size is None:
            raise ValueError("canvas_size cannot be None if key_points is a pure tensor. Set it "
                             "to an appropriate value or pass key_points as a "
                             "tv_tensors.KeyPoints object.")
        valid = boxes.sane_points(key_points, canvas_size)
        return key_points[valid], valid
    if not isinstance(key_points, KeyPoints):
        raise ValueError("key_points must be a tv_tensors.KeyPoints instance or a pure tensor.")
    if canvas_size is not None:
        raise ValueError("canvas_size must be None when key_points is a tv_tensors.KeyPoints "
                         f"instance. Got canvas_size={canvas_size}. Leave it to None or pass "
                         "key_points as a pure tensor.")
    plain = key_points.as_subclass(Tensor)
    valid = boxes.sane_points(plain, key_points.canvas_size)
    return wrap(plain[valid], like=key_points), valid
