"""yesca: PyTorch's public API in pure Python, with its own small compiler.

    import yesca as torch

Names are looked up when they are first used, so that importing the package costs milliseconds;
`_names.py` says where each one lives.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from . import _names
from .runtime import forks as _forks  # noqa: F401 - a fork waits for imports in other threads
from .torch_version import __version__ as __version__

if TYPE_CHECKING:
    from . import autograd as autograd
    from . import functional as functional
    from . import nn as nn
    from . import optim as optim
    from . import utils as utils
    from ._tensor import Tensor as Tensor
    from .core.devices import Device
    from .core.dtypes import DType
    from .core.spec import Size as Size

    device, dtype = Device, DType

_LOCATIONS = _names.locations()
_PACKAGE = __package__ or "yesca"  # __name__ is "torch" while a program runs as PyTorch's


def _show_error(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    """What shows the error that ends a program: with few lines of the package."""
    from .base.frames import show

    show(kind, error, traceback)


if sys.excepthook is sys.__excepthook__:  # unless the program has a hook of its own
    sys.excepthook = _show_error


def __getattr__(name: str) -> Any:
    if name in _LOCATIONS:
        value = _from_room(*_LOCATIONS[name], public=name)
    elif name in _names.SUBMODULES:
        return _submodule(name)  # the import system sets the attribute
    elif name in _names.CONSTANTS:
        value = _names.CONSTANTS[name]
    elif name == "__all__":
        return _public_names()
    else:
        value = _free_function(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names()})


def _free_function(name: str) -> Any:
    """A name that stands in no table: a function of `yesca.functional`, or an error."""
    from importlib.util import find_spec

    # `from .. import room` asks here before it imports the room: it must not load the functions.
    if name.startswith("__") or find_spec(f"{_PACKAGE}.{name}") is not None:
        raise _missing(name)
    try:
        return getattr(_loaded_functional(), name)
    except AttributeError:
        raise _missing(name) from None


def _from_room(room: str, internal: str, public: str) -> Any:
    try:
        module = importlib.import_module(f"{_PACKAGE}.{room}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{_PACKAGE}.{room}.".startswith(error.name + "."):
            raise
        raise _missing(public) from None
    try:
        return getattr(module, internal)
    except AttributeError:
        raise _missing(public) from None


def _submodule(name: str) -> Any:
    target = f"{_PACKAGE}.{_names.MODULE_ALIASES.get(name, name)}"
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name != target:
            raise
        raise _missing(name) from None


def _loaded_functional() -> Any:
    """`yesca.functional`, or None while it is itself being imported."""
    module = importlib.import_module(f"{_PACKAGE}.functional")
    spec = module.__spec__
    return None if spec is not None and getattr(spec, "_initializing", False) else module


def _missing(name: str) -> Exception:
    """The error for a name that PyTorch has and yesca lacks, or that nobody has."""
    from .base import absent

    return absent.error(_PACKAGE, name)


def _public_names() -> list[str]:
    functional = _loaded_functional()
    functions = [] if functional is None else dir(functional)
    names = {*_LOCATIONS, *_names.SUBMODULES, *_names.CONSTANTS, *functions}
    return sorted(name for name in names if not name.startswith("_"))
