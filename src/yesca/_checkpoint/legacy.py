"""Reading checkpoints of PyTorch before 1.6: one stream of pickles and raw storages."""

from __future__ import annotations

import struct
import sys
from typing import Any

from .. import _storage_access as access
from . import loading
from .locations import restorer_of
from .messages import CORRUPT
from .options import modes
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION


class LegacyStorages:
    """Storages are named by the object first; their data follows it in the stream."""

    def __init__(self, file: Any, map_location: Any) -> None:
        self._file = file
        self._restore = restorer_of(map_location)
        self._roots: dict[Any, Any] = {}
        self._budget = _rest_of(file)

    def persistent_load(self, reference: Any) -> Any:
        """The storage, or the view of one, that a persistent id stands for."""
        if isinstance(reference, tuple) and reference and loading.text(reference[0]) == "module":
            return reference[1]
        kind, key, location, count = loading.parse_reference(reference, 6)
        dtype = loading.dtype_of(kind)
        if key not in self._roots:
            nbytes = count * dtype.itemsize
            self._budget -= nbytes
            if self._budget < 0:
                raise RuntimeError(f"storage {key} of {nbytes} bytes is larger than the rest of "
                                   f"the file{CORRUPT}")
            # Where it goes is settled now, because tensors are made of it before its data comes.
            placed = self._restore(access.new_storage(nbytes), location)
            self._roots[key] = access.typed_storage(placed, dtype)
        root = self._roots[key]
        view = reference[5]
        return root if view is None else self._view(root, dtype, view)

    def _view(self, root: Any, dtype: Any, view: Any) -> Any:
        if not isinstance(view, tuple) or list(map(type, view[1:])) != [int, int]:
            raise RuntimeError(f"{view!r} is not a view of a storage{CORRUPT}")
        _, offset, size = view
        start, length = offset * dtype.itemsize, size * dtype.itemsize
        if start < 0 or length < 0 or start + length > root.nbytes():
            raise RuntimeError(f"a view of a storage is outside of it{CORRUPT}")
        part = access.memory(root.untyped())[start : start + length]
        return access.typed_storage(access.storage_over(part), dtype)

    def fill(self, keys: Any, little_endian: bool) -> None:
        """Read the data of the storages, in the order of `keys`."""
        for key in keys:
            if key not in self._roots:
                raise RuntimeError(f"storage key {key!r} is not one that the file uses{CORRUPT}")
            root = self._roots[key]
            (count,) = struct.unpack("<q" if little_endian else ">q", self._exactly(8))
            if count != root.size():
                raise RuntimeError(f"storage {key} has {count} elements where {root.size()} are "
                                   f"expected{CORRUPT}")
            data = self._exactly(root.nbytes())
            if root.device.type == "meta":
                continue
            target = access.memory(root.untyped())
            target[:] = data
            if little_endian != (sys.byteorder == "little") and root.dtype.itemsize > 1:
                loading.swap_bytes(target, root.dtype)

    def _exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise EOFError(f"Ran out of input: the file ends {count - len(data)} bytes early")
        return data


def _rest_of(file: Any) -> int:
    here = file.tell()
    end = file.seek(0, 2)
    file.seek(here)
    return int(end - here)


def load_legacy(file: Any, map_location: Any, pickle_module: Any,
                pickle_options: dict[str, Any]) -> Any:
    """The object in a stream of the older format; UnpicklingError if it is not one."""
    if pickle_module.load(file, **pickle_options) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = pickle_module.load(file, **pickle_options)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = pickle_module.load(file, **pickle_options)
    storages = LegacyStorages(file, map_location)
    unpickler = loading.make_unpickler(pickle_module, file, storages.persistent_load,
                                       pickle_options)
    result = unpickler.load()
    keys = pickle_module.load(file, **pickle_options)
    if not modes.skip_data:
        storages.fill(keys, bool(system.get("little_endian", True)))
    return result
