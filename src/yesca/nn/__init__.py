"""Neural networks: modules, their functions, starts, and utilities.

The names are those of `torch.nn`; each is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base import absent
from . import modules as _modules

_SUBMODULES = ("attention", "common_types", "functional", "grad", "init", "modules", "parameter",
               "parallel", "quantized", "utils")
#: Names that are no modules' -> the file that has them.
_ELSEWHERE = {
    "Buffer": "parameter", "Parameter": "parameter", "UninitializedBuffer": "parameter",
    "UninitializedParameter": "parameter", "DataParallel": "parallel"}

__all__ = sorted((*_modules.__all__, *_ELSEWHERE))


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """What a module's `**kwargs` say of the tensors it makes: device, dtype, memory_format.

    They may stand in an argument `factory_kwargs` of their own, each once.

    >>> factory_kwargs({"dtype": "float64", "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': 'float64'}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - simple - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for name in simple & kwargs.keys():
        if name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        made[name] = kwargs[name]
    return made


def __getattr__(name: str):
    if name in _SUBMODULES:
        value = import_module(f".{name}", __package__)
    elif name in _ELSEWHERE:
        value = getattr(import_module(f".{_ELSEWHERE[name]}", __package__), name)
    elif name in _modules.__all__:
        value = getattr(_modules, name)
    else:
        raise absent.error(__name__, name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
