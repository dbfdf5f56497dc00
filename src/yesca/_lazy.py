"""Packages whose modules are loaded when one of their names is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from .base import absent


def lazily(
    package: str, homes: dict[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and the public names of a package.

    Args:
        package: its `__name__`.
        homes: module of the package -> the names it provides, separated by spaces.
        submodules: further modules that are public.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    modules = {*homes, *submodules}

    def __getattr__(name: str) -> Any:
        if name in home_of:
            value = getattr(import_module(f".{home_of[name]}", package), name)
        elif name in modules:
            value = import_module(f".{name}", package)
        else:
            raise absent.error(package, name)
        vars(sys.modules[package])[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *modules})

    return __getattr__, __dir__, list(home_of)
