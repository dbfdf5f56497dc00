"""Transforms of kinds of images and of values: tensors, types, normalisation."""

from __future__ import annotations

from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import DType
from ...nn.modules.module import Module
from . import functional as F
from .arguments import check_linear

__all__ = ["ConvertImageDtype", "LinearTransformation", "Normalize", "PILToTensor", "ToPILImage",
           "ToTensor"]


class ToTensor:
    """A PIL image or array (H, W[, C]) as a tensor (C, H, W); bytes become numbers from 0 to 1.

    >>> import numpy as np
    >>> from yesca.vision import transforms
    >>> transforms.ToTensor()(np.zeros((4, 6), np.uint8)).shape
    torch.Size([1, 4, 6])
    """

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor (C, H, W) of its own type."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor (C, H, W) or array (H, W, C) as a PIL image of a mode, guessed if it is None."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(Module):
    """Pixels of another type, black and white kept (see `functional.convert_image_dtype`)."""

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Module):
    """`(x - mean) / std` for tensors [..., C, H, W], with values for each channel.

    Args:
        mean, std: one number for each channel.
        inplace: change the tensor itself.

    >>> from yesca.vision import transforms
    >>> transforms.Normalize([0.5], [0.5])(torch.zeros(1, 1, 2))
    tensor([[[-1., -1.]]])
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


def linear(image: Tensor, matrix: Tensor, mean: Tensor) -> Tensor:
    """(flat image - mean) @ matrix, in the shape of the image."""
    *_, channels, height, width = shape = image.shape
    count = channels * height * width
    if count != matrix.shape[0]:
        raise ValueError("Input tensor and transformation matrix have incompatible shape."
                         f"[{channels} x {height} x {width}] != {matrix.shape[0]}")
    if image.device.type != mean.device.type:
        raise ValueError("Input tensor should be on the same device as transformation matrix and "
                         f"mean vector. Got {image.device} vs {mean.device}")
    flat = image.reshape(-1, count) - mean
    return ops.mm(flat, matrix.to(flat.dtype)).reshape(shape)


class LinearTransformation(Module):
    """Whole images, flattened, less a mean, times a square matrix: whitening, for instance.

    Args:
        transformation_matrix: (D, D), D = C * H * W.
        mean_vector: (D,).
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        check_linear(transformation_matrix, mean_vector)
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        return linear(tensor, self.transformation_matrix, self.mean_vector)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(transformation_matrix="
                f"{self.transformation_matrix.tolist()}, mean_vector={self.mean_vector.tolist()})")
