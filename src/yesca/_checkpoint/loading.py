"""Reading a checkpoint: records become storages, and a pickle the object over them."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from .. import _storage_access as access
from .._global_names import is_torch_module, resolve
from . import restricted, storage_types
from .locations import is_meta, restorer_of
from .messages import CORRUPT, shown
from .options import LoadEndianness, config, modes
from .zip_reader import ZipReader


class StorageLoader:
    """Gives the storage that a persistent id of an archive stands for, one object a key."""

    def __init__(self, archive: ZipReader, map_location: Any, mapped: memoryview | None) -> None:
        self._archive = archive
        self._restore = restorer_of(map_location)
        self._to_meta = is_meta(map_location)
        self._mapped = mapped
        self._swap = _byteorder(archive) != sys.byteorder
        self._loaded: dict[str, Any] = {}

    def persistent_load(self, reference: Any) -> Any:
        """The storage of `("storage", type, key, location, count)`."""
        kind, key, location, count = parse_reference(reference, 5)
        dtype = dtype_of(kind)
        if key not in self._loaded:
            self._loaded[key] = self._load(key, dtype, count * dtype.itemsize, location)
        storage = self._loaded[key]
        if storage.nbytes() != count * dtype.itemsize:
            raise RuntimeError(f"storage {key} has {storage.nbytes()} bytes, but is used as "
                               f"{count} elements of {dtype}{CORRUPT}")
        return access.typed_storage(storage, dtype)

    def _load(self, key: str, dtype: Any, nbytes: int, location: str) -> Any:
        name = f"data/{key}"
        size = self._archive.size(name)
        if size != nbytes:
            raise RuntimeError(
                f"record size ({size} bytes) does not match expected size ({nbytes} bytes) for "
                f"dtype {dtype}{CORRUPT}"
            )
        if self._to_meta:
            return access.new_storage(nbytes, "meta")
        storage = self._read(name, nbytes)
        if self._swap and dtype.itemsize > 1 and not modes.skip_data:
            swap_bytes(access.memory(storage), dtype)
        return self._restore(storage, location)

    def _read(self, name: str, nbytes: int) -> Any:
        if self._mapped is not None:
            start = self._archive.data_offset(name)
            if start is not None:
                return access.storage_over(self._mapped[start : start + nbytes])
        storage = access.new_storage(nbytes)
        if nbytes and not modes.skip_data:
            self._archive.read_into(name, access.memory(storage))
        return storage


def parse_reference(reference: Any, length: int) -> tuple[Any, str, str, int]:
    """(type, key, location, count) of a persistent id, checked."""
    if not isinstance(reference, tuple) or len(reference) != length:
        raise RuntimeError(f"saved_id must be a tuple of {length}, got {shown(reference)}{CORRUPT}")
    word, kind, key, location, count = reference[:5]
    if text(word) != "storage":
        raise RuntimeError("Unknown typename for persistent_load, expected 'storage' but got "
                           f"{shown(word)}")
    key, location = text(key), text(location)
    if type(count) is not int or count < 0 or type(key) is not str or type(location) is not str:
        raise RuntimeError(f"storage {shown(key)} of {shown(count)} elements at "
                           f"{shown(location)} does not exist{CORRUPT}")
    return kind, key, location, count


def dtype_of(kind: Any) -> Any:
    """The dtype that a persistent id's storage type stands for."""
    if kind is access.UntypedStorage:
        return access.BY_NAME["uint8"]
    if not isinstance(kind, storage_types.StorageType):
        raise RuntimeError(f"{shown(kind)} is not a type of storage{CORRUPT}")
    return kind.dtype


def part_of(root: Any, dtype: Any, offset: Any, size: Any) -> Any:
    """The typed storage over `size` elements of another one, from element `offset` on."""
    if type(offset) is not int or type(size) is not int:
        raise RuntimeError(f"elements {shown(offset)} and on, {shown(size)} of them, are no view "
                           f"of a storage{CORRUPT}")
    start, length = offset * dtype.itemsize, size * dtype.itemsize
    if start < 0 or length < 0 or start + length > root.nbytes():
        raise RuntimeError(f"a view of a storage is outside of it{CORRUPT}")
    part = access.memory(root.untyped())[start : start + length]
    return access.typed_storage(access.storage_over(part), dtype)


def text(value: Any) -> Any:
    """Strings of Python 2 checkpoints come as bytes."""
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def swap_bytes(data: memoryview, dtype: Any) -> None:
    """Turn the byte order of every element around; a complex number is two elements."""
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    plain = bytes(data)
    for at in range(width):
        data[at::width] = plain[width - 1 - at :: width]


def _byteorder(archive: ZipReader) -> str:
    if archive.has("byteorder"):
        order = archive.read("byteorder")
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {shown(order)}")
        return order.decode()
    assumed = config.load.endianness
    if assumed is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if assumed is LoadEndianness.BIG else "little"


def load_archive(archive: ZipReader, map_location: Any, pickle_module: Any,
                 mapped: memoryview | None, pickle_options: dict[str, Any]) -> Any:
    """The object in a zip archive."""
    storages = StorageLoader(archive, map_location, mapped)
    file = io.BytesIO(archive.read("data.pkl"))
    unpickler = make_unpickler(pickle_module, file, storages.persistent_load, pickle_options)
    return unpickler.load()


def make_unpickler(pickle_module: Any, file: Any, persistent_load: Callable[[Any], Any],
                   options: dict[str, Any]) -> Any:
    """An unpickler of `pickle_module` that finds PyTorch's names here."""
    if pickle_module is restricted:
        unpickler = restricted.Unpickler(file, **options)
        unpickler.persistent_load = persistent_load
        return unpickler
    load_storage = persistent_load

    class CheckpointUnpickler(pickle_module.Unpickler):  # type: ignore[misc, name-defined]
        def find_class(self, module: str, name: str) -> Any:
            if not is_torch_module(module):
                return super().find_class(module, name)
            kind = storage_types.of_name(name) if name.endswith("Storage") else None
            return resolve(module, name) if kind is None else kind

        def persistent_load(self, reference: Any) -> Any:
            return load_storage(reference)

    return CheckpointUnpickler(file, **options)
