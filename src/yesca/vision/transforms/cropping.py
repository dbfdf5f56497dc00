"""Transforms of the shape: resizing, crops, paddings, flips."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from ... import functional as ops
from ...nn.modules.module import Module
from . import drawing
from . import functional as F
from .arguments import check_ranges, size_of
from .interpolation import InterpolationMode, from_number

__all__ = ["CenterCrop", "FiveCrop", "Pad", "RandomCrop", "RandomHorizontalFlip",
           "RandomResizedCrop", "RandomVerticalFlip", "Resize", "TenCrop"]

_BILINEAR = InterpolationMode.BILINEAR


class Resize(Module):
    """Resized to `size`: (height, width), or the length of the shorter edge.

    Args:
        size: a number or a sequence of one or two.
        interpolation: an `InterpolationMode` or Pillow's number of one.
        max_size: bound of the longer edge, if `size` says the shorter one.
        antialias: whether shrinking tensors takes all pixels into account.

    >>> from yesca.vision import transforms
    >>> transforms.Resize(4)(torch.zeros(3, 8, 16)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(self, size: Any, interpolation: Any = _BILINEAR, max_size: int | None = None,
                 antialias: bool | None = True) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError(f"If size is a sequence, it should have 1 or 2 values, not {size}")
        self.size = size
        self.max_size = max_size
        self.interpolation = from_number(interpolation)
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(size={self.size}, interpolation="
                f"{self.interpolation.value}, max_size={self.max_size}, "
                f"antialias={self.antialias})")


class CenterCrop(Module):
    """The central part of an image, with black around one that is smaller."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = size_of(size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class Pad(Module):
    """Padded on all sides (see `functional.pad`)."""

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        if not isinstance(padding, (Number, tuple, list)):
            raise TypeError(f"Got inappropriate padding arg: {padding!r}")
        if not isinstance(fill, (Number, tuple, list)):
            raise TypeError(f"Got inappropriate fill arg: {fill!r}")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if isinstance(padding, Sequence) and len(padding) not in (1, 2, 4):
            raise ValueError("Padding must be an int or a 1, 2, or 4 element tuple, "
                             f"not a {len(padding)} element tuple")
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, "
                f"padding_mode={self.padding_mode})")


class RandomCrop(Module):
    """A part of that size, from anywhere in the image.

    Args:
        size: (height, width), or one number.
        padding, fill, padding_mode: of the image before that (see `functional.pad`).
        pad_if_needed: pad images that are too small.

    Raises ValueError for an image that is too small.

    >>> from yesca.vision import transforms
    >>> transforms.RandomCrop(4, padding=2)(torch.zeros(3, 4, 6)).shape
    torch.Size([3, 4, 4])
    """

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of a crop."""
        _, height, width = F.get_dimensions(img)
        return drawing.crop_corner(height, width, output_size)

    def __init__(self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0,
                 padding_mode: str = "constant") -> None:
        super().__init__()
        self.size = tuple(size_of(size))
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, height, width = F.get_dimensions(img)
            if width < self.size[1]:
                img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
            if height < self.size[0]:
                img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class _Sometimes(Module):
    """Something done with the chance `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomHorizontalFlip(_Sometimes):
    """Left and right exchanged with the chance `p`."""

    def forward(self, img: Any) -> Any:
        return F.hflip(img) if ops.rand(1) < self.p else img


class RandomVerticalFlip(_Sometimes):
    """Top and bottom exchanged with the chance `p`."""

    def forward(self, img: Any) -> Any:
        return F.vflip(img) if ops.rand(1) < self.p else img


class RandomResizedCrop(Module):
    """A part of random size and shape, resized to `size`.

    Args:
        scale: bounds of its share of the area.
        ratio: bounds of its width by its height.
        interpolation, antialias: as in `Resize`.

    >>> from yesca.vision import transforms
    >>> transforms.RandomResizedCrop(4)(torch.zeros(3, 8, 9)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, size: Any, scale: Sequence[float] = (0.08, 1.0),
                 ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0), interpolation: Any = _BILINEAR,
                 antialias: bool | None = True) -> None:
        super().__init__()
        self.size = size_of(size)
        check_ranges(scale, ratio)
        self.interpolation = from_number(interpolation)
        self.antialias = antialias
        self.scale = scale
        self.ratio = ratio

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]
                   ) -> tuple[int, int, int, int]:
        """Top, left, height and width of a crop."""
        _, height, width = F.get_dimensions(img)
        return drawing.resized_crop(height, width, scale, ratio)

    def forward(self, img: Any) -> Any:
        part = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *part, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(v, 4) for v in bounds) for bounds in (self.scale, self.ratio))
        return (f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
                f"interpolation={self.interpolation.value}, antialias={self.antialias})")


class FiveCrop(Module):
    """A tuple of the four corners and the centre."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = size_of(size)

    def forward(self, img: Any) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(Module):
    """A tuple of the five crops of an image and of its flipped copy."""

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = size_of(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"
