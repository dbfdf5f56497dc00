"""Transforms of the shape of samples: resizing, crops, paddings, flips."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .... import functional as ops
from ... import tv_tensors
from .. import cropping as first
from .. import drawing
from ..arguments import check_ranges, check_sequence, size_of
from ..kernels.arithmetic import sides
from . import functional as F
from .base import RandomApplyTransform, Transform
from .samples import fill_of, fills, has_any, query_size

__all__ = ["CenterCrop", "FiveCrop", "Pad", "RandomCrop", "RandomHorizontalFlip", "RandomResize",
           "RandomResizedCrop", "RandomShortestSize", "RandomVerticalFlip", "RandomZoomOut",
           "Resize", "ScaleJitter", "TenCrop"]


class RandomHorizontalFlip(RandomApplyTransform):
    """Left and right exchanged with the chance `p`."""

    _v1_transform_cls = first.RandomHorizontalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Top and bottom exchanged with the chance `p`."""

    _v1_transform_cls = first.RandomVerticalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.vertical_flip, inpt)


class Resize(Transform):
    """Resized to `size`: (height, width), the length of the shorter edge, or None: the longer
    edge becomes `max_size`."""

    _v1_transform_cls = first.Resize

    def __init__(self, size: Any, interpolation: Any = "bilinear", max_size: int | None = None,
                 antialias: bool | None = True) -> None:
        super().__init__()
        if size is None and not isinstance(max_size, int):
            raise ValueError("max_size must be an integer when size is None, "
                             f"but got {max_size} instead.")
        if isinstance(size, int):
            size = [size]
        elif size is not None:
            if not isinstance(size, Sequence) or len(size) not in (1, 2):
                raise ValueError("size can be an integer, a sequence of one or two integers, or "
                                 f"None, but got {size} instead.")
            size = list(size)
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.resize, inpt, self.size, interpolation=self.interpolation,
                                 max_size=self.max_size, antialias=self.antialias)


class CenterCrop(Transform):
    """The central part, with black around images that are smaller."""

    _v1_transform_cls = first.CenterCrop

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = size_of(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)


class RandomResizedCrop(Transform):
    """A part of random size and shape, resized to `size`."""

    _v1_transform_cls = first.RandomResizedCrop

    def __init__(self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4.0, 4.0 / 3.0),
                 interpolation: Any = "bilinear", antialias: bool | None = True) -> None:
        super().__init__()
        self.size = size_of(size)
        check_ranges(scale, ratio, pairs=True)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        part = drawing.resized_crop(height, width, self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), part))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.resized_crop, inpt, **params, size=self.size,
                                 interpolation=self.interpolation, antialias=self.antialias)


class _SeveralCrops(Transform):
    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if has_any(flat_inputs, tv_tensors.BoundingBoxes, tv_tensors.Mask):
            raise TypeError("BoundingBoxes'es and Mask's are not supported by "
                            f"{type(self).__name__}()")

    def _call_kernel(self, functional: Callable[..., Any], inpt: Any, *args: Any,
                     **kwargs: Any) -> Any:
        warn_of(self, inpt)
        return super()._call_kernel(functional, inpt, *args, **kwargs)


def warn_of(transform: Any, inpt: Any) -> None:
    """Of inputs that some transforms leave as they are."""
    if isinstance(inpt, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)):
        warnings.warn(f"{type(transform).__name__}() is currently passing through inputs of type "
                      f"tv_tensors.{type(inpt).__name__}. This will likely change in the future.")


class FiveCrop(_SeveralCrops):
    """A tuple of the four corners and the centre of images."""

    _v1_transform_cls = first.FiveCrop

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = size_of(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.five_crop, inpt, self.size)


class TenCrop(_SeveralCrops):
    """A tuple of the five crops of images and of their flipped copies."""

    _v1_transform_cls = first.TenCrop

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = size_of(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.ten_crop, inpt, self.size, vertical_flip=self.vertical_flip)


def _check_padding(padding: Any, mode: Any) -> None:
    numbers = padding if isinstance(padding, (tuple, list)) else [padding]
    if len(numbers) not in (1, 2, 4) or not all(isinstance(p, int) for p in numbers):
        raise ValueError("Padding must be an int or a 1, 2, or 4 element of tuple or list, "
                         f"got {padding}.")
    _check_mode(mode)


def _check_mode(mode: Any) -> None:
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric, "
                         f"but got {mode}")


