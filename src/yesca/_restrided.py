"""Tensors that look at their storage in another way from now on, or at another one.

`resize_`, `resize_as_` and `set_` are no views and have no derivative: they change the tensor
itself, and count as writes.
"""

from __future__ import annotations

import math
from typing import Any

from .core.layouts import preserve_format
from .core.memory_formats import strides_for, suggested
from .core.spec import Spec, spec
from .core.tensor_base import TensorBase
from .dispatch import creation, inplace
from .dispatch.state import STATE


def resize_(self: Any, *sizes: Any, memory_format: Any = None) -> Any:
    """Change the shape in place; memory grows when it must, and keeps what it held.

    >>> import yesca as torch
    >>> torch.tensor([1, 2, 3, 4]).resize_(2, 2)
    tensor([[1, 2],
            [3, 4]])
    """
    if not sizes:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    shape = creation.whole_list("resize_", "size", 1, given)
    if any(n < 0 for n in shape):
        raise _overflow(shape)
    inplace.check_captured(self, "resize_")
    if self._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if memory_format is None and tuple(shape) == tuple(self._spec.shape):
        return self  # its strides, whatever they are, stay
    made = spec(self._spec.dtype, tuple(shape), None, self._spec.device)
    if memory_format is not None:
        made = spec(made.dtype, made.shape, strides_for(made, memory_format), made.device)
    _look(self, self._storage, made, self._offset)
    return self


def _overflow(sizes: Any) -> RuntimeError:
    return RuntimeError(f"numel: integer multiplication overflow: sizes {list(sizes)} are negative")


def _look(tensor: Any, storage: Any, made: Spec, offset: int) -> None:
    """The tensor sees a storage, which grows if it is too small, in this way."""
    need = offset * made.dtype.itemsize + made.nbytes
    if made.numel and need > storage._nbytes:
        if not storage.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        storage._grow(need)
    tensor._storage, tensor._spec, tensor._offset = storage, made, offset
    inplace.bump(tensor)


def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Resize a tensor, in place, to the shape of another.

    >>> import yesca as torch
    >>> torch.empty(0).resize_as_(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    shape = tuple(the_template._spec.shape)
    if memory_format is preserve_format:
        memory_format = suggested(the_template._spec)
    return resize_(self, shape, memory_format=memory_format)


def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None,
         stride: Any = None) -> Any:
    """Look at another storage (or tensor's) from now on.

    >>> import yesca as torch
    >>> torch.empty(0).set_(torch.arange(6.0), 1, (2, 2), (3, 1))
    tensor([[1., 2.],
            [4., 5.]])
    """
    inplace.check_captured(self, "set_.source_Tensor" if isinstance(source, TensorBase) else "set_")
    inplace.check_tape(self, STATE.tape, False)
    own = self._spec.dtype
    if isinstance(source, TensorBase) and source._spec.dtype is not own:
        raise RuntimeError(f"Could not set tensor of type {_c_name(source)} to a tensor of type "
                           f"{_c_name(self)}")
    if isinstance(source, TensorBase) and size is None:
        _look(self, source._storage, source._spec, source._offset)
        return self
    if source is None:
        storage = creation.make(spec(own, (0,), None, self._spec.device))._storage
    else:
        storage = source._storage if isinstance(source, TensorBase) else \
            getattr(source, "_untyped_storage", source)
    shape = (storage._nbytes // own.itemsize,) if size is None else tuple(size)
    _check(shape, stride, storage_offset)
    made = spec(own, shape, None if stride is None else tuple(stride), self._spec.device)
    _look(self, storage, made, storage_offset)
    return self


def _check(shape: tuple[int, ...], stride: Any, offset: int) -> None:
    if any(n < 0 for n in shape):
        raise _overflow(shape)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if stride is None:
        return
    if len(stride) != len(shape):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(stride)})")
    if any(s < 0 for s in stride) and math.prod(shape):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and "
                           f"strides={list(stride)}")


def _c_name(tensor: Any) -> str:
    """How PyTorch's messages call the dtype."""
    name = tensor._spec.dtype.name
    return {"int64": "long int", "float32": "float", "float64": "double", "int32": "int",
            "int16": "short int"}.get(name, name)


def install(cls: Any) -> None:
    """Put the methods on the tensor's class."""
    for method in (resize_, resize_as_, set_):
        setattr(cls, method.__name__, method)


__all__ = ["install", "resize_", "resize_as_", "set_"]
