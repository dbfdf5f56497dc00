"""Pickled batches of images, read without running anything that the file asks for.

Only plain containers, numbers, texts and arrays of numbers come out. NumPy's own functions are
not called: an array is put together from its bytes once all that the file says of it is checked.
"""

from __future__ import annotations

import math
import os
import pickle
from typing import Any

import numpy as np

__all__ = ["load_batch"]

_KINDS = "uif"  # numbers; no objects, no texts


class _DType:
    """What a file says of the numbers of an array."""

    def __init__(self, name: Any = None, *rest: Any) -> None:
        self.name, self.order = name, "|"

    def __setstate__(self, state: Any) -> None:
        self.order = state[1] if isinstance(state, tuple) and len(state) > 1 else None

    def made(self) -> np.dtype[Any]:
        name = self.name.decode("latin1") if isinstance(self.name, bytes) else self.name
        if (not isinstance(name, str) or name[:1] not in _KINDS or not name[1:].isdigit()
                or self.order not in ("|", "<", ">", "=")):
            raise pickle.UnpicklingError(f"an array of {name!r}, which are no numbers")
        order = "" if self.order == "|" else self.order
        try:
            return np.dtype(f"{order}{name}")
        except TypeError as error:
            raise pickle.UnpicklingError(str(error)) from None


class _Array:
    """What a file says of an array, its numbers included."""

    def __init__(self, *arguments: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def made(self) -> np.ndarray[Any, Any]:
        state = self.state
        if not isinstance(state, tuple) or len(state) != 5:
            raise pickle.UnpicklingError("an array without numbers")
        _, shape, dtype, by_columns, content = state
        if isinstance(content, str):
            content = content.encode("latin1")
        if (not isinstance(dtype, _DType) or not isinstance(content, bytes)
                or not isinstance(shape, tuple)
                or not all(type(size) is int and size >= 0 for size in shape)):
            raise pickle.UnpicklingError("an array that is not described as arrays are")
        kind = dtype.made()
        if math.prod(shape) * kind.itemsize != len(content):
            raise pickle.UnpicklingError(f"an array of {shape} with {len(content)} bytes")
        made = np.frombuffer(bytearray(content), kind)
        return made.reshape(shape, order="F" if by_columns else "C")


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError("a text in an unknown encoding")
    return text.encode("latin1")


_ALLOWED = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which is neither an array nor a plain container"
            ) from None


def _settled(value: Any, known: dict[int, Any]) -> Any:
    """The value with real arrays. `known`: what is done, None while it is: a file may name one
    container often, and must not name one within itself."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if id(value) in known:
        if known[id(value)] is None:
            raise pickle.UnpicklingError("a container that holds itself")
        return known[id(value)]
    known[id(value)] = None
    if isinstance(value, _Array):
        made = value.made()
    elif isinstance(value, dict):
        made = {key: _settled(item, known) for key, item in value.items()}
    elif isinstance(value, (list, tuple)):
        made = type(value)(_settled(item, known) for item in value)
    else:
        raise pickle.UnpicklingError(f"a {type(value).__name__}, which is no plain value")
    known[id(value)] = made
    return made


def load_batch(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The dict of a pickled batch; texts of Python 2 become `str`.

    Raises RuntimeError if the file is damaged or holds anything but a dict of plain containers
    and arrays of numbers.
    """
    with open(path, "rb") as file:
        try:
            content = _settled(_Unpickler(file, encoding="latin1").load(), {})
            if not isinstance(content, dict):
                raise pickle.UnpicklingError(f"a {type(content).__name__} where a dict should be")
        except (MemoryError, OSError):
            raise
        except Exception as error:  # what damaged pickles raise is not bounded
            raise RuntimeError(f"{os.fspath(path)} is no batch of images: {error}") from error
    return content
