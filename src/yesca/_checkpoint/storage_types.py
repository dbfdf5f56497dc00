"""How a pickle names the dtype of a storage: `torch FloatStorage` and its like."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import _storage_access as access


class StorageType:
    """Stands for a typed storage class of PyTorch, by name; `dtype` is what it holds."""

    __slots__ = ("name", "dtype")

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


@cache
def of_dtype(dtype: Any) -> StorageType | None:
    """The type that a checkpoint names for a storage of `dtype`."""
    name = access.storage_name(dtype)
    return None if name is None else StorageType(name, dtype)


@cache
def of_name(name: str) -> StorageType | None:
    """The type called `name`; None if there is none."""
    dtype = access.dtype_of_storage_name(name)
    return None if dtype is None else StorageType(name, dtype)
