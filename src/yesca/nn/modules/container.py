"""Modules that hold modules or parameters: Sequential, lists and dictionaries."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ...base.frames import warn
from ._names import add_indent
from ._parameter_containers import ParameterDict, ParameterList
from .module import Module

__all__ = [
    "Container",
    "Sequential",
    "ModuleList",
    "ModuleDict",
    "ParameterList",
    "ParameterDict",
]


class Container(Module):
    """The deprecated way to give a module children by keyword."""

    def __init__(self, **kwargs: Any) -> None:
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What Sequential and ModuleList share: children in order, reached by index."""

    def _key_at(self, index: int) -> str:
        index = operator.index(index)
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return list(self._modules)[index]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        keys = list(self._modules)
        for key in keys[index] if isinstance(index, slice) else [self._key_at(index)]:
            delattr(self, key)
        remaining = list(self._modules.values())
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(remaining))

    def _make_room(self, index: int) -> None:
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]

    def append(self, module: Module):
        """Add `module` at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice):
        """Remove and return the module at `key`."""
        removed = self[key]
        del self[key]
        return removed


class Sequential(_Numbered):
    """Calls its modules one after the other, each on the result of the one before.

    Args: the modules, or one OrderedDict of names to modules.

    >>> import yesca as torch
    >>> torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(index), module) for index, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: int | slice):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key_at(index)]

    def __add__(self, other: Sequential) -> Sequential:
        self._check_addend(other)
        return Sequential(*chain(self, other))

    def __iadd__(self, other: Sequential) -> Sequential:
        self._check_addend(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_addend(self, other) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, "
                f"but {type(other)} is given."
            )

    def _check_factor(self, factor) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")

    def insert(self, index: int, module: Module) -> Sequential:
        """Put `module` before position `index`; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        index = index + size if index < 0 else index
        self._make_room(index)
        self._modules[str(index)] = module
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add every module of `sequential` at the end; returns self."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list of modules that are registered; it has no forward of its own.

    >>> import yesca as torch
    >>> torch.nn.ModuleList([torch.nn.ReLU() for _ in range(3)])
    ModuleList(
      (0-2): 3 x ReLU()
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key_at(index)]

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Put `module` before position `index`."""
        self._make_room(index)
        self._modules[str(index)] = module

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add every module of `modules` at the end; returns self."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for index, module in enumerate(modules, start=len(self)):
            self.add_module(str(index), module)
        return self

    def __repr__(self) -> str:
        runs: list[list] = []  # [first index, last index, text]
        for index, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = index
            else:
                runs.append([index, index, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in runs:
            if first == last:
                line = f"({first}): {text}"
            else:
                line = f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(add_indent(line, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules that are registered, in order of insertion."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module of `key`."""
        return self._modules.pop(key)

    def keys(self):
        """The names, in order."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs, in order."""
        return self._modules.items()

    def values(self):
        """The modules, in order."""
        return self._modules.values()

    def update(self, modules) -> None:
        """Add modules from a mapping or an iterable of (name, module) pairs."""
        for key, module in pairs_of(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


def pairs_of(source, owner: str, called: str):
    """The (key, value) pairs of a mapping, a dictionary-like module or a list of pairs."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{called}.update should be called with an iterable of key/value pairs, but got "
            + type(source).__name__
        )
    if isinstance(source, (Mapping, ModuleDict, ParameterDict)):
        return list(source.items())
    pairs = []
    for index, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{owner} update sequence element #{index} should be Iterable; is"
                + type(pair).__name__
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{owner} update sequence element #{index} has length {len(pair)}; 2 is required"
            )
        pairs.append(pair)
    return pairs
