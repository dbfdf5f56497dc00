"""Neural networks: modules, their functions, starts, and utilities.

The names are those of `torch.nn`; each is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module

from ..base import absent
from . import modules as _modules

_SUBMODULES = ("attention", "functional", "grad", "init", "modules", "parameter", "utils")
_PARAMETERS = ("Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter")

__all__ = sorted((*_modules.__all__, *_PARAMETERS))


def __getattr__(name: str):
    if name in _SUBMODULES:
        value = import_module(f".{name}", __package__)
    elif name in _PARAMETERS:
        value = getattr(import_module(".parameter", __package__), name)
    elif name in _modules.__all__:
        value = getattr(_modules, name)
    else:
        raise absent.error(__name__, name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
