"""Names in pickles: `torch.*` on disk, this package's objects in memory.

Checkpoints name classes and functions as PyTorch does, so that either library reads the files
of the other. This module is the one place that knows which name means what. Unpickling is by
nature resolution of strings, so modules are imported here by string, and only when a file
names them.
"""

from __future__ import annotations

from importlib import import_module
from types import BuiltinFunctionType, FunctionType, ModuleType

from .base.naming import ANSWERED, answered_module

PACKAGE = (__package__ or "").partition(".")[0]

#: Name on disk -> module here, for what lives in another place than in PyTorch. A name that is
#: not listed is looked for in the module of the same path, then in the packages around it.
_PLACES: dict[tuple[str, str], str] = {
    ("torch", "Size"): "core.spec",
    ("torch", "Tensor"): "_tensor",
    ("torch._tensor", "Tensor"): "_tensor",
    ("torch._C", "TensorBase"): "_tensor",
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
    ("torch._utils", "_rebuild_qtensor"): "_quantized",
    ("torch", "ScriptObject"): "ao.nn.quantized.modules.script_objects",
    **{("torch", name): "core.layouts" for name in (
        "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine",
        "per_channel_symmetric", "per_channel_affine_float_qparams")},
    ("torch.nn.modules.module", "_WrappedHook"): "nn.modules._hooks",
    ("torch.utils.hooks", "RemovableHandle"): "base.handles",
    ("torch.nn.modules.activation", "MultiheadAttention"): "nn.modules.attention",
    ("torch.nn.modules.container", "ParameterList"): "nn.modules._parameter_containers",
    ("torch.nn.modules.container", "ParameterDict"): "nn.modules._parameter_containers",
    ("torch.optim", "Adafactor"): "optim._adafactor",
    ("torch.optim", "Muon"): "optim._muon",
    **{("torch.autograd.grad_mode", name): "autograd.modes" for name in (
        "no_grad", "enable_grad", "inference_mode", "set_grad_enabled")},
    ("torch._utils", "_rebuild_parameter"): "nn.parameter",
    ("torch._utils", "_rebuild_parameter_with_state"): "nn.parameter",
}
#: The attribute that holds the object, where it is not the last part of its name.
_ATTRIBUTES = {"device": "Device", "dtype": "DType", "TensorBase": "Tensor"}
#: What objects of the rooms are called on disk, by the room's path within the package.
_ON_DISK = {
    (place, _ATTRIBUTES.get(name, name)): (module, name)
    for (module, name), place in reversed(_PLACES.items())
}
_ON_DISK |= {(f"ao.nn.quantized.modules.{module}", name): ("torch", "ScriptObject")
             for module, name in (("packing", "PackedLinear"), ("packed_cells", "PackedCell"),
                                  ("packed_embeddings", "PackedEmbedding"))}
#: Rooms of the engine, which PyTorch has not got: their public names are found in `torch`.
_ENGINE_ROOMS = {"base", "core", "loops", "passes", "targets", "operators", "runtime", "dispatch"}


#: What modules of this package are called: `torch` while a program runs as PyTorch's.
_ROOTS = {PACKAGE, *ANSWERED}
#: Modules with functions that are builtins, here or in PyTorch, whose type names no module.
_OF_BUILTINS = ("nn.functional", "linalg", "special", "fft", "")
#: What PyTorch's files may hold and this package has not got: name on disk -> what it is for.
_ABSENT = {
    ("torch._utils", "_rebuild_nested_tensor"): "nested tensors",
    ("torch._utils", "_rebuild_wrapper_subclass"): "tensors that wrap others",
}


def is_torch_module(module: str) -> bool:
    """Whether a module's name on disk means this package."""
    return module.partition(".")[0] in ANSWERED


def is_known(module: str, name: str) -> bool:
    """Whether the name is one of those that `resolve` refuses with a reason."""
    return (module, name) in _ABSENT


