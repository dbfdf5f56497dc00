"""`torchvision.transforms.transforms`: the classes, as that module has them."""

from __future__ import annotations

from typing import Any

from . import __all__ as _classes
from .interpolation import InterpolationMode as InterpolationMode

__all__ = [name for name in _classes if "Aug" not in name]


def __getattr__(name: str) -> Any:
    from .. import transforms
    from . import containers, functional

    if name in ("functional", "F"):
        return functional
    return containers.RandomTransforms if name == "RandomTransforms" else getattr(transforms, name)
