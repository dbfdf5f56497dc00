"""Reading `.safetensors`: eight bytes with the length of a JSON header, the header, the data."""

from __future__ import annotations

import json
import struct
from typing import Any

from .. import _storage_access as access
from .._rebuild import _rebuild_tensor
from .locations import restorer_of

MAX_HEADER = 100_000_000
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "U16": "uint16",
    "U32": "uint32", "U64": "uint64", "BOOL": "bool", "C64": "complex64",
}


def load_safetensors(path: str, map_location: Any) -> dict[str, Any]:
    """All tensors of a file by name. RuntimeError if the file contradicts itself."""
    if isinstance(map_location, dict) or (
        callable(map_location) and not isinstance(map_location, access.Device)
    ):
        raise RuntimeError(
            "Loading safetensors file with dict or callable map_location is not supported. Use a "
            "device string or torch.device instead."
        )
    with open(path, "rb") as file:
        header, start = _read_header(file, path)
        end = file.seek(0, 2) - start
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                dtype, shape, begin, stop = _check(name, entry, end)
                storage = access.new_storage(stop - begin)
                file.seek(start + begin)
                if stop > begin and file.readinto(access.memory(storage)) != stop - begin:
                    raise RuntimeError(f"{path} ends within tensor {name!r}")
                placed = restorer_of(map_location)(storage, "cpu")
                tensors[name] = _rebuild_tensor(access.TypedBytes(placed, dtype), 0, shape,
                                                _strides(shape))
    return tensors


def _read_header(file: Any, path: str) -> tuple[dict[str, Any], int]:
    first = file.read(8)
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else MAX_HEADER + 1
    data = file.read(length) if length <= MAX_HEADER else b""
    if len(data) != length:
        raise RuntimeError(f"{path} is not a safetensors file: its header is cut off")
    try:
        header = json.loads(data)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise RuntimeError(f"{path} is not a safetensors file: its header is not a JSON object")
    return header, 8 + length


def _check(name: str, entry: Any, end: int) -> tuple[Any, tuple[int, ...], int, int]:
    try:
        dtype = access.BY_NAME[_DTYPES[entry["dtype"]]]
        shape = tuple(int(size) for size in entry["shape"])
        begin, stop = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise RuntimeError(f"tensor {name!r} has an unusable description: {entry!r}") from None
    count = 1
    for size in shape:
        count *= size
    if min((*shape, 0)) < 0 or not 0 <= begin <= stop <= end:
        raise RuntimeError(f"tensor {name!r} is outside of the file: {entry!r}")
    if count * dtype.itemsize != stop - begin:
        raise RuntimeError(f"tensor {name!r} of shape {shape} and {dtype} has "
                           f"{stop - begin} bytes, not {count * dtype.itemsize}")
    return dtype, shape, begin, stop


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
