"""`torchvision.tv_tensors`: tensors that say what they are: images, videos, masks, boxes, points.

>>> from yesca.vision import tv_tensors
>>> boxes = tv_tensors.BoundingBoxes([[1, 2, 5, 6]], format="XYXY", canvas_size=(8, 8))
>>> boxes.format, boxes.shape
(<BoundingBoxFormat.XYXY: 'XYXY'>, torch.Size([1, 4]))
"""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .base import TVTensor, set_return_type
from .boxes import BoundingBoxes, BoundingBoxFormat, is_rotated_bounding_format
from .pictures import Image, Mask, Video
from .points import KeyPoints

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "Image", "KeyPoints", "Mask", "TVTensor", "Video",
           "is_rotated_bounding_format", "set_return_type", "wrap"]


def wrap(wrappee: Tensor, *, like: Any, **kwargs: Any) -> Any:
    """A tensor as one of the kind of `like`, with its format, canvas and so on.

    `format`, `canvas_size` and `clamping_mode` of boxes, and `canvas_size` of points, may be
    given anew.

    >>> boxes = BoundingBoxes([[1, 2, 5, 6]], format="XYXY", canvas_size=(8, 8))
    >>> wrap(boxes + 1, like=boxes, canvas_size=(9, 9)).canvas_size
    (9, 9)
    """
    kind = type(like)
    how = getattr(kind, "wrap", None)
    return wrappee.as_subclass(kind) if how is None else how(wrappee, like, **kwargs)
