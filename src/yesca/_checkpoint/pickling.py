"""The pickler of checkpoints.

Storages leave the pickle as persistent ids, and what belongs to this package is named as
PyTorch names it. The pickler of the standard library that is written in C insists on importing
what it names, so the one written in Python is used; a checkpoint's pickle is small.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from .. import _storage_access as access
from .._global_names import torch_name
from .storage_types import StorageType

_PYTHON_PICKLER: Any = pickle._Pickler  # type: ignore[attr-defined]
#: Gives the persistent id of a storage, None for every other object.
PersistentId = Callable[[Any], "tuple[Any, ...] | None"]


def _save_dtype(pickler: Any, dtype: Any) -> None:
    pickler.write_global(dtype, "torch", access.dtype_name(dtype))


def _save_storage_type(pickler: Any, kind: StorageType) -> None:
    pickler.write_global(kind, "torch", kind.name)


def _save_size(pickler: Any, size: Any) -> None:
    pickler.save_reduce(access.Size, (tuple(size),), obj=size)


def _save_device(pickler: Any, device: Any) -> None:
    # A string of its own, as in PyTorch: the pickle must not refer to an equal one elsewhere.
    kind = device.type.encode().decode()
    parts = (kind,) if device.index is None else (kind, device.index)
    pickler.save_reduce(access.Device, parts, obj=device)


def _save_layout(pickler: Any, layout: Any) -> None:
    from ..serialization import _get_layout

    pickler.save_reduce(_get_layout, (str(layout),), obj=layout)


def _save_function(pickler: Any, function: Any) -> None:
    pickler.save_global(function)


def pickler_class(pickle_module: Any, persistent_id: PersistentId) -> type:
    """A subclass of `pickle_module.Pickler` that writes a checkpoint's pickle."""
    base = pickle_module.Pickler
    if base is pickle.Pickler:
        base = _PYTHON_PICKLER
    if issubclass(base, _PYTHON_PICKLER):
        return _python_pickler(base, persistent_id)
    return _foreign_pickler(base, persistent_id)


def _python_pickler(base: Any, storage_id: PersistentId) -> type:
    class CheckpointPickler(base):  # type: ignore[misc]
        dispatch = {
            **base.dispatch,
            access.DType: _save_dtype,
            access.Size: _save_size,
            access.Device: _save_device,
            StorageType: _save_storage_type,
            access.Layout: _save_layout,
        }
        if base.dispatch.get(FunctionType) is _PYTHON_PICKLER.save_global:
            dispatch[FunctionType] = _save_function

        def persistent_id(self, obj: Any) -> Any:
            return storage_id(obj)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, access.NamedResult):
                return type(obj), (tuple(obj), {})
            if isinstance(obj, BuiltinFunctionType) and torch_name(obj) is not None:
                return obj.__name__
            inherited = getattr(super(), "reducer_override", None)
            return NotImplemented if inherited is None else inherited(obj)

        def save_global(self, obj: Any, name: str | None = None) -> None:
            known = torch_name(obj, name)
            if known is None:
                super().save_global(obj, name)
            else:
                self.write_global(obj, *known)

        def write_global(self, obj: Any, module: str, name: str) -> None:
            if self.proto >= 4:
                self.save(module)
                self.save(name)
                self.write(pickle.STACK_GLOBAL)
            elif "." in name:
                raise pickle.PicklingError(f"Can't pickle {obj!r}: {module}.{name} is inside of a "
                                           "class; that needs pickle_protocol=4")
            else:
                self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode("ascii"))
            self.memoize(obj)

    return CheckpointPickler


def _foreign_pickler(base: Any, storage_id: PersistentId) -> type:
    """For picklers in C (cloudpickle): objects are looked up by name when the file is loaded."""

    class CheckpointPickler(base):  # type: ignore[misc]
        def persistent_id(self, obj: Any) -> Any:
            return storage_id(obj)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, StorageType):
                return find_storage_type, (obj.name,)
            if isinstance(obj, (type, FunctionType)) and obj is not find_global:
                known = torch_name(obj)
                if known is not None and obj is not find_storage_type:
                    return find_global, known
            inherited = getattr(super(), "reducer_override", None)
            return NotImplemented if inherited is None else inherited(obj)

    return CheckpointPickler


def find_global(module: str, name: str) -> Any:
    """What a pickle of another pickle module calls to get an object of this package."""
    from .._global_names import resolve

    return resolve(module, name)


def find_storage_type(name: str) -> Any:
    """The same for the types of storages."""
    from .storage_types import of_name

    return of_name(name)
