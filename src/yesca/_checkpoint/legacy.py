"""Reading checkpoints of PyTorch before 1.6: one stream of pickles and raw storages."""

from __future__ import annotations

import struct
import sys
from typing import Any

from .. import _storage_access as access
from . import loading
from .locations import restorer_of
from .messages import CORRUPT, shown
from .options import modes
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION


class LegacyStorages:
    """Storages are named by the object first; their data follows it in the stream."""

    def __init__(self, file: Any, map_location: Any) -> None:
        self._file = file
        self._restore = restorer_of(map_location)
        self._roots: dict[Any, Any] = {}
        self._budget = rest_of(file)

    def persistent_load(self, reference: Any) -> Any:
        """The storage, or the view of one, that a persistent id stands for."""
        if isinstance(reference, tuple) and reference[1:] and \
                loading.text(reference[0]) == "module":
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
        if view is None:
            return root
        if not isinstance(view, tuple) or len(view) != 3:
            raise RuntimeError(f"{shown(view)} is not a view of a storage{CORRUPT}")
        return loading.part_of(root, dtype, view[1], view[2])

    def fill(self, keys: Any, little_endian: bool) -> None:
        """Read the data of the storages, in the order of `keys`."""
        if type(keys) is not list:
            raise RuntimeError(f"the keys of storages are {shown(keys)}, not a list{CORRUPT}")
        if len(keys) < len(self._roots):
            raise RuntimeError(f"{len(self._roots)} storages are used, and the file has "
                               f"{len(keys)}{CORRUPT}")
        for key in map(loading.text, keys):
            if type(key) is not str or key not in self._roots:
                raise RuntimeError(f"storage key {shown(key)} is not one that the file "
                                   f"uses{CORRUPT}")
            root = self._roots[key]
            (count,) = struct.unpack("<q" if little_endian else ">q", self._exactly(8))
            if count != root.size():
                raise RuntimeError(f"storage {key} has {count} elements where {root.size()} are "
                                   f"expected{CORRUPT}")
            if root.device.type == "meta":
                self._skip(root.nbytes())
                continue
            target = access.memory(root.untyped())
            self._read_into(target)
            if little_endian != (sys.byteorder == "little") and root.dtype.itemsize > 1:
                loading.swap_bytes(target, root.dtype)

    def _read_into(self, target: memoryview) -> None:
        done = 0
        while done < len(target):
            count = self._file.readinto(target[done:])
            if not count:
                raise _ends_early(len(target) - done)
            done += count

    def _skip(self, count: int) -> None:
        if count > rest_of(self._file):
            raise _ends_early(count - rest_of(self._file))
        self._file.seek(count, 1)

    def _exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise _ends_early(count - len(data))
        return data


def _ends_early(count: int) -> EOFError:
    return EOFError(f"Ran out of input: the file ends {count} bytes early")


def rest_of(file: Any) -> int:
    """Bytes from here to the end of a file."""
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
        raise RuntimeError(f"Invalid protocol version: {shown(version)}")
    system = pickle_module.load(file, **pickle_options)
    if not isinstance(system, dict):
        raise RuntimeError(f"the description of the system is {shown(system)}, not a "
                           f"dictionary{CORRUPT}")
    storages = LegacyStorages(file, map_location)
    unpickler = loading.make_unpickler(pickle_module, file, storages.persistent_load,
                                       pickle_options)
    result = unpickler.load()
    keys = pickle_module.load(file, **pickle_options)
    if not modes.skip_data:
        storages.fill(keys, bool(system.get("little_endian", True)))
    return result