class Pad(Transform):
    """Padded on all sides; `fill` may be a dictionary from kinds of inputs to fills."""

    _v1_transform_cls = first.Pad

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        _check_padding(padding, padding_mode)
        self.padding = padding if isinstance(padding, int) else list(padding)
        self.fill = fill
        self._fill = fills(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.pad, inpt, padding=self.padding,
                                 fill=fill_of(self._fill, type(inpt)),
                                 padding_mode=self.padding_mode)


class RandomZoomOut(RandomApplyTransform):
    """With the chance `p`, a larger canvas around everything, `side_range` times as large."""

    def __init__(self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0),
                 p: float = 0.5) -> None:
        super().__init__(p=p)
        self.fill = fill
        self._fill = fills(fill)
        check_sequence(side_range, "side_range", (2,))
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        low, high = self.side_range
        factor = low + ops.rand(1) * (high - low)
        new_width, new_height = int(width * factor), int(height * factor)
        shares = ops.rand(2)
        left = int((new_width - width) * shares[0])
        top = int((new_height - height) * shares[1])
        return {"padding": [left, top, new_width - left - width, new_height - top - height]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.pad, inpt, **params, fill=fill_of(self._fill, type(inpt)))


class RandomCrop(Transform):
    """A part of that size, from anywhere, of what may have been padded before."""

    _v1_transform_cls = first.RandomCrop

    def __init__(self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0,
                 padding_mode: str = "constant") -> None:
        super().__init__()
        self.size = size_of(size)
        if padding is not None:
            _check_padding(padding, padding_mode)
        elif pad_if_needed:
            _check_mode(padding_mode)
        self.padding = sides(padding) if padding else None
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self._fill = fills(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        left, right, top, bottom = self.padding or (0, 0, 0, 0)
        crop_height, crop_width = self.size
        if self.pad_if_needed:
            down = max(crop_height - (height + top + bottom), 0)
            across = max(crop_width - (width + left + right), 0)
            top, bottom, left, right = top + down, bottom + down, left + across, right + across
        height, width = height + top + bottom, width + left + right
        if height < crop_height or width < crop_width:
            padded = "" if self.padding is None else "padded "
            raise ValueError(f"Required crop size {(crop_height, crop_width)} is larger than "
                             f"{padded}input image size {(height, width)}.")
        down, across = height > crop_height, width > crop_width
        return {
            "needs_crop": down or across,
            "top": int(ops.randint(0, height - crop_height + 1, ())) if down else 0,
            "left": int(ops.randint(0, width - crop_width + 1, ())) if across else 0,
            "height": crop_height, "width": crop_width,
            "needs_pad": any((left, top, right, bottom)), "padding": [left, top, right, bottom],
        }

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if params["needs_pad"]:
            inpt = self._call_kernel(F.pad, inpt, padding=params["padding"],
                                     fill=fill_of(self._fill, type(inpt)),
                                     padding_mode=self.padding_mode)
        if params["needs_crop"]:
            part = {name: params[name] for name in ("top", "left", "height", "width")}
            inpt = self._call_kernel(F.crop, inpt, **part)
        return inpt


class _Resized(Transform):
    """Resized to what `make_params` gives."""

    interpolation: Any
    antialias: Any

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.resize, inpt, size=params["size"],
                                 interpolation=self.interpolation, antialias=self.antialias)


class ScaleJitter(_Resized):
    """Resized to a random share, within `scale_range`, of what fits into `target_size`."""

    def __init__(self, target_size: tuple[int, int], scale_range: tuple[float, float] = (0.1, 2.0),
                 interpolation: Any = "bilinear", antialias: bool | None = True) -> None:
        super().__init__()
        self.target_size = target_size
        self.scale_range = scale_range
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + ops.rand(1) * (high - low)
        factor = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": (int(height * factor), int(width * factor))}


class RandomShortestSize(_Resized):
    """The shorter edge resized to one of the lengths `min_size`, the longer one to at most
    `max_size`."""

    def __init__(self, min_size: Any, max_size: int | None = None, interpolation: Any = "bilinear",
                 antialias: bool | None = True) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        shortest = self.min_size[int(ops.randint(len(self.min_size), ()))]
        factor = shortest / min(height, width)
        if self.max_size is not None:
            factor = min(factor, self.max_size / max(height, width))
        return {"size": (int(height * factor), int(width * factor))}


class RandomResize(_Resized):
    """The shorter edge resized to a random length, from `min_size` up to but not including
    `max_size`."""

    def __init__(self, min_size: int, max_size: int, interpolation: Any = "bilinear",
                 antialias: bool | None = True) -> None:
        super().__init__()
        self.min_size = min_size
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"size": [int(ops.randint(self.min_size, self.max_size, ()))]}
