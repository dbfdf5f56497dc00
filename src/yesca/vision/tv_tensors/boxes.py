"""Bounding boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from ..._tensor import Tensor
from ...core.dtypes import DType
from .base import TVTensor, first_of

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "is_rotated_bounding_format"]


class BoundingBoxFormat(Enum):
    """What the numbers of a box are, in pixels; R is an angle in degrees.

    Corners (XYXY; XYXYXYXY for turned boxes), corner and size (XYWH, XYWHR), or centre and size
    (CXCYWH, CXCYWHR).
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


_ROTATED = (BoundingBoxFormat.XYWHR, BoundingBoxFormat.CXCYWHR, BoundingBoxFormat.XYXYXYXY)


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Whether boxes of a format may be turned. Raises ValueError for what is no format.

    >>> is_rotated_bounding_format("XYWHR")
    True
    """
    if isinstance(format, BoundingBoxFormat):
        return format in _ROTATED
    if isinstance(format, str):
        return format in ("XYWHR", "CXCYWHR", "XYXYXYXY")
    raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")


class BoundingBoxes(TVTensor):
    """Boxes [N, 4], or [N, 5] and [N, 8] for turned ones; a single one may be [4].

    Args:
        data: what `torch.as_tensor` takes.
        format: a `BoundingBoxFormat` or its name.
        canvas_size: (height, width) of the image that they are in.
        clamping_mode: how transforms keep them inside of it: `"soft"`, `"hard"` (turned boxes
            only: no corner outside), or None: not at all.

    Raises ValueError for other numbers of dimensions, and for turned boxes of whole numbers.

    >>> from yesca.vision import tv_tensors
    >>> boxes = tv_tensors.BoundingBoxes([1, 2, 5, 6], format="xyxy", canvas_size=(8, 8))
    >>> boxes.shape, boxes.format, boxes.clamping_mode
    (torch.Size([1, 4]), <BoundingBoxFormat.XYXY: 'XYXY'>, 'soft')
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(cls, data: Any, *, format: BoundingBoxFormat | str, canvas_size: tuple[int, int],
                clamping_mode: str | None = "soft", dtype: DType | None = None,
                device: Any = None, requires_grad: bool | None = None) -> BoundingBoxes:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if not tensor.is_floating_point() and is_rotated_bounding_format(format):
            raise ValueError("Rotated bounding boxes should be floating point tensors, "
                             f"got {tensor.dtype}.")
        return cls._wrap(tensor, format, canvas_size, clamping_mode)

    @classmethod
    def _wrap(cls, tensor: Tensor, format: BoundingBoxFormat | str, canvas_size: tuple[int, int],
              clamping_mode: str | None = "soft", check_dims: bool = True) -> BoundingBoxes:
        if check_dims and tensor.ndim != 2:
            if tensor.ndim != 1:
                raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
            tensor = tensor.unsqueeze(0)
        if clamping_mode not in (None, "hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        boxes = tensor.as_subclass(cls)
        boxes.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        boxes.canvas_size = canvas_size
        boxes.clamping_mode = clamping_mode
        return boxes

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **kwargs: Any) -> BoundingBoxes:
        return cls._wrap(tensor, kwargs.get("format", like.format),
                         kwargs.get("canvas_size", like.canvas_size),
                         kwargs.get("clamping_mode", like.clamping_mode))

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (),
                     kwargs: Mapping[str, Any] | None = None) -> Any:
        like = first_of(BoundingBoxes, args, kwargs)
        return cls._each(output, lambda part: BoundingBoxes._wrap(
            part, like.format, like.canvas_size, like.clamping_mode, check_dims=False))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr(format=self.format, canvas_size=self.canvas_size,
                               clamping_mode=self.clamping_mode)
