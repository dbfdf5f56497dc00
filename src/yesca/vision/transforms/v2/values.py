"""Transforms of kinds of inputs and of values: types, normalisation, noise, blur."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....core.dtypes import DType, float32
from ... import tv_tensors
from .. import functional as first_functional
from .. import values as first
from ..arguments import check_blur, check_linear, check_sequence
from ..drawing import uniform
from ..kernels.measures import is_pure_tensor
from ..kernels.pillow import is_pil
from ..warping import GaussianBlur as FirstBlur
from . import functional as F
from .base import Transform
from .samples import has_any, two_numbers

__all__ = ["JPEG", "ConvertImageDtype", "GaussianBlur", "GaussianNoise", "Identity", "Lambda",
           "LinearTransformation", "Normalize", "PILToTensor", "ToDtype", "ToImage", "ToPILImage",
           "ToPureTensor", "ToTensor", "UniformTemporalSubsample"]


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


class Identity(Transform):
    """Nothing changed."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """A function, for inputs of the given types (by default of all).

    >>> from yesca.vision.transforms import v2
    >>> v2.Lambda(lambda x: x + 1, int)({"a": 1, "b": "x"})
    {'a': 2, 'b': 'x'}
    """

    _transformed_types = (object,)

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or self._transformed_types

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.lambd(inpt) if isinstance(inpt, self.types) else inpt

    def extra_repr(self) -> str:
        name = getattr(self.lambd, "__name__", None)
        types = f"types={[kind.__name__ for kind in self.types]}"
        return f"{name}, {types}" if name else types


class _NoPictures(Transform):
    def check_inputs(self, sample: list[Any]) -> None:
        if has_any(sample, is_pil):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")


class LinearTransformation(_NoPictures):
    """Whole images, flattened, less a mean (D,), times a square matrix (D, D)."""

    _v1_transform_cls = first.LinearTransformation
    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video)

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        check_linear(transformation_matrix, mean_vector)
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        made = first.linear(inpt, self.transformation_matrix, self.mean_vector)
        return made if is_pure_tensor(inpt) else tv_tensors.wrap(made, like=inpt)


class Normalize(_NoPictures):
    """`(x - mean) / std` for images and videos, with values for each channel."""

    _v1_transform_cls = first.Normalize

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = list(mean)
        self.std = list(std)
        self.inplace = inplace

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.normalize, inpt, mean=self.mean, std=self.std,
                                 inplace=self.inplace)


class GaussianBlur(Transform):
    """Blurred with a random deviation within `sigma`."""

    _v1_transform_cls = FirstBlur

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = check_blur(kernel_size)
        self.sigma = two_numbers(sigma, "sigma")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError("sigma values should be positive and of the form (min, max). "
                             f"Got {self.sigma}")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"sigma": [uniform(self.sigma[0], self.sigma[1])] * 2}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.gaussian_blur, inpt, self.kernel_size, **params)


class GaussianNoise(Transform):
    """Plus normal noise of that mean and deviation, in units of white; within black and white
    if `clip`. Not for PIL images."""

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.gaussian_noise, inpt, mean=self.mean, sigma=self.sigma,
                                 clip=self.clip)


class ToDtype(Transform):
    """Values of another type.

    Args:
        dtype: of images and videos; or a dictionary from kinds (or "others") to types, None for
            those to be left as they are.
        scale: whether black and white of images and videos are kept.

    >>> from yesca.vision.transforms import v2
    >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[255]]], dtype=torch.uint8))
    tensor([[[1.]]])
    """

    _transformed_types = (Tensor,)

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, DType)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        if isinstance(dtype, dict) and Tensor in dtype and any(
                kind in dtype for kind in (tv_tensors.Image, tv_tensors.Video)):
            warnings.warn("Got `dtype` values for `torch.Tensor` and either `tv_tensors.Image` or "
                          "`tv_tensors.Video`. Note that a plain `torch.Tensor` will *not* be "
                          "transformed by this (or any other transformation) in case a "
                          "`tv_tensors.Image` or `tv_tensors.Video` is present in the input.")
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        scales = is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
        if not isinstance(self.dtype, dict):
            if not scales:
                return inpt
            dtype = self.dtype
        elif type(inpt) in self.dtype or "others" in self.dtype:
            dtype = self.dtype.get(type(inpt), self.dtype.get("others"))
        else:
            raise ValueError(
                f"No dtype was specified for type {type(inpt)}. If you only need to convert the "
                "dtype of images or videos, you can just pass e.g. dtype=torch.float32. If you're "
                "passing a dict as dtype, you can use \"others\" as a catch-all key e.g. "
                "dtype={tv_tensors.Mask: torch.int64, \"others\": None} to pass-through the rest "
                "of the inputs.")
        if dtype is not None:
            return self._call_kernel(F.to_dtype, inpt, dtype=dtype, scale=self.scale)
        if self.scale and scales:
            warnings.warn("scale was set to True but no dtype was specified for images or videos: "
                          "no scaling will be done.")
        return inpt


class ConvertImageDtype(Transform):
    """Deprecated: `ToDtype(dtype, scale=True)`."""

    _v1_transform_cls = first.ConvertImageDtype

    def __init__(self, dtype: DType = float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.to_dtype, inpt, dtype=self.dtype, scale=True)


class PILToTensor(Transform):
    """PIL images as tensors (C, H, W) of their own type."""

    _transformed_types = (is_pil,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return F.pil_to_tensor(inpt)


class ToImage(Transform):
    """Tensors, PIL images and arrays (H, W[, C]) as `tv_tensors.Image`, values kept."""

    _transformed_types = (is_pure_tensor, is_pil, _is_array)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Tensors and arrays as PIL images of a mode, guessed if it is None."""

    _transformed_types = (is_pure_tensor, tv_tensors.Image, _is_array)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """Tensors that say what they are as plain ones."""

    _transformed_types = (tv_tensors.TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return inpt.as_subclass(Tensor)


class ToTensor(Transform):
    """Deprecated: `ToImage()`, then `ToDtype(torch.float32, scale=True)`."""

    _transformed_types = (is_pil, _is_array)

    def __init__(self) -> None:
        warnings.warn("The transform `ToTensor()` is deprecated and will be removed in a future "
                      "release. Instead, please use `v2.Compose([v2.ToImage(), "
                      "v2.ToDtype(torch.float32, scale=True)])`. Output is equivalent up to "
                      "float precision.")
        super().__init__()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return first_functional.to_tensor(inpt)


class UniformTemporalSubsample(Transform):
    """`num_samples` frames of videos [..., T, C, H, W], at equal distances."""

    _transformed_types = (Tensor,)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.uniform_temporal_subsample, inpt, self.num_samples)


class JPEG(Transform):
    """What is left after images were JPEG files of a random quality (bounds from 1 to 100)."""

    def __init__(self, quality: Any) -> None:
        super().__init__()
        if isinstance(quality, bool):
            raise TypeError("quality can't be bool")
        if isinstance(quality, int):
            quality = [quality, quality]
        check_sequence(quality, "quality", (2,))
        if not all(isinstance(q, int) for q in quality) or not (
                1 <= quality[0] <= quality[1] <= 100):
            raise ValueError(f"quality must be an integer from 1 to 100, got {quality=}")
        self.quality = quality

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"quality": ops.randint(self.quality[0], self.quality[1] + 1, ()).item()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.jpeg, inpt, quality=params["quality"])
