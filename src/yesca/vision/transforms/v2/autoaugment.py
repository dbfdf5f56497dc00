"""Automatic augmentation of the one image or video of a sample."""

from __future__ import annotations

from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....utils._pytree import tree_flatten, tree_unflatten
from ... import tv_tensors
from .. import autoaugment as first
from ..kernels.conversion import largest
from ..kernels.measures import get_size, is_pure_tensor
from ..kernels.pillow import is_pil
from ..policies import AUTO, MIX, MIX_PARTIAL, RAND, WIDE, AutoAugmentPolicy, Space, apply, policies
from . import functional as F
from .base import Transform
from .samples import check_type, fill_of, fills

__all__ = ["AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide"]

_UNSUPPORTED = (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
_PICTURES = (tv_tensors.Image, is_pil, is_pure_tensor, tv_tensors.Video)


class _Augmenting(Transform):
    def __init__(self, *, interpolation: Any = "nearest", fill: Any = None) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def _augmented(self, image: Any) -> Any:
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        found = []
        for place, need in enumerate(self._needs_transform_list(flat)):
            if need and check_type(flat[place], _PICTURES):
                found.append(place)
            elif isinstance(flat[place], _UNSUPPORTED):
                raise TypeError(f"Inputs of type {type(flat[place]).__name__} are not supported "
                                f"by {type(self).__name__}()")
        if not found:
            raise TypeError("Found no image in the sample.")
        if len(found) > 1:
            raise TypeError("Auto augment transformations are only properly defined for a single "
                            f"image or video, but found {len(found)}.")
        flat[found[0]] = self._augmented(flat[found[0]])
        return tree_unflatten(flat, spec)

    @staticmethod
    def _drawn(space: Space) -> str:
        names = space.names.split()
        return names[int(ops.randint(len(names), ()))]

    def _applied(self, space: Space, image: Any, name: str, strength: float) -> Any:
        """An operation, its strength turned to the negative half of the time if it has a sign."""
        if space.signed(name) and ops.rand(()) <= 0.5:
            strength *= -1
        if name == "Solarize":
            strength *= largest(image.dtype) if isinstance(image, Tensor) else 255.0
        return apply(F, image, name, strength, self.interpolation,
                     fill_of(self._fill, type(image)))


def _levels(space: Space, name: str, bins: int, image: Any) -> Any:
    return space.strengths(name, bins, *get_size(image), 1.0)


class AutoAugment(_Augmenting):
    """Two operations, drawn from the pairs that were found best for a data set."""

    _v1_transform_cls = first.AutoAugment

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
                 interpolation: Any = "nearest", fill: Any = None) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.policy = policy
        self._policies = policies(policy)

    def _augmented(self, image: Any) -> Any:
        height, width = get_size(image)
        for name, chance, level in self._policies[int(ops.randint(len(self._policies), ()))]:
            if not ops.rand(()) <= chance:
                continue
            levels = AUTO.strengths(name, 10, height, width, 1.0)
            image = self._applied(AUTO, image, name, 0.0 if levels is None else
                                  float(levels[level]))
        return image


class RandAugment(_Augmenting):
    """`num_ops` random operations of the same strength, the `magnitude`-th of
    `num_magnitude_bins`."""

    _v1_transform_cls = first.RandAugment

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: Any = "nearest", fill: Any = None) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not isinstance(num_ops, int) or num_ops < 0:
            raise ValueError(f"num_ops should be a non-negative integer, but got {num_ops} "
                             "instead.")
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def _augmented(self, image: Any) -> Any:
        height, width = get_size(image)
        for _ in range(self.num_ops):
            name = self._drawn(RAND)
            levels = RAND.strengths(name, self.num_magnitude_bins, height, width, 1.0)
            image = self._applied(RAND, image, name, 0.0 if levels is None else
                                  float(levels[self.magnitude]))
        return image


class TrivialAugmentWide(_Augmenting):
    """One random operation of a random strength, out of `num_magnitude_bins`."""

    _v1_transform_cls = first.TrivialAugmentWide

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Any = "nearest",
                 fill: Any = None) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augmented(self, image: Any) -> Any:
        name = self._drawn(WIDE)
        levels = _levels(WIDE, name, self.num_magnitude_bins, image)
        strength = 0.0
        if levels is not None:
            strength = float(levels[int(ops.randint(self.num_magnitude_bins, ()))])
        return self._applied(WIDE, image, name, strength)


class AugMix(_Augmenting):
    """A random mixture of an image and of chains of operations on it; arguments as in the first
    version."""

    _v1_transform_cls = first.AugMix

    def __init__(self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1,
                 alpha: float = 1.0, all_ops: bool = True, interpolation: Any = "bilinear",
                 fill: Any = None) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        first.set_mixing(self, severity, mixture_width, chain_depth, alpha, all_ops)

    def _step(self, image: Any) -> Any:
        space = MIX if self.all_ops else MIX_PARTIAL
        name = self._drawn(space)
        levels = _levels(space, name, self._PARAMETER_MAX, image)
        strength = 0.0 if levels is None else float(levels[int(ops.randint(self.severity, ()))])
        return self._applied(space, image, name, strength)

    def _augmented(self, image: Any) -> Any:
        pixels = F.pil_to_tensor(image) if is_pil(image) else image
        dimensions = 5 if isinstance(image, tv_tensors.Video) else 4
        mixed = first.mixture(pixels, self, self._step, dimensions)
        if is_pil(image):
            return F.to_pil_image(mixed)
        return mixed if is_pure_tensor(image) else tv_tensors.wrap(mixed, like=image)