def resolve(module: str, name: str) -> object:
    """The object that `module.name` in a PyTorch pickle means here.

    Raises AttributeError if there is none, NotImplementedError if it is for a kind of tensor that
    is not there.
    """
    if (module, name) in _ABSENT:
        raise NotImplementedError(f"the file holds {_ABSENT[module, name]} ({module}.{name}), "
                                  f"which {PACKAGE} does not have; save dense tensors instead")
    place = _PLACES.get((module, name))
    if place is not None:
        return getattr(import_module(f"{PACKAGE}.{place}"), _ATTRIBUTES.get(name, name))
    if module == "torch":
        from .core.dtypes import BY_NAME

        if name in BY_NAME:
            return BY_NAME[name]
    if module == "torch._C" and name == "_VariableFunctionsClass":
        return import_module(PACKAGE)  # files ask for its attributes: `torch.tanh`
    if module.startswith("torch._C._"):
        return _builtin(name)
    root, _, rest = module.partition(".")
    path = ".".join([ANSWERED[root], rest]).rstrip(".")
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
    if isinstance(obj, BuiltinFunctionType):
        return _place_of_builtin(obj)
    root, _, rest = module.partition(".")
    if root not in _ROOTS:
        return None
    if answered_module(module).partition(".")[0] != "torch":
        return answered_module(module), short
    known = _ON_DISK.get((rest, short))
    if known is not None:
        return known
    parts = rest.split(".") if rest else []
    hidden = bool(parts) and (
        parts[0] in _ENGINE_ROOMS or any(part.startswith("_") for part in parts))
    # Classes have their modules in common with PyTorch, functions only their public names.
    function = isinstance(obj, FunctionType)
    public = _offered(obj, short) if function and (hidden or not parts) else None
    if public is None and (hidden or function):
        public = _public_place(obj, parts, short)
    return public if public or hidden else (".".join(["torch", *parts]), short)


def _public_place(obj: object, parts: list[str], name: str) -> tuple[str, str] | None:
    """A public module that offers a private module's object by its own name.

    The nearest one for a class, which `weights_only` knows by its module, else the outermost.
    """
    depths = range(len(parts))
    for depth in reversed(depths) if isinstance(obj, type) else depths:
        # Above `nn._functional.activations`: the package, `nn`, `nn.functional`, ...
        for path in (parts[:depth], [*parts[:depth], parts[depth].lstrip("_")]):
            if _attribute(_module(".".join([PACKAGE, *path])), name) is obj:
                return ".".join(["torch", *path]), name
    return None


def _builtin(name: str) -> object:
    """The function that PyTorch's compiled module has under this name (`linalg_norm`, `gelu`)."""
    for path in _OF_BUILTINS:
        if path in ("", "nn.functional") or name.startswith(f"{path}_"):
            module = _module(f"{PACKAGE}.{path}".rstrip("."))
            found = _attribute(module, name.removeprefix(f"{path}_"))
            if found is not None:
                return found
    raise AttributeError(f"{PACKAGE} has no function {name!r}, so this file cannot be loaded")


def _place_of_builtin(function: BuiltinFunctionType) -> tuple[str, str] | None:
    from .dispatch.fast import is_method, is_operator

    if not is_operator(function) or is_method(function):
        return None
    # Where it is not found, it is another name of one: `torch.absolute` is called abs.
    return _offered(function, function.__name__) or _offered(None, function.__name__)


def _offered(function: object, name: str) -> tuple[str, str] | None:
    """The module of functions that offers this one, or if None anything, by the name."""
    for path in _OF_BUILTINS:
        short = name.removeprefix(f"{path}_")
        found = _attribute(_module(f"{PACKAGE}.{path}".rstrip(".")), short)
        if found is not None and (function is None or found is function):
            return f"torch.{path}".rstrip("."), short
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
        holder = getattr(holder, part, None) if part else None
        if holder is None:
            return None
    return holder
