"""Images, videos and masks."""

from __future__ import annotations

from typing import Any

from ...core.dtypes import DType
from .base import TVTensor

__all__ = ["Image", "Mask", "Video"]


def _read(data: Any) -> Any:
    """The pixels of a PIL image; anything else as it is."""
    from ..transforms.kernels.conversion import pil_to_tensor
    from ..transforms.kernels.pillow import is_pil

    return pil_to_tensor(data) if is_pil(data) else data


class Image(TVTensor):
    """Images [..., C, H, W]; two dimensions are taken for one channel.

    Args:
        data: what `torch.as_tensor` takes, or a PIL image.
        dtype, device, requires_grad: as there; by default those of the data.

    >>> from yesca.vision import tv_tensors
    >>> tv_tensors.Image(torch.zeros(4, 6)).shape
    torch.Size([1, 4, 6])
    """

    def __new__(cls, data: Any, *, dtype: DType | None = None, device: Any = None,
                requires_grad: bool | None = None) -> Image:
        tensor = cls._to_tensor(_read(data), dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr()


class Video(TVTensor):
    """Videos [..., T, C, H, W]. Raises ValueError for fewer than four dimensions."""

    def __new__(cls, data: Any, *, dtype: DType | None = None, device: Any = None,
                requires_grad: bool | None = None) -> Video:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Tensor must be 4D or higher, got {tensor.ndim}D tensor.")
        return tensor.as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr()


class Mask(TVTensor):
    """Segmentation and detection masks [..., H, W]: changed in shape like images, never in
    colour, and without values in between."""

    def __new__(cls, data: Any, *, dtype: DType | None = None, device: Any = None,
                requires_grad: bool | None = None) -> Mask:
        return cls._to_tensor(_read(data), dtype, device, requires_grad).as_subclass(cls)
