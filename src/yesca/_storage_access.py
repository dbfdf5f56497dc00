"""The little that pickling and loading need to know about storages and tensors.

Everything that reads or makes a storage for `_rebuild.py`, `_checkpoint/` and the data loader
goes through this module.
"""

from __future__ import annotations

import copyreg
from typing import Any

from .core.devices import Device
from .core.dtypes import BY_NAME, NAMED, DType  # noqa: F401 - NAMED is read from here
from .core.layouts import Layout  # noqa: F401
from .core.spec import Size
from .core.storage import UntypedStorage
from .dispatch.overloads import NamedResult  # noqa: F401
from .runtime import memory as _memory  # noqa: F401 - it gives storages their bytes

#: Names of PyTorch's typed storages: what a checkpoint calls the dtype of a storage.
STORAGE_NAMES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage", "int64": "LongStorage", "int32": "IntStorage",
    "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage",
    "bool": "BoolStorage", "complex128": "ComplexDoubleStorage",
    "complex64": "ComplexFloatStorage",
    "qint8": "QInt8Storage", "quint8": "QUInt8Storage", "qint32": "QInt32Storage",
}


class TypedBytes:
    """A storage and the dtype it is read as: what a tensor's pickle refers to."""

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(self, untyped: UntypedStorage, dtype: DType) -> None:
        self._untyped_storage = untyped
        self.dtype = dtype

    @property
    def device(self) -> Device:
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The bytes without their dtype."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __reduce__(self) -> tuple[Any, ...]:
        return TypedBytes, (self._untyped_storage, self.dtype)


def dtype_name(dtype: DType) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).rpartition(".")[2]


def storage_name(dtype: DType) -> str | None:
    """`FloatStorage` for float32; None for dtypes younger than typed storages."""
    return STORAGE_NAMES.get(dtype_name(dtype))


def dtype_of_storage_name(name: str) -> DType | None:
    """float32 for `FloatStorage`; None if PyTorch has no storage of that name."""
    for dtype, storage in STORAGE_NAMES.items():
        if storage == name:
            return _dtype(dtype)
    return None


def as_typed_bytes(obj: object) -> TypedBytes | None:
    """A storage object of any kind with its dtype (bytes without one: uint8), else None."""
    if type(obj) is TypedBytes:
        return obj
    if isinstance(obj, UntypedStorage):
        return TypedBytes(obj, BY_NAME["uint8"])
    inner = getattr(obj, "_untyped_storage", None)  # a public typed storage
    if not isinstance(inner, UntypedStorage):
        return None
    return TypedBytes(inner, obj.dtype)  # type: ignore[attr-defined]


def typed_storage(untyped: UntypedStorage, dtype: DType) -> Any:
    """A public typed storage, for who finds one in a file."""
    from .typed_storages import TypedStorage

    return TypedStorage(wrap_storage=untyped, dtype=dtype)


def new_storage(nbytes: int, device: str = "cpu") -> UntypedStorage:
    """Bytes of any content."""
    return UntypedStorage(nbytes, device=device)


def storage_over(buffer: object) -> UntypedStorage:
    """A storage that shares the memory of a writable buffer and keeps it alive."""
    return UntypedStorage._from_buffer(buffer)


def memory(storage: UntypedStorage) -> memoryview:
    """The storage's bytes, writable."""
    return storage._memory()


def copy_of(data: object) -> UntypedStorage:
    """A storage with a copy of the bytes."""
    source = memoryview(data)  # type: ignore[arg-type]
    made = new_storage(source.nbytes)
    if source.nbytes:
        memory(made)[:] = source.cast("B")
    return made


def tensor_over(storage: UntypedStorage, dtype: DType, offset: int, size: tuple[int, ...],
                stride: tuple[int, ...], requires_grad: bool) -> Any:
    """The tensor that views a storage so; its extent must lie within the storage."""
    from . import functional as ops

    return ops._tensor_from_storage(storage, dtype, offset, Size(size), tuple(stride),
                                    requires_grad=requires_grad)


def lazy_flags(tensor: Any) -> dict[str, bool]:
    """`{"conj": True}` for a view that stands for the conjugate of its storage, so with "neg"."""
    asked = {name: getattr(tensor, f"is_{name}", None) for name in ("conj", "neg")}
    return {name: True for name, method in asked.items() if method is not None and method()}


def gradient_hooks(tensor: Any) -> list[Any]:
    """The hooks that `register_hook` has put on a leaf."""
    extra = tensor._extra
    return [] if extra is None or not extra.hooks else list(extra.hooks.values())


def _storage_from_bytes(data: bytes) -> UntypedStorage:
    return copy_of(data)


def _meta_storage(nbytes: int) -> UntypedStorage:
    return new_storage(nbytes, "meta")


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """What an ordinary pickle holds of a storage: a copy of its bytes."""
    if storage.device.type == "meta":
        return _meta_storage, (storage.nbytes(),)
    return _storage_from_bytes, (bytes(memory(storage)),)


def _dtype(name: str) -> DType:
    return BY_NAME.get(name) or NAMED[name]


def _device(*parts: Any) -> Device:
    return Device(*parts)


def _size(sizes: tuple[int, ...]) -> Size:
    return Size(sizes)


def _register_plain_pickling() -> None:
    # These classes carry PyTorch's module names, which an ordinary pickle would try to import;
    # it writes these functions in their place. Checkpoints have their own rules (`_checkpoint`).
    copyreg.pickle(UntypedStorage, reduce_storage)  # type: ignore[arg-type]
    copyreg.pickle(DType, lambda dtype: (_dtype, (dtype_name(dtype),)))
    copyreg.pickle(Size, lambda size: (_size, (tuple(size),)))
    copyreg.pickle(Device, lambda device: (
        _device, (device.type,) if device.index is None else (device.type, device.index)
    ))


_register_plain_pickling()
