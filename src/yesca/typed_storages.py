"""Storages that know a dtype: what `Tensor.storage()` gives, and `torch.FloatStorage` and so on.

    torch.FloatStorage([1, 2])                    # a TypedStorage of float32
    isinstance(x.storage(), torch.FloatStorage)   # its dtype is float32
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._storage_access import STORAGE_NAMES
from .base.naming import lives_in, public_module
from .core.dtypes import BY_NAME, DType, get_default_dtype
from .core.spec import spec
from .core.storage import UntypedStorage
from .core.tensor_base import TensorBase
from .dispatch import creation
from .dispatch.from_data import from_data


@lives_in("torch.storage")
class TypedStorage:
    """A storage seen as elements of one dtype; one object per storage and dtype of a tensor.

    From a number of elements (uninitialised), a sequence, or (`wrap_storage`) an untyped storage.
    """

    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None,
                 dtype: DType | None = None, device: Any = None, _internal: bool = False) -> None:
        self.dtype = dtype or get_default_dtype()
        if wrap_storage is not None:
            if args:
                raise RuntimeError("TypedStorage takes either 'wrap_storage' or a size or data")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError("Argument 'wrap_storage' must be UntypedStorage, but got "
                                f"{type(wrap_storage)}")
            self._untyped_storage = wrap_storage
            return
        if len(args) > 1:
            raise RuntimeError("TypedStorage takes a size or data. Too many positional arguments")
        self._untyped_storage = _bytes_for(args[0] if args else 0, self.dtype, device)

    @property
    def filename(self) -> str | None:
        """The file that this storage shares its bytes with."""
        return self._untyped_storage.filename

    def untyped(self) -> UntypedStorage:
        """The bytes without their dtype."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    @property
    def device(self) -> Any:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return False

    is_sparse = is_hpu = False

    def get_device(self) -> int:
        return -1

    def size(self) -> int:
        """Number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def _elements(self) -> Any:
        """A tensor over the whole storage."""
        return creation.tensor_from_storage(self._untyped_storage, self.dtype, 0, (len(self),),
                                            (1,))

    def tolist(self) -> list[Any]:
        return self._elements().tolist()  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise TypeError(f"can't index a {type(self)} with {type(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        elements = self._elements()
        if isinstance(value, (list, tuple)):
            value = from_data(value, self.dtype, None, copy=True)
        elements[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> TypedStorage:
        """Every element set to `value`."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of another storage, which must be as many."""
        self._untyped_storage.copy_(
            source if isinstance(source, UntypedStorage) else source.untyped())
        return self

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def resize_(self, size: int) -> None:
        """Grow or shrink to `size` elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def cpu(self) -> TypedStorage:
        return self

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the bytes to shared memory."""
        self._untyped_storage.share_memory_()
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of this type of storage; or a copy as another (`"torch.LongStorage"`)."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        name = dtype.rpartition(".")[2] if isinstance(dtype, str) else dtype.__name__
        return self._as(BY_STORAGE[name].dtype)

    def _as(self, dtype: DType) -> TypedStorage:
        made = self._elements().to(dtype)
        return TypedStorage(wrap_storage=made.untyped_storage(), dtype=dtype)

    def pickle_storage_type(self) -> str:
        """What a checkpoint calls this type of storage."""
        name = str(self.dtype).rpartition(".")[2]
        if name not in STORAGE_NAMES:
            raise KeyError(f"there is no storage type for {self.dtype}")
        return STORAGE_NAMES[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype is other.dtype \
            and self._untyped_storage is other._untyped_storage

    def __hash__(self) -> int:
        return hash((id(self._untyped_storage), self.dtype))

    def __repr__(self) -> str:
        lines = "\n ".join(str(v) for v in self.tolist())
        return (f" {lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, "
                f"device={self.device}) of size {len(self)}]")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._untyped_storage, self.dtype)


def _rebuilt(storage: UntypedStorage, dtype: DType) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=dtype)


def _conversion(dtype: DType) -> Any:
    def method(self: TypedStorage) -> TypedStorage:
        return self._as(dtype)

    method.__doc__ = f"The elements as {dtype}, in memory of their own."
    return method


for _name, _dtype in (("double", "float64"), ("float", "float32"), ("half", "float16"),
                      ("bfloat16", "bfloat16"), ("long", "int64"), ("int", "int32"),
                      ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
                      ("complex_double", "complex128"), ("complex_float", "complex64")):
    setattr(TypedStorage, _name, _conversion(BY_NAME[_dtype]))


def _bytes_for(data: Any, dtype: DType, device: Any) -> UntypedStorage:
    """Memory for a number of elements, or with the elements of a sequence."""
    from . import _tensor  # noqa: F401 - tensors are made below

    if isinstance(data, int) and not isinstance(data, bool):
        return creation.make(spec(dtype, (data,)))._storage  # type: ignore[no-any-return]
    if isinstance(data, (str, bytes)) or not (
            isinstance(data, TensorBase) or getattr(data, "__len__", None)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    made = from_data(data, dtype, device, copy=True)
    return made._storage  # type: ignore[no-any-return]


class _StorageType(type):
    """The type of `torch.FloatStorage` and its relatives: calling one makes a TypedStorage."""

    dtype: DType

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None,
                 **kwargs: Any) -> TypedStorage:
        problem = (f"Keyword argument '{next(iter(kwargs))}' cannot be specified" if kwargs
                   else "Too many positional arguments" if len(args) > 1 else "")
        if problem:
            raise RuntimeError(
                f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n"
                " * no arguments\n * (int size)\n * (Sequence data)\n"
                f" * (*, UntypedStorage wrap_storage)\n{problem}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first `size` elements of a file (see `UntypedStorage.from_file`)."""
        return cls(wrap_storage=UntypedStorage.from_file(
            filename, shared, size * cls.dtype.itemsize))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _make(name: str, dtype: DType) -> _StorageType:
    return _StorageType(name, (), {
        "__module__": public_module("torch"), "dtype": dtype, "is_cuda": False,
        "__doc__": f"The type of typed storages of {dtype}."})


BY_STORAGE = {storage: _make(storage, BY_NAME[name]) for name, storage in STORAGE_NAMES.items()
              if name in BY_NAME}  # quantized tensors have bytes only
globals().update(BY_STORAGE)


def storage_of(tensor: Any) -> TypedStorage:
    """The tensor's storage; views of one storage and dtype get the same object."""
    untyped = tensor._storage
    if untyped._typed is None:
        untyped._typed = {}
    dtype = tensor._spec.dtype
    if dtype not in untyped._typed:
        untyped._typed[dtype] = TypedStorage(wrap_storage=untyped, dtype=dtype)
    return untyped._typed[dtype]  # type: ignore[no-any-return]


def storage_type(tensor: Any) -> Any:
    """The type of a tensor's storage: `torch.FloatStorage` for float32."""
    return BY_STORAGE[STORAGE_NAMES[str(tensor._spec.dtype).rpartition(".")[2]]]


__all__ = ["TypedStorage", *BY_STORAGE]
