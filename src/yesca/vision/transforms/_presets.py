"""The transforms that go with published weights: from an image, or a video, to a model's input.

Each takes images of Pillow or tensors [..., C, H, W], gives float32 tensors, and `describe`s
itself in a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import nn
from ..._tensor import Tensor
from ...core.dtypes import float32
from . import functional as F
from .interpolation import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "OpticalFlow", "SemanticSegmentation",
           "VideoClassification"]

_TAKES = "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` tensors. "


def _scaled(image: Any) -> Tensor:
    """As a tensor of values from 0 to 1."""
    tensor = image if isinstance(image, Tensor) else F.pil_to_tensor(image)
    return F.convert_image_dtype(tensor, float32)


class _Preset(nn.Module):
    """Prints its settings, one a line."""

    _settings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = "".join(f"\n    {name}={getattr(self, name)}" for name in self._settings)
        return f"{type(self).__name__}({lines}\n)" if lines else f"{type(self).__name__}()"

    def _described(self, names: Sequence[str]) -> str:
        return ", ".join(f"``{name}={getattr(self, name)}``" for name in names)


class ObjectDetection(_Preset):
    """Values from 0 to 1, of the size the image has."""

    def forward(self, img: Any) -> Tensor:
        return _scaled(img)

    def describe(self) -> str:
        return _TAKES + "Values are rescaled to ``[0.0, 1.0]``."


class ImageClassification(_Preset):
    """Resized, cropped in the middle, from 0 to 1, then normalised.

    >>> from yesca.vision.transforms._presets import ImageClassification
    >>> ImageClassification(crop_size=224)(torch.zeros(3, 300, 400)).shape
    torch.Size([3, 224, 224])
    """

    _settings = ("crop_size", "resize_size", "mean", "std", "interpolation")

    def __init__(
        self, *, crop_size: int, resize_size: int = 256,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size = [crop_size]
        self.resize_size = [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> Tensor:
        img = F.resize(img, self.resize_size, interpolation=self.interpolation,
                       antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        return F.normalize(_scaled(img), mean=self.mean, std=self.std)

    def describe(self) -> str:
        return (f"{_TAKES}Resizes by {self._described(('resize_size', 'interpolation'))}, crops "
                f"the middle ({self._described(('crop_size',))}), rescales values to "
                f"``[0.0, 1.0]`` and normalises by {self._described(('mean', 'std'))}.")


class VideoClassification(_Preset):
    """Frames [..., T, C, H, W], resized, cropped and normalised, as [..., C, T, H, W]."""

    _settings = ImageClassification._settings

    def __init__(
        self, *, crop_size: tuple[int, int], resize_size: tuple[int, ...],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size = list(crop_size)
        self.resize_size = list(resize_size)
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation

    def forward(self, vid: Tensor) -> Tensor:
        *outer, channels, height, width = vid.shape
        frames = vid.reshape(-1, channels, height, width)
        frames = F.resize(frames, self.resize_size, interpolation=self.interpolation,
                          antialias=False)
        frames = F.convert_image_dtype(F.center_crop(frames, self.crop_size), float32)
        frames = F.normalize(frames, mean=self.mean, std=self.std)
        return frames.reshape(*outer, *frames.shape[1:]).transpose(-3, -4)

    def describe(self) -> str:
        return ("Accepts batched ``(B, T, C, H, W)`` and single ``(T, C, H, W)`` frames. Resizes "
                f"by {self._described(('resize_size', 'interpolation'))}, crops the middle "
                f"({self._described(('crop_size',))}), rescales values to ``[0.0, 1.0]``, "
                f"normalises by {self._described(('mean', 'std'))} and gives "
                "``(..., C, T, H, W)``.")


class SemanticSegmentation(_Preset):
    """Resized (unless the size is None), from 0 to 1, then normalised."""

    _settings = ("resize_size", "mean", "std", "interpolation")

    def __init__(
        self, *, resize_size: int | None, mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> Tensor:
        if self.resize_size is not None:
            img = F.resize(img, self.resize_size, interpolation=self.interpolation,
                           antialias=self.antialias)
        return F.normalize(_scaled(img), mean=self.mean, std=self.std)

    def describe(self) -> str:
        return (f"{_TAKES}Resizes by {self._described(('resize_size', 'interpolation'))}, "
                "rescales values to ``[0.0, 1.0]`` and normalises by "
                f"{self._described(('mean', 'std'))}.")


class OpticalFlow(_Preset):
    """Two images, with values from -1 to 1."""

    def forward(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor]:
        first, second = (
            F.normalize(_scaled(each), mean=[0.5] * 3, std=[0.5] * 3).contiguous()
            for each in (img1, img2))
        return first, second

    def describe(self) -> str:
        return _TAKES + "Values are rescaled to ``[-1.0, 1.0]``."
