"""Modules of settings: names and defaults that are fixed, values that programs assign."""

from __future__ import annotations

import copy
import sys
from contextlib import ContextDecorator
from types import ModuleType
from typing import Any


class ConfigModule(ModuleType):
    """A module whose public names are settings.

    A name with a dot in it (`triton.cudagraphs`) is an attribute of an attribute. An alias stands
    for a setting of this module or of another one. Other names raise AttributeError, to read and
    to assign.
    """

    _values: dict[str, Any]
    _aliases: dict[str, tuple[ConfigModule, str]]

    def _place(self, name: str) -> tuple[dict[str, Any], str]:
        """The table that holds a setting, and its name there."""
        home, name = self._aliases.get(name, (self, name))
        if name not in home._values:
            raise AttributeError(f"{self._shown(name)} does not exist")
        return home._values, name

    def _shown(self, name: str) -> str:
        return f"torch.{self.__name__.partition('.')[2]}.{name}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if any(known.startswith(name + ".") for known in self._values):
            return Group(self, name)
        values, place = self._place(name)
        return values[place]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            values, place = self._place(name)
            values[place] = value

    def patch(self, *arguments: Any, **changes: Any) -> Patch:
        """Other values for a while: `patch(name=value)`, `patch("name", value)`, `patch({...})`.

        The result is a context manager and a decorator.
        """
        if len(arguments) == 2:
            changes = {arguments[0]: arguments[1]}
        elif arguments:
            if not isinstance(arguments[0], dict):
                raise AssertionError(
                    "first argument must be a dict when passing a single positional arg to patch")
            changes = arguments[0]
        return Patch(self, dict(changes))

    def get_config_copy(self) -> dict[str, Any]:
        """All settings, in a dictionary of the caller's own."""
        return copy.deepcopy(self._values)

    to_dict = shallow_copy_dict = get_config_copy


class Group:
    """Settings whose names begin alike: `config.triton`."""

    __slots__ = ("_home", "_name")

    def __init__(self, home: ConfigModule, name: str) -> None:
        object.__setattr__(self, "_home", home)
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, f"{self._name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._home, f"{self._name}.{name}", value)


class Patch(ContextDecorator):
    """Other values for some settings, while a block or a function runs."""

    def __init__(self, home: ConfigModule, changes: dict[str, Any]) -> None:
        self.home, self.changes = home, changes
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        before = {name: getattr(self.home, name) for name in self.changes}
        for name, value in self.changes.items():
            setattr(self.home, name, value)
        self.before.append(before)

    def __exit__(self, *problem: object) -> None:
        for name, value in self.before.pop().items():
            setattr(self.home, name, value)


def install_config_module(name: str, defaults: dict[str, Any],
                          aliases: dict[str, tuple[ModuleType, str]] | None = None) -> None:
    """Make the module of this name one of settings; called at its end."""
    module = sys.modules[name]
    vars(module).update(_values=dict(defaults), _aliases=dict(aliases or {}))
    module.__class__ = ConfigModule
