"""Reading the oldest checkpoints (PyTorch 0.1): a tar of storages, tensors and a pickle."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from .. import _storage_access as access
from .._rebuild import _rebuild_tensor
from . import loading, restricted
from .locations import restorer_of
from .messages import CORRUPT, UNSAFE

if TYPE_CHECKING:
    import tarfile


def is_tar(file: Any) -> bool:
    """Whether the stream is a tar archive; its position stays."""
    start = file.tell()
    header = file.read(512)
    file.seek(start)
    return len(header) == 512 and header[257:262] == b"ustar"


def load_tar(file: Any, map_location: Any, pickle_module: Any, options: dict[str, Any]) -> Any:
    """The object in a tar archive. Nothing is extracted to disk."""
    if pickle_module is restricted:
        raise RuntimeError("Cannot use ``weights_only=True`` with files saved in the legacy .tar "
                           f"format. {UNSAFE}")
    import tarfile  # here, because hardly any program needs it

    with tarfile.open(fileobj=file, mode="r:") as archive:
        objects = _read_storages(_member(archive, "storages"), map_location, pickle_module,
                                 options)
        _read_tensors(_member(archive, "tensors"), objects, pickle_module, options)

        def persistent_load(reference: Any) -> Any:
            return reference[0] if isinstance(reference, tuple) else objects[int(reference)]

        return loading.make_unpickler(pickle_module, _member(archive, "pickle"), persistent_load,
                                      options).load()


def _member(archive: tarfile.TarFile, name: str) -> Any:
    try:
        found = archive.extractfile(name)
    except KeyError:
        found = None
    if found is None:
        raise RuntimeError(f"the tar archive has no file {name!r}{CORRUPT}")
    return found


def _load(file: Any, pickle_module: Any, options: dict[str, Any]) -> Any:
    return loading.make_unpickler(pickle_module, file, lambda reference: reference, options).load()


def _read_storages(file: Any, map_location: Any, pickle_module: Any,
                   options: dict[str, Any]) -> dict[Any, Any]:
    objects: dict[Any, Any] = {}
    restore = restorer_of(map_location)
    for _ in range(_load(file, pickle_module, options)):
        key, location, kind = _load(file, pickle_module, options)
        dtype = loading.dtype_of(kind)
        (count,) = struct.unpack("<q", file.read(8))
        data = file.read(count * dtype.itemsize)
        if len(data) != count * dtype.itemsize:
            raise EOFError(f"Ran out of input: storage {key} is cut off")
        objects[key] = access.TypedBytes(restore(access.copy_of(data), location), dtype)
    for key, root_key, offset, count in _load(file, pickle_module, options):
        root = objects[root_key]
        start, size = offset * root.dtype.itemsize, count * root.dtype.itemsize
        part = access.memory(root.untyped())[start : start + size]
        objects[key] = access.TypedBytes(access.storage_over(part), root.dtype)
    return objects


def _read_tensors(file: Any, objects: dict[Any, Any], pickle_module: Any,
                  options: dict[str, Any]) -> None:
    for _ in range(_load(file, pickle_module, options)):
        key, storage_key, _ = _load(file, pickle_module, options)
        (dims,) = struct.unpack("<i", file.read(4))
        file.read(4)
        size = struct.unpack(f"<{dims}q", file.read(8 * dims))
        stride = struct.unpack(f"<{dims}q", file.read(8 * dims))
        (offset,) = struct.unpack("<q", file.read(8))
        objects[key] = _rebuild_tensor(objects[storage_key], offset, size, stride)
