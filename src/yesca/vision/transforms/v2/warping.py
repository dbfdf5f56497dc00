"""Transforms that look pixels up elsewhere, and move boxes and points along."""

from __future__ import annotations

from typing import Any

from .. import drawing
from .. import warping as first
from ..arguments import angles, check_affine
from ..kernels.arithmetic import perspective_coefficients
from . import functional as F
from .base import RandomApplyTransform, Transform
from .samples import fill_of, fills, query_size, two_numbers

__all__ = ["ElasticTransform", "RandomAffine", "RandomPerspective", "RandomRotation"]


class RandomRotation(Transform):
    """Turned by a random angle (bounds; one number d means from -d to d)."""

    _v1_transform_cls = first.RandomRotation

    def __init__(self, degrees: Any, interpolation: Any = "nearest", expand: bool = False,
                 center: Any = None, fill: Any = 0) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        self.interpolation = interpolation
        self.expand = expand
        self.fill = fill
        self._fill = fills(fill)
        check_affine(None, None, center)
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"angle": drawing.uniform(*self.degrees)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.rotate, inpt, **params, interpolation=self.interpolation, expand=self.expand,
            center=self.center, fill=fill_of(self._fill, type(inpt)))


class RandomAffine(Transform):
    """A random affine map about the centre; arguments as in the first version."""

    _v1_transform_cls = first.RandomAffine

    def __init__(self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None,
                 interpolation: Any = "nearest", fill: Any = 0, center: Any = None) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        check_affine(translate, scale, center)
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else angles(shear, "shear", (2, 4))
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        drawn = drawing.affine(self.degrees, self.translate, self.scale, self.shear, width, height)
        return dict(zip(("angle", "translate", "scale", "shear"), drawn))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.affine, inpt, **params, interpolation=self.interpolation,
            fill=fill_of(self._fill, type(inpt)), center=self.center)


class RandomPerspective(RandomApplyTransform):
    """With the chance `p`, a random perspective."""

    _v1_transform_cls = first.RandomPerspective

    def __init__(self, distortion_scale: float = 0.5, p: float = 0.5,
                 interpolation: Any = "bilinear", fill: Any = 0) -> None:
        super().__init__(p=p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError("Argument distortion_scale value should be between 0 and 1, "
                             f"but got {distortion_scale}")
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        points = drawing.corners(width, height, self.distortion_scale)
        return {"coefficients": perspective_coefficients(*points)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.perspective, inpt, startpoints=None, endpoints=None,
            fill=fill_of(self._fill, type(inpt)), interpolation=self.interpolation, **params)


class ElasticTransform(Transform):
    """Pixels moved by a smooth random field: `alpha` says how far, `sigma` how smooth."""

    _v1_transform_cls = first.ElasticTransform

    def __init__(self, alpha: Any = 50.0, sigma: Any = 5.0, interpolation: Any = "bilinear",
                 fill: Any = 0) -> None:
        super().__init__()
        self.alpha = two_numbers(alpha, "alpha")
        self.sigma = two_numbers(sigma, "sigma")
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        return {"displacement": drawing.displacement(
            self.alpha, self.sigma, height, width, F.gaussian_blur)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.elastic, inpt, **params, fill=fill_of(self._fill, type(inpt)),
                                 interpolation=self.interpolation)
