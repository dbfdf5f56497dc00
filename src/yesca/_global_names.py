"""Names in pickles: `torch.*` on disk, this package's objects in memory.

Checkpoints name classes and functions as PyTorch does, so that either library reads the files
of the other. This module is the one place that knows which name means what. Unpickling is by
nature resolution of strings, so modules are imported here by string, and only when a file
names them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

PACKAGE = (__package__ or "").partition(".")[0]

#: Name on disk -> module here, for what lives in another place than in PyTorch. A name that is
#: not listed is looked for in the module of the same path, then in the packages around it.
_PLACES: dict[tuple[str, str], str] = {
    ("torch", "Size"): "core.spec",
    ("torch", "Tensor"): "_tensor",
    ("torch._tensor", "Tensor"): "_tensor",
    ("torch", "device"): "core.devices",
    ("torch", "dtype"): "core.dtypes",
    ("torch", "UntypedStorage"): "core.storage",
    ("torch.storage", "UntypedStorage"): "core.storage",
    ("torch.storage", "_load_from_bytes"): "serialization",
    ("torch.serialization", "_get_layout"): "serialization",
    ("torch._tensor", "_rebuild_from_type"): "_rebuild",
    ("torch._tensor", "_rebuild_from_type_v2"): "_rebuild",
    **{
        ("torch._utils", name): "_rebuild"
        for name in (
            "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
            "_rebuild_meta_tensor_no_storage", "_rebuild_device_tensor_from_cpu_tensor",
            "_rebuild_device_tensor_from_numpy", "_rebuild_sparse_tensor",
        )
    },
    ("torch._utils", "_rebuild_parameter"): "nn.parameter",
    ("torch._utils", "_rebuild_parameter_with_state"): "nn.parameter",
}
#: The attribute that holds the object, where it is not the last part of its name.
_ATTRIBUTES = {"device": "Device", "dtype": "DType"}
#: What objects of the rooms are called on disk, by the room's path within the package.
_ON_DISK = {
    (place, _ATTRIBUTES.get(name, name)): (module, name)
    for (module, name), place in reversed(_PLACES.items())
}
#: Rooms of the engine, which PyTorch has not got: their public names are found in `torch`.
_ENGINE_ROOMS = {"base", "core", "loops", "passes", "targets", "operators", "runtime", "dispatch"}


#: What modules of this package are called: `torch` while a program runs as PyTorch's.
_ROOTS = {"torch", PACKAGE}


def is_torch_module(module: str) -> bool:
    """Whether a module's name on disk means this package."""
    return module == "torch" or module.startswith("torch.")


def resolve(module: str, name: str) -> object:
    """The object that `module.name` in a PyTorch pickle means here.

    Raises AttributeError if there is none.
    """
    place = _PLACES.get((module, name))
    if place is not None:
        return getattr(import_module(f"{PACKAGE}.{place}"), _ATTRIBUTES.get(name, name))
    if module == "torch":
        from .core.dtypes import BY_NAME

        if name in BY_NAME:
            return BY_NAME[name]
    path = PACKAGE + module[len("torch"):]
    while path:
        found = _attribute(_module(path), name)
        if found is not None:
            return found
        path = path.rpartition(".")[0]
    raise AttributeError(f"Can't get attribute '{name}' on module '{module}': {PACKAGE} has no "
                         "counterpart of it, so this file cannot be loaded")


def torch_name(obj: object, name: str | None = None) -> tuple[str, str] | None:
    """(module, name) under which PyTorch knows `obj`; None for what is not this package's."""
    module = getattr(obj, "__module__", None) or ""
    short = name or getattr(obj, "__qualname__", "")
    root, _, rest = module.partition(".")
    if root not in _ROOTS:
        return None
    known = _ON_DISK.get((rest, short))
    if known is not None:
        return known
    parts = rest.split(".") if rest else []
    if parts and (parts[0] in _ENGINE_ROOMS or any(part.startswith("_") for part in parts)):
        return _public_place(obj, parts, short)
    return ".".join(["torch", *parts]), short


def _public_place(obj: object, parts: list[str], name: str) -> tuple[str, str] | None:
    """The outermost package that offers a private module's object by its own name."""
    for depth in range(len(parts)):
        path = ".".join([PACKAGE, *parts[:depth]])
        if _attribute(_module(path), name) is obj:
            return ".".join(["torch", *parts[:depth]]), name
    return None


def _module(path: str) -> ModuleType | None:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        # Only "there is no such module" may be passed over, not a failure inside of one.
        if error.name is not None and (path == error.name or path.startswith(f"{error.name}.")):
            return None
        raise


def _attribute(holder: object, dotted: str) -> object:
    for part in dotted.split("."):
        holder = getattr(holder, part, None)
        if holder is None:
            return None
    return holder
