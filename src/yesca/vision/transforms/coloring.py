"""Transforms of colours, and erasing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...nn.modules.module import Module
from . import drawing
from . import functional as F
from .arguments import check_erasing, erasing_value, factor_range
from .cropping import _Sometimes

__all__ = ["ColorJitter", "Grayscale", "RandomAdjustSharpness", "RandomAutocontrast",
           "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomInvert",
           "RandomPosterize", "RandomSolarize"]


class ColorJitter(Module):
    """Brightness, contrast, saturation and hue changed at random, in random order.

    Args:
        brightness, contrast, saturation: bounds of the factor; one number d means from
            max(0, 1 - d) to 1 + d.
        hue: bounds of the shift, within [-0.5, 0.5]; one number d means from -d to d.

    >>> from yesca.vision import transforms
    >>> transforms.ColorJitter(brightness=0.5, hue=0.25)
    ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=(-0.25, 0.25))
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0,
                 hue: Any = 0) -> None:
        super().__init__()
        self.brightness = factor_range(brightness, "brightness")
        self.contrast = factor_range(contrast, "contrast")
        self.saturation = factor_range(saturation, "saturation")
        self.hue = factor_range(hue, "hue", 0, (-0.5, 0.5))

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple[Any, ...]:
        """The order of the four changes, and the factor of each (None: left out)."""
        return drawing.jitter(brightness, contrast, saturation, hue)

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation,
                                          self.hue)
        for which in order.tolist():
            if factors[which] is not None:
                img = _CHANGES[which](img, factors[which])
        return img

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
                f"saturation={self.saturation}, hue={self.hue})")


_CHANGES = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)


class Grayscale(Module):
    """The luminance, in 1 or 3 channels."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, num_output_channels=self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class RandomGrayscale(_Sometimes):
    """The luminance with the chance `p`, in as many channels as before."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def forward(self, img: Any) -> Any:
        count = F.get_image_num_channels(img)
        return F.rgb_to_grayscale(img, count) if ops.rand(1) < self.p else img


class RandomErasing(Module):
    """A random part of a tensor image replaced, with the chance `p`.

    Args:
        scale: bounds of the share of the area; ratio: of its height by its width.
        value: one number, one for each channel, or `"random"` for normal noise.
        inplace: change the tensor itself.

    >>> from yesca.vision import transforms
    >>> transforms.RandomErasing(p=1.0)(torch.ones(1, 8, 8)).min()
    tensor(0.)
    """

    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33),
                 ratio: Sequence[float] = (0.3, 3.3), value: Any = 0,
                 inplace: bool = False) -> None:
        super().__init__()
        check_erasing(value, scale, ratio)
        if p < 0 or p > 1:
            raise ValueError(f"Random erasing probability should be between 0 and 1, got {p}")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img: Tensor, scale: Sequence[float], ratio: Sequence[float],
                   value: Sequence[float] | None = None) -> tuple[int, int, int, int, Tensor]:
        """Top, left, height, width of the part, and what comes there."""
        channels, height, width = img.shape[-3:]
        part = drawing.erased(channels, height, width, scale, ratio, value)
        return (0, 0, height, width, img) if part is None else part

    def forward(self, img: Tensor) -> Tensor:
        if not ops.rand(1) < self.p:
            return img
        value = erasing_value(self.value)
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError("If value is a sequence, it should have either a single value or "
                             f"{img.shape[-3]} (number of input channels)")
        part = self.get_params(img, scale=self.scale, ratio=self.ratio, value=value)
        return F.erase(img, *part, self.inplace)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
                f"value={self.value}, inplace={self.inplace})")


class RandomInvert(_Sometimes):
    """White minus the image, with the chance `p`."""

    def forward(self, img: Any) -> Any:
        return F.invert(img) if ops.rand(1).item() < self.p else img


class RandomPosterize(Module):
    """The highest `bits` bits of each byte, with the chance `p`."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__()
        self.bits = bits
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.posterize(img, self.bits) if ops.rand(1).item() < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bits={self.bits},p={self.p})"


class RandomSolarize(Module):
    """Inverted where a colour reaches `threshold`, with the chance `p`."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__()
        self.threshold = threshold
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.solarize(img, self.threshold) if ops.rand(1).item() < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(threshold={self.threshold},p={self.p})"


class RandomAdjustSharpness(Module):
    """Sharpened or smoothed (see `functional.adjust_sharpness`), with the chance `p`."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__()
        self.sharpness_factor = sharpness_factor
        self.p = p

    def forward(self, img: Any) -> Any:
        hit = ops.rand(1).item() < self.p
        return F.adjust_sharpness(img, self.sharpness_factor) if hit else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sharpness_factor={self.sharpness_factor},p={self.p})"


class RandomAutocontrast(_Sometimes):
    """Each channel stretched to reach from black to white, with the chance `p`."""

    def forward(self, img: Any) -> Any:
        return F.autocontrast(img) if ops.rand(1).item() < self.p else img


class RandomEqualize(_Sometimes):
    """All values made about equally frequent, with the chance `p`."""

    def forward(self, img: Any) -> Any:
        return F.equalize(img) if ops.rand(1).item() < self.p else img
