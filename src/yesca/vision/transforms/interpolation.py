"""The ways of finding values between pixels, under torchvision's names and Pillow's numbers."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ...base.naming import public_module

__all__ = ["InterpolationMode"]


class InterpolationMode(Enum):
    """How a resized or warped image finds its values.

    Tensors know nearest, nearest-exact, bilinear and bicubic (and lanczos, antialiased, in `v2`);
    box, hamming and lanczos are for PIL images.

    >>> InterpolationMode("bilinear")
    <InterpolationMode.BILINEAR: 'bilinear'>
    """

    __module__ = public_module("torchvision.transforms.functional")

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


#: Pillow's number of each mode.
pil_modes_mapping = {
    InterpolationMode.NEAREST: 0, InterpolationMode.NEAREST_EXACT: 0, InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2, InterpolationMode.BICUBIC: 3, InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}
_OF_NUMBER = {number: mode for mode, number in pil_modes_mapping.items()
              if mode is not InterpolationMode.NEAREST_EXACT}
_OF_NAME = {mode.value: mode for mode in InterpolationMode}


def from_number(mode: Any) -> Any:
    """The mode of one of Pillow's numbers; anything else as it is."""
    return _OF_NUMBER[mode] if isinstance(mode, int) else mode


def strict(mode: Any) -> InterpolationMode:
    """The mode, given as such or by Pillow's number. Raises TypeError for anything else."""
    mode = from_number(mode)
    if not isinstance(mode, InterpolationMode):
        raise TypeError("Argument interpolation should be a InterpolationMode or a corresponding "
                        f"Pillow integer constant, but got {mode!r}")
    return mode


def lenient(mode: Any) -> InterpolationMode:
    """The mode, given as such, by its name or by Pillow's number. Raises ValueError otherwise."""
    if isinstance(mode, InterpolationMode):
        return mode
    if isinstance(mode, str):
        if mode not in _OF_NAME:
            raise ValueError(f"Invalid interpolation mode: '{mode}'. Supported string values are: "
                             f"{list(_OF_NAME)}.")
        return _OF_NAME[mode]
    if not isinstance(mode, int):
        raise ValueError("Argument interpolation should be an `InterpolationMode` or a "
                         f"corresponding Pillow integer constant, but got {mode}.")
    return _OF_NUMBER[mode]
