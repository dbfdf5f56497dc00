"""`.safetensors`: eight bytes with the length of a JSON header, the header, the data."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import Any

from .. import _storage_access as access
from .._rebuild import _rebuild_tensor
from .locations import restorer_of
from .messages import shown
from .output import replaced

MAX_HEADER = 100_000_000
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "U16": "uint16",
    "U32": "uint32", "U64": "uint64", "BOOL": "bool", "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
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
        header.pop("__metadata__", None)
        found = {name: _check(name, entry, end) for name, entry in header.items()}
        _check_apart([entry[2:] for entry in found.values()], path)
        for name, (dtype, shape, begin, stop) in found.items():
            storage = access.new_storage(stop - begin)
            file.seek(start + begin)
            if stop > begin and file.readinto(access.memory(storage)) != stop - begin:
                raise RuntimeError(f"{path} ends within tensor {shown(name)}")
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
        header = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise RuntimeError(f"{path} is not a safetensors file: its header is not a JSON object")
    return header, 8 + length


def _check(name: str, entry: Any, end: int) -> tuple[Any, tuple[int, ...], int, int]:
    try:
        kind, shape, (begin, stop) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        whole = type(kind) is str and all(type(n) is int for n in (*shape, begin, stop))
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise RuntimeError(f"tensor {shown(name)} has an unusable description: "
                           f"{json.dumps(entry)[:200]}")
    if kind not in _DTYPES:
        raise NotImplementedError(f"tensor {shown(name)} has dtype {shown(kind)}, of which there "
                                  f"are no tensors; there are {', '.join(_DTYPES)}")
    dtype = access.BY_NAME[_DTYPES[kind]]
    if min((*shape, 0)) < 0 or not 0 <= begin <= stop <= end:
        raise RuntimeError(f"tensor {shown(name)} of shape {shown(shape)} and bytes {begin} to "
                           f"{stop} is outside of the file")
    nbytes = 0 if 0 in shape else dtype.itemsize
    for size in shape:
        nbytes *= size
        if nbytes > end:
            break  # more could take all the time there is
    if nbytes != stop - begin:
        raise RuntimeError(f"tensor {shown(name)} of shape {shown(shape)} and {dtype} does not "
                           f"have the {stop - begin} bytes that the file says")
    return dtype, shape, begin, stop


def _check_apart(places: list[tuple[int, int]], path: str) -> None:
    """Refuse tensors that share bytes: a small file could ask for any amount of memory."""
    last = 0
    for begin, stop in sorted(place for place in places if place[0] < place[1]):
        if begin < last:
            raise RuntimeError(f"two tensors of {path} overlap")
        last = stop


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


# ---- writing ---------------------------------------------------------------------------------

_CODES = {name: code for code, name in _DTYPES.items()}


def save_safetensors(tensors: Mapping[str, Any], path: str | os.PathLike[str],
                     metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors by name; those that share memory are written each.

    A file of that name is replaced when the new one is whole. Raises ValueError for a dtype or
    name that the format lacks and for metadata that is no text by a text.
    """
    header: dict[str, Any] = {}
    if metadata:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise ValueError("the metadata of a safetensors file is texts by texts, not "
                             f"{metadata!r}")
        header["__metadata__"] = dict(metadata)
    for name in tensors:
        if not isinstance(name, str) or name == "__metadata__":
            raise ValueError(f"a safetensors file cannot hold a tensor of the name {name!r}"
                             + (", which is its metadata's" if isinstance(name, str) else ""))
    plain = {name: tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
             for name, tensor in tensors.items()}
    # The widest elements first, so that all of them lie at multiples of their size.
    order = sorted(plain, key=lambda name: (-plain[name].dtype.itemsize, name))
    end = 0
    for name in order:
        tensor = plain[name]
        if tensor.dtype.name not in _CODES:
            raise ValueError(f"a safetensors file cannot hold {name!r}, which is {tensor.dtype}")
        begin, end = end, end + tensor.numel() * tensor.dtype.itemsize
        header[name] = {"dtype": _CODES[tensor.dtype.name], "shape": list(tensor.shape),
                        "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with replaced(os.fspath(path)) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            tensor = plain[name]
            start = tensor.storage_offset() * tensor.dtype.itemsize
            stop = start + tensor.numel() * tensor.dtype.itemsize
            file.write(access.memory(tensor.untyped_storage())[start:stop])
