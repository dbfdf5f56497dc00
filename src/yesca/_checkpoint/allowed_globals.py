"""What a checkpoint may name under `weights_only=True`: PyTorch's list, and the user's.

Functions of the list are called with arguments that a stranger chose. Those of the standard
library are therefore replaced by ones that look at their arguments first.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import cache
from itertools import chain, islice
from typing import Any

from .. import _rebuild
from .. import _storage_access as access
from .._global_names import is_torch_module, resolve
from . import storage_types
from .messages import shown

#: Modules that nobody can allow.
BLOCKED_MODULES = ("sys", "os", "posix", "nt")
MAX_KEY_DEPTH = 100
MAX_KEY_SIZE = 10_000

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]
_user_globals: set[SafeGlobal] = set()


def check_key(key: object) -> object:
    """Refuse dict keys that cannot be hashed safely: tuples nested too deep, or too large.

    Hashing recurses without a limit, and visits a shared part as often as it is referred to.
    """
    level = [key]
    visited = 0
    for _ in range(MAX_KEY_DEPTH):
        parts = chain.from_iterable(part for part in level if type(part) is tuple)
        level = list(islice(parts, MAX_KEY_SIZE + 1))
        if not level:
            return key
        visited += len(level)
        if visited > MAX_KEY_SIZE:
            break
    raise ValueError(f"a dict key is a tuple of more than {MAX_KEY_DEPTH} levels or "
                     f"{MAX_KEY_SIZE} items")


def _only(kind: type | tuple[type, ...], name: str, args: tuple[Any, ...]) -> None:
    if len(args) > 1 or not all(isinstance(arg, kind) for arg in args):
        raise TypeError(f"{name} is called with {[type(arg).__name__ for arg in args]}")


def _make_bytearray(*args: Any) -> bytearray:
    # A number would make that many bytes out of nothing.
    if args and isinstance(args[0], str):
        return bytearray(args[0], "latin-1")
    _only((bytes, bytearray), "bytearray", args)
    return bytearray(*args)


def _make_set(*args: Any) -> set[Any]:
    _only((list, tuple, set), "set", args)
    return {check_key(item) for item in (args[0] if args else ())}


def _make_complex(*parts: Any) -> complex:
    if len(parts) > 2 or not all(isinstance(part, (int, float)) for part in parts):
        raise TypeError("complex is called with something other than numbers")
    return complex(*parts)


def _encode(text: Any, encoding: Any = "utf-8") -> bytes:
    # How pickle protocol 2 writes bytes: as a string to be encoded in latin1.
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise TypeError(f"bytes are encoded from a string in latin1, not in {shown(encoding)}")
    return text.encode(encoding)


def _make_ordered_dict(*args: Any) -> OrderedDict[Any, Any]:
    _only((list, tuple, dict), "OrderedDict", args)
    made: OrderedDict[Any, Any] = OrderedDict()
    items = args[0].items() if args and isinstance(args[0], dict) else (args[0] if args else ())
    for item in items:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise TypeError("OrderedDict is called with items that are not pairs")
        made[check_key(item[0])] = item[1]
    return made


def _make_size(*args: Any) -> Any:
    _only((list, tuple), "Size", args)
    return access.Size(*args)


def _refuse(*args: Any) -> Any:
    # Named by files only to say which class a storage or a tensor has; a number as argument
    # would ask for that much memory.
    raise TypeError("tensors and storages are made by the functions of torch._utils")


def _rebuild_typed(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    if getattr(func, "__name__", None) not in _REBUILD_FUNCTIONS or not isinstance(args, tuple):
        raise TypeError(f"tensors of a class are not made by {shown(func)}")
    _rebuild.check_state(state)
    return _rebuild._rebuild_from_type_v2(func, new_type, args, state)


def _make_counter(*args: Any) -> Counter[Any]:
    _only(dict, "Counter", args)
    return Counter(*args)


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    _rebuild.check_state(state)
    rebuild: Any = resolve("torch._utils", "_rebuild_parameter_with_state")
    return rebuild(data, requires_grad, hooks, state)


@cache
def stand_ins() -> dict[int, Callable[..., Any]]:
    """What is called instead of objects that a pickle names, by their identity."""
    return {
        id(bytearray): _make_bytearray,
        id(set): _make_set,
        id(complex): _make_complex,
        id(OrderedDict): _make_ordered_dict,
        id(Counter): _make_counter,
        id(access.Size): _make_size,
        id(access.UntypedStorage): _refuse,
        id(_rebuild._rebuild_from_type_v2): _rebuild_typed,
        id(resolve("torch._utils", "_rebuild_parameter_with_state")): _rebuild_parameter,
    }


_REBUILD_FUNCTIONS = (
    "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor",
    "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_sparse_tensor", "_rebuild_qtensor",
    "_rebuild_meta_tensor_no_storage", "_rebuild_device_tensor_from_numpy",
    "_rebuild_device_tensor_from_cpu_tensor",
)
_TORCH_PLACES = (
    ("torch", "Size"),
    ("torch", "Tensor"),
    ("torch", "device"),
    ("torch.storage", "UntypedStorage"),
    ("torch.nn.parameter", "Parameter"),
    ("torch.serialization", "_get_layout"),
    ("torch._tensor", "_rebuild_from_type_v2"),
    *(("torch._utils", name) for name in _REBUILD_FUNCTIONS),
    *(("torch", name) for name in (
        "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine",
        "per_channel_symmetric", "per_channel_affine_float_qparams")),
)


@cache
def default_names() -> frozenset[str]:
    """Every dotted name that is allowed without being asked for."""
    names = {f"{module}.{name}" for module, name in _TORCH_PLACES}
    names |= {f"torch.{name}" for name in (*access.BY_NAME, *access.NAMED)}
    names |= {f"torch.{name}" for name in access.STORAGE_NAMES.values()}
    names |= {f"torch.storage.{name}" for name in access.STORAGE_NAMES.values()}
    names |= set(_STANDARD)
    return frozenset(names)


_STANDARD: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.bytearray": bytearray,
    "builtins.set": set,
    "builtins.complex": complex,
    "_codecs.encode": _encode,
}


@cache
def default_global(module: str, name: str) -> Any:
    """The object of an allowed name."""
    standard = _STANDARD.get(f"{module}.{name}")
    if standard is not None:
        return standard
    if name.endswith("Storage") and name != "UntypedStorage":
        return storage_types.of_name(name)
    return resolve(module, name)


@cache
def default_ids() -> frozenset[int]:
    """Identities of the allowed objects (they live as long as the process)."""
    found = set(map(id, _STANDARD.values()))
    for name in default_names() - set(_STANDARD):
        module, _, attribute = name.rpartition(".")
        try:
            found.add(id(default_global(module, attribute)))
        except (AttributeError, ImportError):
            continue  # a part of the library that is not built; its name stays an error
    return frozenset(found)


def add(safe_globals: list[SafeGlobal]) -> None:
    """Add to the user's list."""
    _user_globals.update(safe_globals)


