"""Transforms that look pixels up elsewhere: rotation, affine maps, perspective, elastic; blur."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...nn.modules.module import Module
from . import drawing
from . import functional as F
from .arguments import angles, check_affine, check_blur
from .interpolation import InterpolationMode, from_number

__all__ = ["ElasticTransform", "GaussianBlur", "RandomAffine", "RandomPerspective",
           "RandomRotation"]

_BILINEAR, _NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST


def _checked_fill(fill: Any) -> Any:
    if fill is not None and not isinstance(fill, (Sequence, Number)):
        raise TypeError(f"Fill should be either a sequence or a number, got {type(fill)}.")
    return 0 if fill is None else fill


def fill_for(img: Any, fill: Any) -> Any:
    """A fill for each channel of a tensor; PIL images take it as it is."""
    if fill is None or not isinstance(img, Tensor):
        return fill
    if isinstance(fill, (int, float)):
        return [float(fill)] * F.get_image_num_channels(img)
    return [float(v) for v in fill]


class RandomPerspective(Module):
    """With the chance `p`, a random perspective.

    Args:
        distortion_scale: how far corners move, at most, from 0 to 1 (the middle).
        interpolation: nearest or bilinear for tensors.
        fill: the colour beyond the image.
    """

    def __init__(self, distortion_scale: float = 0.5, p: float = 0.5,
                 interpolation: Any = _BILINEAR, fill: Any = 0) -> None:
        super().__init__()
        self.p = p
        self.interpolation = from_number(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = _checked_fill(fill)

    def forward(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        fill = fill_for(img, self.fill)
        if ops.rand(1) < self.p:
            points = self.get_params(width, height, self.distortion_scale)
            return F.perspective(img, *points, self.interpolation, fill)
        return img

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float
                   ) -> tuple[list[list[int]], list[list[int]]]:
        """The corners [x, y] before and after."""
        return drawing.corners(width, height, distortion_scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomRotation(Module):
    """Turned by a random angle.

    Args:
        degrees: bounds of the angle; one number d means from -d to d.
        interpolation, expand, center, fill: as in `functional.rotate`.

    >>> from yesca.vision import transforms
    >>> transforms.RandomRotation(30, expand=True)
    RandomRotation(degrees=[-30.0, 30.0], interpolation=nearest, expand=True, fill=0)
    """

    def __init__(self, degrees: Any, interpolation: Any = _NEAREST, expand: bool = False,
                 center: Any = None, fill: Any = 0) -> None:
        super().__init__()
        self.interpolation = from_number(interpolation)
        self.degrees = angles(degrees, "degrees")
        check_affine(None, None, center)
        self.center = center
        self.expand = expand
        self.fill = _checked_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """An angle."""
        return drawing.uniform(float(degrees[0]), float(degrees[1]))

    def forward(self, img: Any) -> Any:
        fill = fill_for(img, self.fill)
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        return (f"{type(self).__name__}(degrees={self.degrees}, interpolation="
                f"{self.interpolation.value}, expand={self.expand}{center}, fill={self.fill})")


class RandomAffine(Module):
    """A random affine map about the centre.

    Args:
        degrees: bounds of the angle; one number d means from -d to d.
        translate: greatest shares of the width and the height to move by.
        scale: bounds of the factor.
        shear: bounds of the angle along x (one number or two) or along x and y (four).
        interpolation, fill, center: as in `functional.affine`.
    """

    def __init__(self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None,
                 interpolation: Any = _NEAREST, fill: Any = 0, center: Any = None) -> None:
        super().__init__()
        self.interpolation = from_number(interpolation)
        self.degrees = angles(degrees, "degrees")
        check_affine(translate, scale, center)
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else angles(shear, "shear", (2, 4))
        self.fill = _checked_fill(fill)
        self.center = center

    @staticmethod
    def get_params(degrees: Any, translate: Any, scale_ranges: Any, shears: Any, img_size: Any
                   ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Angle, translation, scale and shears, for an image of `img_size` (width, height)."""
        return drawing.affine(degrees, translate, scale_ranges, shears, *img_size)

    def forward(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear,
                                [width, height])
        return F.affine(img, *drawn, interpolation=self.interpolation,
                        fill=fill_for(img, self.fill), center=self.center)

    def __repr__(self) -> str:
        parts = [f"degrees={self.degrees}"]
        parts += [f"{name}={value}" for name in ("translate", "scale", "shear")
                  if (value := getattr(self, name)) is not None]
        if self.interpolation is not _NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        if self.fill != 0:
            parts.append(f"fill={self.fill}")
        if self.center is not None:
            parts.append(f"center={self.center}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _two_floats(value: Any, name: str) -> Any:
    if not isinstance(value, (float, Sequence)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    if isinstance(value, float):
        return [value, value]
    if len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    for element in value:
        if not isinstance(element, float):
            raise TypeError(f"{name} should be a sequence of floats. Got {type(element)}")
    return value


class ElasticTransform(Module):
    """Pixels moved by a smooth random field.

    Args:
        alpha: how far, one number or (x, y).
        sigma: how smooth.
        interpolation, fill: as in `RandomPerspective`.
    """

    def __init__(self, alpha: Any = 50.0, sigma: Any = 5.0, interpolation: Any = _BILINEAR,
                 fill: Any = 0) -> None:
        super().__init__()
        self.alpha = _two_floats(alpha, "alpha")
        self.sigma = _two_floats(sigma, "sigma")
        self.interpolation = from_number(interpolation)
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError("fill should be int or float or a list or tuple of them. "
                            f"Got {type(fill)}")
        self.fill = [float(v) for v in (fill if isinstance(fill, (list, tuple)) else [fill])]

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """A displacement (1, H, W, 2) for an image of `size` (height, width)."""
        return drawing.displacement(alpha, sigma, *size, F.gaussian_blur)

    def forward(self, tensor: Any) -> Any:
        _, height, width = F.get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(alpha={self.alpha}, sigma={self.sigma}, "
                f"interpolation={self.interpolation}, fill={self.fill})")


class GaussianBlur(Module):
    """Blurred with a random deviation.

    Args:
        kernel_size: odd: one number or (width, height).
        sigma: bounds of the deviation, or one number for always the same.
    """

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = check_blur(kernel_size)
        if isinstance(sigma, Number):
            if sigma <= 0:
                raise ValueError(f"If sigma is a single number, it must be positive, not {sigma}.")
            sigma = (sigma, sigma)
        elif isinstance(sigma, Sequence) and len(sigma) == 2:
            if not 0.0 < sigma[0] <= sigma[1]:
                raise ValueError("sigma values should be positive and of the form (min, max), "
                                 f"but got {sigma}.")
        else:
            raise ValueError("sigma should be a single number or a list/tuple with length 2.")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """A deviation."""
        return drawing.uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"
