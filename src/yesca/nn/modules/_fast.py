"""Puts builtins of machine code on Module: its call, and the look-up of what it registers."""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from types import FunctionType, WrapperDescriptorType
from typing import Any

from ...runtime import builtins, layout, units
from . import _hooks

_OWN_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_TABLES = ("_parameters", "_buffers", "_modules")


def install(cls: type) -> None:
    """Replace `__call__` and `__getattr__` by builtins, which keep them as their twins."""
    if not layout.uses_builtins():
        return
    from ...runtime.native import fastmodule as native

    kept: list[Any] = [cls.__dict__["__call__"], cls.__dict__["__getattr__"]]
    kept += [sys.intern("forward"), sys.intern("_compiled_call_impl")]
    kept += [FunctionType, dict, OrderedDict]
    _write(native, range(native.CALL, native.ORDERED + 8, 8), kept)
    for place, names in ((native.HOOKS, _OWN_HOOKS), (native.TABLES, _TABLES)):
        _write(native, range(place, place + 8 * len(names), 8), [*map(sys.intern, names)])
    everywhere = [getattr(_hooks, f"_global{name}") for name in _OWN_HOOKS]
    _write(native, range(native.GLOBALS, native.GLOBALS + 32, 8), everywhere)
    wrapper = builtins.call_wrapper(cls, native.call)
    if wrapper is not None:
        cls.__call__ = wrapper  # type: ignore[operator]
        cls.__signature__ = _SignatureOfCall()  # type: ignore[attr-defined]
    doc = cls.__dict__["__getattr__"].__doc__
    cls.__getattr__ = builtins.method(  # type: ignore[attr-defined]
        cls, native.get_attribute, "__getattr__", doc)


class _SignatureOfCall:
    """What `inspect.signature(module)` gives, which does not look at the builtin in the slot."""

    def __get__(self, module: Any, cls: type) -> Any:
        if module is None or not isinstance(cls.__call__, WrapperDescriptorType):
            raise AttributeError("__signature__")
        from inspect import signature

        return signature(module.__call__)


def _write(native: Any, places: range, things: list[Any]) -> None:
    start = units.address(native.known)
    for place, thing in zip(places, things, strict=True):
        builtins.keep_forever(thing)
        ctypes.c_int64.from_address(start + place).value = id(thing)
