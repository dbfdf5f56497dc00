"""Transforms for bounding boxes and key points."""

from __future__ import annotations

from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....utils._pytree import tree_flatten, tree_unflatten
from ... import tv_tensors
from ..drawing import whole
from ..kernels import boxes as box_kernels
from ..kernels.measures import is_pure_tensor
from ..kernels.pillow import is_pil
from . import functional as F
from .base import Transform
from .samples import (
    get_bounding_boxes,
    get_keypoints,
    has_all,
    has_any,
    labels_from,
    labels_in,
    query_size,
)

__all__ = ["ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "RandomIoUCrop",
           "SanitizeBoundingBoxes", "SanitizeKeyPoints", "SetClampingMode"]


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format (a `BoundingBoxFormat` or its name)."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, format: Any) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Boxes kept inside their canvas, as they say or as `clamping_mode` does."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Points moved onto their canvas."""

    _transformed_types = (tv_tensors.KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Boxes that say another clamping mode from now on: "soft", "hard" or None."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        self.clamping_mode = clamping_mode
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        made = inpt.clone()
        made.clamping_mode = self.clamping_mode
        return made


class _Sanitizing(Transform):
    """Keeps what is valid of boxes or points, and of the labels that belong to them."""

    _kept: tuple[type, ...] = ()
    _labels_getter: Any

    def _valid(self, flat: list[Any], labels: Any) -> Tensor:
        raise NotImplementedError

    @staticmethod
    def _check(marks: Tensor, labels: Any, what: str) -> None:
        for label in labels or ():
            if marks.shape[0] != label.shape[0]:
                raise ValueError(f"Number of {what} (shape={marks.shape}) and must match the "
                                 f"number of labels. Found labels with shape={label.shape}).")

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = labels_in(sample, self._labels_getter)
        flat, spec = tree_flatten(sample)
        params = {"valid": self._valid(flat, labels), "labels": labels}
        return tree_unflatten([self.transform(inpt, params) for inpt in flat], spec)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if any(inpt is label for label in params["labels"] or ()):
            return inpt[params["valid"]]
        if not isinstance(inpt, self._kept):
            return inpt
        try:
            made = inpt.as_subclass(Tensor)[params["valid"]]
        except IndexError:  # masks that are not one for each box
            if isinstance(inpt, tv_tensors.Mask):
                return inpt
            raise
        return tv_tensors.wrap(made, like=inpt)


class SanitizeBoundingBoxes(_Sanitizing):
    """Without boxes that leave their canvas or are too small; their labels and masks go too.

    Args:
        min_size, min_area: of boxes that stay.
        labels_getter: a function from the sample to its labels (a tensor or several), "default"
            (the second of two, or the entry "labels" of a dictionary), or None for no labels.
    """

    _kept = (tv_tensors.BoundingBoxes, tv_tensors.Mask)

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0,
                 labels_getter: Any = "default") -> None:
        super().__init__()
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        self.min_size = min_size
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_area = min_area
        self.labels_getter = labels_getter
        self._labels_getter = labels_from(labels_getter)

    def _valid(self, flat: list[Any], labels: Any) -> Tensor:
        boxes = get_bounding_boxes(flat)
        self._check(boxes, labels, "boxes")
        return box_kernels.sane_boxes(boxes.as_subclass(Tensor), boxes.format, boxes.canvas_size,
                                      self.min_size, self.min_area)


class SanitizeKeyPoints(_Sanitizing):
    """Without points (or rows of points) outside their canvas; their labels go too."""

    _kept = (tv_tensors.KeyPoints,)

    def __init__(self, labels_getter: Any = None) -> None:
        super().__init__()
        self.labels_getter = labels_getter
        self._labels_getter = labels_from(labels_getter)

    def _valid(self, flat: list[Any], labels: Any) -> Tensor:
        points = get_keypoints(flat)
        self._check(points, labels, "keypoints")
        return box_kernels.sane_points(points.as_subclass(Tensor), points.canvas_size)


def _overlaps(boxes: Tensor, left: int, top: int, right: int, bottom: int) -> Tensor:
    """Intersection over union of boxes (N, 4) of corners with one."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    width = (x2.clamp(max=right) - x1.clamp(min=left)).clamp(min=0)
    height = (y2.clamp(max=bottom) - y1.clamp(min=top)).clamp(min=0)
    common = width * height
    return common / ((x2 - x1) * (y2 - y1) + (right - left) * (bottom - top) - common)


class RandomIoUCrop(Transform):
    """A random part in which some box is seen well enough (Liu et al. 2016, arXiv 1512.02325).

    Args:
        min_scale, max_scale: of the edges; min_aspect_ratio, max_aspect_ratio: of the part.
        sampler_options: least overlaps, one of which is drawn; from 1 on nothing is cut.
        trials: before another overlap is drawn.

    Boxes whose centre is outside become zeros: use `SanitizeBoundingBoxes` after it.
    """

    def __init__(self, min_scale: float = 0.3, max_scale: float = 1.0,
                 min_aspect_ratio: float = 0.5, max_aspect_ratio: float = 2.0,
                 sampler_options: list[float] | None = None, trials: int = 40) -> None:
        super().__init__()
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_aspect_ratio = min_aspect_ratio
        self.max_aspect_ratio = max_aspect_ratio
        self.options = sampler_options or [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if not (has_all(flat_inputs, tv_tensors.BoundingBoxes)
                and has_any(flat_inputs, is_pil, tv_tensors.Image, is_pure_tensor)):
            raise TypeError(f"{type(self).__name__}() requires input sample to contain tensor or "
                            "PIL images and bounding boxes. Sample can also contain masks.")

    def _part(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        """Top, left, height and width of a part; None if it has the wrong shape."""
        span = self.max_scale - self.min_scale
        scales = self.min_scale + span * ops.rand(2)
        new_width, new_height = int(width * scales[0]), int(height * scales[1])
        if not self.min_aspect_ratio <= new_width / new_height <= self.max_aspect_ratio:
            return None
        places = ops.rand(2)
        left = int((width - new_width) * places[0])
        top = int((height - new_height) * places[1])
        return (top, left, new_height, new_width) if new_width and new_height else None

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        canvas = query_size(flat_inputs)
        boxes = get_bounding_boxes(flat_inputs)
        corners = box_kernels.convert(boxes.as_subclass(Tensor), boxes.format, box_kernels.XYXY)
        x, y = 0.5 * (corners[..., 0::2].sum(-1)), 0.5 * (corners[..., 1::2].sum(-1))
        while True:
            least = self.options[whole(0, len(self.options))]
            if least >= 1.0:
                return {}
            for _ in range(self.trials):
                part = self._part(*canvas)
                if part is None:
                    continue
                top, left, height, width = part
                right, bottom = left + width, top + height
                within = (left < x) & (x < right) & (top < y) & (y < bottom)
                if not within.any():
                    continue
                if _overlaps(corners[within], left, top, right, bottom).max() < least:
                    continue
                return {"top": top, "left": left, "height": height, "width": width,
                        "is_within_crop_area": within}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params:
            return inpt
        part = {name: params[name] for name in ("top", "left", "height", "width")}
        made = self._call_kernel(F.crop, inpt, **part)
        if isinstance(made, tv_tensors.BoundingBoxes):
            made[~params["is_within_crop_area"]] = 0
        return made