def remove(safe_globals: list[SafeGlobal]) -> None:
    """Take from the user's list."""
    _user_globals.difference_update(safe_globals)


def clear() -> None:
    """Empty the user's list."""
    _user_globals.clear()


def added() -> list[SafeGlobal]:
    """The user's list."""
    return list(_user_globals)


def user_names() -> dict[str, Any]:
    """The user's list by dotted name."""
    names: dict[str, Any] = {}
    for entry in _user_globals:
        if not isinstance(entry, tuple):
            names[f"{entry.__module__}.{entry.__qualname__}"] = entry
            continue
        if len(entry) != 2:
            raise ValueError("Expected tuple of length 2 (global, str of callable full path), "
                             f"but got tuple of length: {len(entry)}")
        target, path = entry
        if type(path) is not str:
            raise TypeError("Expected second item in tuple to be str of callable full path, but "
                            f"got: {type(path)}")
        names[path] = target
    return names


def user_global(module: str, name: str) -> Any:
    """The object that the user allowed under this name, or None.

    A file names classes of this package as PyTorch does; the user's class is compared by
    identity with what the name means here.
    """
    names = user_names()
    found = names.get(f"{module}.{name}")
    if found is None and is_torch_module(module):
        candidates = [value for value in names.values()
                      if getattr(value, "__qualname__", None) == name]
        if candidates:
            meant = resolve(module, name)
            found = next((value for value in candidates if value is meant), None)
    return found
