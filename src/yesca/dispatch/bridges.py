"""Builtins that make tensors of numbers and arrays, and arrays of tensors.

`runtime/native/fastdata.py` is their source. NumPy is not loaded for their sake: it becomes known
when a Python twin has to do with it for the first time.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


from ..core.dtypes import ALL
from ..core.spec import spec
from ..runtime import builtins, units
from . import fast

#: NumPy's binary interface that is known here: that of its second version.
_VERSION = 0x02000000
_NEW_FROM_DESCRIPTOR, _SET_BASE = 94, 282  # places in NumPy's table, fixed by that version
NAMES = ("tensor", "as_tensor", "from_numpy")
_known: list[bool] = []  # whether machine code knows NumPy, once somebody has asked


def _write(place: int, word: int) -> None:
    from ..runtime.native import fastdata

    ctypes.c_int64.from_address(units.address(fastdata.things) + place).value = word


def _keep(place: int, thing: Any) -> None:
    fast.FAST.kept.append(thing)  # type: ignore[union-attr]
    _write(place, id(thing))


def function(name: str, twin: Callable[..., Any]) -> Any:
    """The builtin in front of a public function."""
    from ..runtime.native import fastdata

    prepare()
    _keep(getattr(fastdata, name.upper()), twin)
    address = units.address(getattr(fastdata, name))
    return fast.builtin(address, name, fast.owner(-1, "public"), twin.__doc__)


def install(cls: type) -> None:
    """Put the builtin that makes an array on the tensor's class."""
    from ..runtime.native import fastdata

    twin = cls.__dict__["numpy"]
    _keep(fastdata.TO_NUMPY, twin)
    made = builtins.method(cls, fastdata.to_numpy, "numpy", twin.__doc__)
    cls.numpy = made  # type: ignore[attr-defined]


def _columns(dtype: Any, shape: tuple[int, int]) -> Any:
    """The spec of a matrix whose columns lie one after the other."""
    return spec(dtype, shape, (1, shape[0]))


@cache
def prepare() -> None:
    """Tell machine code what it needs to make tensors."""
    from ..runtime.native import fastdata

    assert len(ALL) <= fastdata.CODES
    for place, thing in ((fastdata.FIND_SPEC, spec), (fastdata.FIND_COLUMNS, _columns),
                         (fastdata.NAME_DTYPE, sys.intern("dtype")),
                         (fastdata.NAME_GRAD, sys.intern("requires_grad"))):
        _keep(place, thing)
    for dtype in ALL:
        _keep(fastdata.DTYPES + 8 * dtype.code, dtype)


def know(np: Any) -> None:
    """Tell machine code about NumPy, which has been loaded by now."""
    if _known or fast.FAST is None:
        return
    found = _offsets(np)
    _known.append(found is not None)
    if found is None:
        return
    from ..runtime.native import fastdata

    prepare()
    for place, offset in found.items():
        _write(place, offset)
    for dtype in ALL:
        kind = getattr(np, dtype.name.replace("bool", "bool_"), None)
        if kind is not None:
            _keep(fastdata.KINDS + 8 * dtype.code, np.dtype(kind))
    table = _table()
    if table is not None:
        _write(fastdata.MAKE_ARRAY, table[_NEW_FROM_DESCRIPTOR])
        _write(fastdata.SET_BASE, table[_SET_BASE])
    _keep(fastdata.ARRAY_TYPE, np.ndarray)


def _offsets(np: Any) -> dict[int, int] | None:
    """Where an array holds what is read of it; None where that does not show."""
    from ..runtime.native import fastdata

    array = np.zeros((3, 7, 2), np.float64)[:, 1:]
    start, size = id(array), np.ndarray.__basicsize__
    words = {k: ctypes.c_int64.from_address(start + k).value for k in range(16, size, 8)}
    data, kind = (next((k for k, word in words.items() if word == wanted), None)
                  for wanted in (array.__array_interface__["data"][0], id(array.dtype)))
    if data is None or kind is None:
        return None
    halves = {k: ctypes.c_int32.from_address(start + k).value for k in range(data + 8, size, 4)}
    rank = next((k for k, half in halves.items() if half == 3), None)
    flags = next((k for k, half in halves.items() if half == array.flags.num and k > kind), None)
    tables = {}
    for k, word in words.items():
        if data < k < kind and k != rank and word and word != id(array.base):
            tables[tuple((ctypes.c_int64 * 3).from_address(word))] = k
    sizes, strides = tables.get(array.shape), tables.get(array.strides)
    if None in (rank, flags, sizes, strides):
        return None
    return {fastdata.A_DATA: data, fastdata.A_RANK: rank, fastdata.A_SIZES: sizes,
            fastdata.A_STRIDES: strides, fastdata.A_KIND: kind, fastdata.A_FLAGS: flags}


def _table() -> Any:
    """The addresses of NumPy's functions for extensions, if its version is the known one."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API
    except ImportError:
        return None
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    table = (ctypes.c_int64 * (_SET_BASE + 1)).from_address(pointer(_ARRAY_API, None))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[0])()
    return table if version == _VERSION else None
