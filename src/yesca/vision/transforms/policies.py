"""What automatic augmentation chooses from: operations, strengths, and the policies found for three
data sets (Cubuk et al. 2019, arXiv 1805.09501)."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from ... import functional as ops
from ...base.naming import public_module

__all__ = ["AutoAugmentPolicy"]


class AutoAugmentPolicy(Enum):
    """The data set that a policy of `AutoAugment` was found for."""

    __module__ = public_module("torchvision.transforms.autoaugment")

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


#: An operation, its chance, and which of ten strengths (None: it has none).
Step = tuple[str, float, int | None]


def _steps(line: str) -> tuple[Step, ...]:
    return tuple((name, float(chance), int(level[0]) if level else None)
                 for name, chance, *level in map(str.split, line.split(",")))


def policies(policy: Any) -> list[tuple[Step, ...]]:
    """The pairs of steps of a policy, one of which is drawn. Raises ValueError for another."""
    if not isinstance(policy, AutoAugmentPolicy):
        raise ValueError(f"The provided policy {policy} is not recognized.")
    return [_steps(line) for line in _POLICIES[policy.value].strip().splitlines()]


_GEOMETRY = "ShearX ShearY TranslateX TranslateY Rotate "
_FACTORS = "Brightness Color Contrast Sharpness "
_BITS = "Posterize Solarize AutoContrast Equalize "
_SIGNED = frozenset((_GEOMETRY + _FACTORS).split())


class Space(NamedTuple):
    """Names of operations, and the limits of their strengths."""

    names: str
    shear: float
    degrees: float
    factor: float
    bits: tuple[int, int]
    shift: Callable[[int], float]

    def strengths(self, name: str, bins: int, height: int, width: int, white: float) -> Any:
        """`bins` strengths of an operation, a tensor, on images of a size; None if it has none."""
        if name in ("Identity", "AutoContrast", "Equalize", "Invert"):
            return None
        if name == "Posterize":
            most, fewer = self.bits
            return (most - ops.arange(bins) / ((bins - 1) / fewer)).round().int()
        if name == "Solarize":
            return ops.linspace(white, 0.0, bins)
        limits = {"ShearX": self.shear, "ShearY": self.shear, "Rotate": self.degrees}
        if name in ("TranslateX", "TranslateY"):
            return ops.linspace(0.0, self.shift(width if name[-1] == "X" else height), bins)
        return ops.linspace(0.0, limits.get(name, self.factor), bins)

    @staticmethod
    def signed(name: str) -> bool:
        """Whether the strength may be turned to its negative."""
        return name in _SIGNED


AUTO = Space(_GEOMETRY + _FACTORS + _BITS + "Invert", 0.3, 30.0, 0.9, (8, 4),
             lambda size: 150.0 / 331.0 * size)
RAND = AUTO._replace(names="Identity " + _GEOMETRY + _FACTORS + _BITS)
WIDE = Space(RAND.names, 0.99, 135.0, 0.99, (8, 6), lambda size: 32.0)
MIX = Space(_GEOMETRY + _BITS + _FACTORS, 0.3, 30.0, 0.9, (4, 4), lambda size: size / 3.0)
MIX_PARTIAL = MIX._replace(names=_GEOMETRY + _BITS)


def apply(functions: Any, img: Any, name: str, strength: float, interpolation: Any,
          fill: Any) -> Any:
    """An operation done by the functions of either version of the interface."""
    shared = {"interpolation": interpolation, "fill": fill}
    if name in ("ShearX", "ShearY"):
        angle = math.degrees(math.atan(strength))
        shear = [angle, 0.0] if name == "ShearX" else [0.0, angle]
        return functions.affine(img, angle=0.0, translate=[0, 0], scale=1.0, shear=shear,
                                center=[0, 0], **shared)
    if name in ("TranslateX", "TranslateY"):
        pixels = int(strength)
        moved = [pixels, 0] if name == "TranslateX" else [0, pixels]
        return functions.affine(img, angle=0.0, translate=moved, scale=1.0, shear=[0.0, 0.0],
                                **shared)
    if name == "Rotate":
        return functions.rotate(img, strength, **shared)
    if name not in _OTHERS:
        raise ValueError(f"The provided operator {name} is not recognized.")
    return _OTHERS[name](functions, img, strength)


_OTHERS: dict[str, Callable[[Any, Any, float], Any]] = {
    "Identity": lambda functions, img, strength: img,
    "Brightness": lambda functions, img, s: functions.adjust_brightness(img, 1.0 + s),
    "Color": lambda functions, img, s: functions.adjust_saturation(img, 1.0 + s),
    "Contrast": lambda functions, img, s: functions.adjust_contrast(img, 1.0 + s),
    "Sharpness": lambda functions, img, s: functions.adjust_sharpness(img, 1.0 + s),
    "Posterize": lambda functions, img, s: functions.posterize(img, int(s)),
    "Solarize": lambda functions, img, s: functions.solarize(img, s),
    "AutoContrast": lambda functions, img, s: functions.autocontrast(img),
    "Equalize": lambda functions, img, s: functions.equalize(img),
    "Invert": lambda functions, img, s: functions.invert(img),
}

#: Two steps a line: operation, chance, strength.
_POLICIES = {
    "imagenet": """
        Posterize 0.4 8, Rotate 0.6 9
        Solarize 0.6 5, AutoContrast 0.6
        Equalize 0.8, Equalize 0.6
        Posterize 0.6 7, Posterize 0.6 6
        Equalize 0.4, Solarize 0.2 4
        Equalize 0.4, Rotate 0.8 8
        Solarize 0.6 3, Equalize 0.6
        Posterize 0.8 5, Equalize 1.0
        Rotate 0.2 3, Solarize 0.6 8
        Equalize 0.6, Posterize 0.4 6
        Rotate 0.8 8, Color 0.4 0
        Rotate 0.4 9, Equalize 0.6
        Equalize 0.0, Equalize 0.8
        Invert 0.6, Equalize 1.0
        Color 0.6 4, Contrast 1.0 8
        Rotate 0.8 8, Color 1.0 2
        Color 0.8 8, Solarize 0.8 7
        Sharpness 0.4 7, Invert 0.6
        ShearX 0.6 5, Equalize 1.0
        Color 0.4 0, Equalize 0.6
        Equalize 0.4, Solarize 0.2 4
        Solarize 0.6 5, AutoContrast 0.6
        Invert 0.6, Equalize 1.0
        Color 0.6 4, Contrast 1.0 8
        Equalize 0.8, Equalize 0.6
    """,
    "cifar10": """
        Invert 0.1, Contrast 0.2 6
        Rotate 0.7 2, TranslateX 0.3 9
        Sharpness 0.8 1, Sharpness 0.9 3
        ShearY 0.5 8, TranslateY 0.7 9
        AutoContrast 0.5, Equalize 0.9
        ShearY 0.2 7, Posterize 0.3 7
        Color 0.4 3, Brightness 0.6 7
        Sharpness 0.3 9, Brightness 0.7 9
        Equalize 0.6, Equalize 0.5
        Contrast 0.6 7, Sharpness 0.6 5
        Color 0.7 7, TranslateX 0.5 8
        Equalize 0.3, AutoContrast 0.4
        TranslateY 0.4 3, Sharpness 0.2 6
        Brightness 0.9 6, Color 0.2 8
        Solarize 0.5 2, Invert 0.0
        Equalize 0.2, AutoContrast 0.6
        Equalize 0.2, Equalize 0.6
        Color 0.9 9, Equalize 0.6
        AutoContrast 0.8, Solarize 0.2 8
        Brightness 0.1 3, Color 0.7 0
        Solarize 0.4 5, AutoContrast 0.9
        TranslateY 0.9 9, TranslateY 0.7 9
        AutoContrast 0.9, Solarize 0.8 3
        Equalize 0.8, Invert 0.1
        TranslateY 0.7 9, AutoContrast 0.9
    """,
    "svhn": """
        ShearX 0.9 4, Invert 0.2
        ShearY 0.9 8, Invert 0.7
        Equalize 0.6, Solarize 0.6 6
        Invert 0.9, Equalize 0.6
        Equalize 0.6, Rotate 0.9 3
        ShearX 0.9 4, AutoContrast 0.8
        ShearY 0.9 8, Invert 0.4
        ShearY 0.9 5, Solarize 0.2 6
        Invert 0.9, AutoContrast 0.8
        Equalize 0.6, Rotate 0.9 3
        ShearX 0.9 4, Solarize 0.3 3
        ShearY 0.8 8, Invert 0.7
        Equalize 0.9, TranslateY 0.6 6
        Invert 0.9, Equalize 0.6
        Contrast 0.3 3, Rotate 0.8 4
        Invert 0.8, TranslateY 0.0 2
        ShearY 0.7 6, Solarize 0.4 8
        Invert 0.6, Rotate 0.8 4
        ShearY 0.3 7, TranslateX 0.9 3
        ShearX 0.1 6, Invert 0.6
        Solarize 0.7 2, TranslateY 0.6 7
        ShearY 0.8 4, Invert 0.8
        ShearX 0.7 9, TranslateY 0.8 3
        ShearY 0.8 5, AutoContrast 0.7
        ShearX 0.7 2, Invert 0.1
    """,
}
