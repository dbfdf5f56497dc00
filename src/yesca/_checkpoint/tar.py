"""Reading the oldest checkpoints (PyTorch 0.1): a tar of storages, tensors and a pickle."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import _storage_access as access
from .._rebuild import _rebuild_tensor
from . import loading, restricted
from .legacy import rest_of as _rest_of
from .locations import restorer_of
from .messages import CORRUPT, UNSAFE, shown

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
    with _opened(file) as archive:
        objects = _read_storages(_member(archive, "storages"), map_location, pickle_module,
                                 options)
        _read_tensors(_member(archive, "tensors"), objects, pickle_module, options)

        def persistent_load(reference: Any) -> Any:
            if isinstance(reference, tuple) and reference:
                return reference[0]
            number = isinstance(reference, str) and reference.isdecimal()
            return _known(objects, int(reference) if number else reference)

        return loading.make_unpickler(pickle_module, _member(archive, "pickle"), persistent_load,
                                      options).load()


@contextmanager
def _opened(file: Any) -> Iterator[tarfile.TarFile]:
    import tarfile  # here, because hardly any program needs it

    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            yield archive
    except tarfile.TarError as error:
        raise RuntimeError(f"the tar archive is damaged: {error}{CORRUPT}") from error


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


def _number(file: Any, form: str) -> int:
    """A number in front of data, which cannot be larger than the file or less than nothing."""
    data = file.read(struct.calcsize(form))
    if len(data) != struct.calcsize(form):
        raise EOFError("Ran out of input: the file ends within a number")
    (number,) = struct.unpack(form, data)
    return int(number)


def _counted(file: Any, count: int, size: int) -> bytes:
    data = file.read(count * size) if 0 <= count * size <= _rest_of(file) else b""
    if count < 0 or len(data) != count * size:
        raise EOFError(f"Ran out of input: {count} items of {size} bytes are not there")
    return bytes(data)


def _items(file: Any, pickle_module: Any, options: dict[str, Any], parts: int) -> Any:
    """The next pickle: a tuple of so many parts."""
    found = _load(file, pickle_module, options)
    if not isinstance(found, tuple) or len(found) != parts:
        raise RuntimeError(f"a tuple of {parts} is expected, not {shown(found)}{CORRUPT}")
    return found


def _known(objects: dict[Any, Any], key: Any) -> Any:
    if type(key) not in (int, str) or key not in objects:
        raise RuntimeError(f"there is no object {shown(key)}{CORRUPT}")
    return objects[key]


def _count(file: Any, pickle_module: Any, options: dict[str, Any]) -> int:
    count = _load(file, pickle_module, options)
    if type(count) is not int:
        raise RuntimeError(f"a number is expected, not {shown(count)}{CORRUPT}")
    return count


def _read_storages(file: Any, map_location: Any, pickle_module: Any,
                   options: dict[str, Any]) -> dict[Any, Any]:
    objects: dict[Any, Any] = {}
    restore = restorer_of(map_location)
    for _ in range(_count(file, pickle_module, options)):
        key, location, kind = _items(file, pickle_module, options, 3)
        if type(key) not in (int, str) or type(location) is not str:
            raise RuntimeError(f"storage {shown(key)} at {shown(location)} does not "
                               f"exist{CORRUPT}")
        dtype = loading.dtype_of(kind)
        data = _counted(file, _number(file, "<q"), dtype.itemsize)
        objects[key] = access.TypedBytes(restore(access.copy_of(data), location), dtype)
    views = _load(file, pickle_module, options)
    for view in views if isinstance(views, list) else ():
        if not isinstance(view, tuple) or len(view) != 4:
            raise RuntimeError(f"{shown(view)} is not a view of a storage{CORRUPT}")
        root = _known(objects, view[1])
        objects[view[0]] = loading.part_of(root, root.dtype, view[2], view[3])
    return objects


def _read_tensors(file: Any, objects: dict[Any, Any], pickle_module: Any,
                  options: dict[str, Any]) -> None:
    for _ in range(_count(file, pickle_module, options)):
        key, storage_key, _ = _items(file, pickle_module, options, 3)
        if type(key) not in (int, str):
            raise RuntimeError(f"tensor {shown(key)} does not exist{CORRUPT}")
        dims = _number(file, "<i")
        _number(file, "<i")
        size, stride = (struct.unpack(f"<{dims}q", _counted(file, dims, 8)) for _ in range(2))
        offset = _number(file, "<q")
        objects[key] = _rebuild_tensor(_known(objects, storage_key), offset, size, stride)
