"""`torch.types`: names for annotations of programs that take tensors, devices, numbers and files.

>>> import yesca as torch
>>> def scaled(x: torch.Tensor, by: torch.types.Number) -> torch.Tensor:
...     return x * by
>>> scaled(torch.ones(2), 3)
tensor([3., 3.])
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from ._tensor import Tensor
from .core.devices import Device as _device
from .core.spec import Size

__all__ = ["Number", "Device", "FileLike"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_int, _float, _bool, _complex, _str, _bytes = int, float, bool, complex, str, bytes
_size: TypeAlias = Size | list[int] | tuple[int, ...]

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
#: What stands for a device: one, its name, its number, or None for the default.
Device: TypeAlias = _device | str | int | None
#: A file: its name, or an object to read from or write to.
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
PySymType: TypeAlias = int | float | bool
py_sym_types: tuple[Any, ...] = ()

