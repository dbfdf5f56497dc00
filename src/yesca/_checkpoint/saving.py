"""Writing a checkpoint: an object becomes a pickle and the storages that it refers to."""

from __future__ import annotations

import io
import os
import struct
import sys
from typing import Any

from .. import _storage_access as access
from .crew import Crew
from .locations import location_tag
from .options import config, modes
from .pickling import pickler_class
from .storage_types import of_dtype
from .zip_writer import ZipWriter

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


class StorageTable:
    """The storages that a pickle has referred to, in order of appearance, once each."""

    def __init__(self, legacy: bool) -> None:
        self._legacy = legacy
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, Any] = {}
        self.storages: dict[str, tuple[Any, Any]] = {}  # key -> (storage, dtype)

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """The reference that stands for a storage in the pickle."""
        if type(obj) in _NOT_STORAGES:
            return None
        typed = access.as_typed_bytes(obj)
        if typed is None:
            return None
        storage, dtype = typed.untyped(), typed.dtype
        kind: Any = access.UntypedStorage if obj is storage else of_dtype(dtype)
        count = storage.nbytes() // dtype.itemsize
        identity = id(storage)
        if storage.nbytes() and self._dtypes.setdefault(identity, dtype) is not dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data "
                               f"as different types: {self._dtypes[identity]} and {dtype}; save "
                               "a clone() of one of them")
        key = self._keys.setdefault(identity, str(len(self._keys)))
        self.storages[key] = (storage, dtype)
        reference = ("storage", kind, key, location_tag(storage), count)
        return (*reference, None) if self._legacy else reference


#: The commonest objects in a pickle; asking more about them would only take time.
_NOT_STORAGES = frozenset((str, int, float, bool, tuple, list, dict, type(None)))


def save_zip(obj: Any, file: Any, archive: str, pickle_module: Any, protocol: int,
             byteorder_record: bool = True) -> None:
    """Write `obj` to an object with `write`."""
    table = StorageTable(legacy=False)
    buffer = io.BytesIO()
    pickler_class(pickle_module, table.persistent_id)(buffer, protocol=protocol).dump(obj)
    with Crew() as crew:
        _write_records(ZipWriter(file, archive, config.save.storage_alignment,
                                 config.save.compute_crc32, crew),
                       buffer.getvalue(), table, byteorder_record)


def _write_records(out: ZipWriter, pickled: bytes, table: StorageTable,
                   byteorder_record: bool) -> None:
    out.write("data.pkl", pickled)
    out.write(".format_version", b"1")
    out.write(".storage_alignment", str(config.save.storage_alignment).encode())
    if byteorder_record:
        out.write("byteorder", sys.byteorder.encode())
    for key, (storage, _) in table.storages.items():
        if modes.skip_data:
            out.write_empty_space(f"data/{key}", storage.nbytes())
        else:
            out.write(f"data/{key}", access.memory(storage))
    out.close()


def save_legacy(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Write `obj` as one stream of pickles and raw storages (PyTorch before 1.6)."""
    table = StorageTable(legacy=True)
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": struct.calcsize("=l")},
    }
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle_module.dump(part, file, protocol=protocol)
    pickler_class(pickle_module, table.persistent_id)(file, protocol=protocol).dump(obj)
    keys = sorted(table.storages)
    pickle_module.dump(keys, file, protocol=protocol)
    for key in keys:
        storage, dtype = table.storages[key]
        file.write(struct.pack("<q", storage.nbytes() // dtype.itemsize))
        file.write(access.memory(storage))


def archive_name(path: str) -> str:
    """The folder inside the zip: the file's name without its ending, as PyTorch has it.

    A path with other letters than ASCII's has no say; it may be no text at all.
    """
    name = os.path.basename(path)
    if not path.isascii():
        return "archive"
    stem, dot, _ = name.rpartition(".")
    return (stem if dot and stem else name) or "archive"


def check_parent(path: str) -> None:
    """A missing folder has a message of its own."""
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
