"""Transforms of colours, and erasing; boxes, points and masks stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import functional as ops
from .. import coloring as first
from .. import drawing
from ..arguments import check_erasing, erasing_value, factor_range
from . import functional as F
from .base import RandomApplyTransform, Transform
from .cropping import warn_of
from .samples import query_chw

__all__ = ["RGB", "ColorJitter", "Grayscale", "RandomAdjustSharpness", "RandomAutocontrast",
           "RandomChannelPermutation", "RandomEqualize", "RandomErasing", "RandomGrayscale",
           "RandomInvert", "RandomPhotometricDistort", "RandomPosterize", "RandomSolarize"]


class Grayscale(Transform):
    """The luminance, in 1 or 3 channels."""

    _v1_transform_cls = first.Grayscale

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.rgb_to_grayscale, inpt,
                                 num_output_channels=self.num_output_channels)


class RandomGrayscale(RandomApplyTransform):
    """The luminance with the chance `p`, in as many channels as before."""

    _v1_transform_cls = first.RandomGrayscale

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"num_input_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.rgb_to_grayscale, inpt,
                                 num_output_channels=params["num_input_channels"])


class RGB(Transform):
    """Three equal channels of grey images; coloured ones as they are."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.grayscale_to_rgb, inpt)


_ADJUST = ("brightness", "contrast", "saturation", "hue")


class _Adjusting(Transform):
    def _adjusted(self, inpt: Any, name: str, factor: float | None) -> Any:
        if factor is None:
            return inpt
        return self._call_kernel(getattr(F, f"adjust_{name}"), inpt, **{f"{name}_factor": factor})


class ColorJitter(_Adjusting):
    """Brightness, contrast, saturation and hue changed at random, in random order; arguments as
    in the first version, None for no change."""

    _v1_transform_cls = first.ColorJitter

    def __init__(self, brightness: Any = None, contrast: Any = None, saturation: Any = None,
                 hue: Any = None) -> None:
        super().__init__()
        for name, value in zip(_ADJUST, (brightness, contrast, saturation)):
            setattr(self, name, None if value is None else factor_range(value, name))
        self.hue = None if hue is None else factor_range(hue, "hue", 0, (-0.5, 0.5))

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        order, *factors = drawing.jitter(*(getattr(self, name) for name in _ADJUST))
        made = {f"{name}_factor": factor for name, factor in zip(_ADJUST, factors)}
        return {"fn_idx": order, **made}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        for which in params["fn_idx"].tolist():
            inpt = self._adjusted(inpt, _ADJUST[which], params[f"{_ADJUST[which]}_factor"])
        return inpt


class RandomChannelPermutation(Transform):
    """The channels in random order."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"permutation": ops.randperm(query_chw(flat_inputs)[0])}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.permute_channels, inpt, params["permutation"])


class RandomPhotometricDistort(_Adjusting):
    """Each of brightness, contrast, saturation, hue and the order of channels changed with the
    chance `p`, within bounds (Liu et al. 2016, arXiv 1512.02325)."""

    def __init__(self, brightness: tuple[float, float] = (0.875, 1.125),
                 contrast: tuple[float, float] = (0.5, 1.5),
                 saturation: tuple[float, float] = (0.5, 1.5),
                 hue: tuple[float, float] = (-0.05, 0.05), p: float = 0.5) -> None:
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.hue = hue
        self.saturation = saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        channels = query_chw(flat_inputs)[0]
        params: dict[str, Any] = {}
        for name in _ADJUST:
            bounds = getattr(self, name)
            hit = drawing.happens(self.p)
            params[f"{name}_factor"] = drawing.uniform(*bounds) if hit else None
        params["contrast_before"] = bool(ops.rand(()) < 0.5)
        hit = drawing.happens(self.p)
        params["channel_permutation"] = ops.randperm(channels) if hit else None
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        order = ["brightness", "saturation", "hue"]
        order.insert(1 if params["contrast_before"] else 3, "contrast")
        for name in order:
            inpt = self._adjusted(inpt, name, params[f"{name}_factor"])
        if params["channel_permutation"] is not None:
            inpt = self._call_kernel(F.permute_channels, inpt,
                                     permutation=params["channel_permutation"])
        return inpt


class RandomEqualize(RandomApplyTransform):
    """All values made about equally frequent, with the chance `p`."""

    _v1_transform_cls = first.RandomEqualize

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.equalize, inpt)


class RandomInvert(RandomApplyTransform):
    """White minus the image, with the chance `p`."""

    _v1_transform_cls = first.RandomInvert

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.invert, inpt)


class RandomPosterize(RandomApplyTransform):
    """The highest `bits` bits of each colour, with the chance `p`."""

    _v1_transform_cls = first.RandomPosterize

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.posterize, inpt, bits=self.bits)


class RandomSolarize(RandomApplyTransform):
    """Inverted where a colour reaches `threshold`, with the chance `p`."""

    _v1_transform_cls = first.RandomSolarize

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.solarize, inpt, threshold=self.threshold)


class RandomAutocontrast(RandomApplyTransform):
    """Each channel stretched to reach from black to white, with the chance `p`."""

    _v1_transform_cls = first.RandomAutocontrast

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.autocontrast, inpt)


class RandomAdjustSharpness(RandomApplyTransform):
    """Sharpened or smoothed by a factor, with the chance `p`."""

    _v1_transform_cls = first.RandomAdjustSharpness

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.adjust_sharpness, inpt, sharpness_factor=self.sharpness_factor)


class RandomErasing(RandomApplyTransform):
    """A random part of images replaced, with the chance `p`; arguments as in the first version."""

    _v1_transform_cls = first.RandomErasing

    def __init__(self, p: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3),
                 value: Any = 0.0, inplace: bool = False) -> None:
        super().__init__(p=p)
        check_erasing(value, scale, ratio)
        self.scale = scale
        self.ratio = ratio
        self.value = erasing_value(value)
        self.inplace = inplace

    def _call_kernel(self, functional: Callable[..., Any], inpt: Any, *args: Any,
                     **kwargs: Any) -> Any:
        warn_of(self, inpt)
        return super()._call_kernel(functional, inpt, *args, **kwargs)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError("If value is a sequence, it should have either a single value or "
                             f"{channels} (number of inpt channels)")
        part = drawing.erased(channels, height, width, self.scale, self.ratio, self.value)
        return dict(zip("ijhwv", part or (0, 0, height, width, None)))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if params["v"] is None:
            return inpt
        return self._call_kernel(F.erase, inpt, **params, inplace=self.inplace)
