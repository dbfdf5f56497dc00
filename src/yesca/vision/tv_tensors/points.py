"""Key points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._tensor import Tensor
from ...core.dtypes import DType
from .base import TVTensor, first_of

__all__ = ["KeyPoints"]


class KeyPoints(TVTensor):
    """Points (x, y) in an image, [..., 2]; a single one may be [2].

    Args:
        data: what `torch.as_tensor` takes.
        canvas_size: (height, width) of the image that they are in.

    >>> from yesca.vision import tv_tensors
    >>> tv_tensors.KeyPoints([[1, 2], [5, 6]], canvas_size=(8, 8)).canvas_size
    (8, 8)
    """

    canvas_size: tuple[int, int]

    def __new__(cls, data: Any, *, canvas_size: tuple[int, int], dtype: DType | None = None,
                device: Any = None, requires_grad: bool | None = None) -> KeyPoints:
        return cls._wrap(cls._to_tensor(data, dtype, device, requires_grad), canvas_size)

    @classmethod
    def _wrap(cls, tensor: Tensor, canvas_size: tuple[int, int],
              check_dims: bool = True) -> KeyPoints:
        if check_dims:
            if tensor.ndim == 1:
                tensor = tensor.unsqueeze(0)
            elif tensor.shape[-1] != 2:
                raise ValueError(f"Expected a tensor of shape (..., 2), not {tensor.shape}")
        points = tensor.as_subclass(cls)
        points.canvas_size = canvas_size
        return points

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **kwargs: Any) -> KeyPoints:
        return cls._wrap(tensor, kwargs.get("canvas_size", like.canvas_size))

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (),
                     kwargs: Mapping[str, Any] | None = None) -> Any:
        like = first_of(KeyPoints, args, kwargs)
        return cls._each(output, lambda part: KeyPoints._wrap(
            part, like.canvas_size, check_dims=False))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr(canvas_size=self.canvas_size)
