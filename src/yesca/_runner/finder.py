"""Answers `import torch` and every submodule of it with yesca's own module objects.

`torch is yesca`, `torch.nn is yesca.nn` and `torchvision is yesca.vision`: nothing is loaded twice.
While programs run as PyTorch's, the public modules, classes and functions also carry PyTorch's
names, so that they print, and are pickled, as a PyTorch user expects.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

from .._names import MODULE_ALIASES
from ..base import absent, naming

PACKAGE = __name__.partition(".")[0]
_PREFIX = PACKAGE + "."
_BACK = {ours: theirs for theirs, ours in MODULE_ALIASES.items()}

#: Rooms that PyTorch has no counterpart of: they keep their own names.
ROOMS = frozenset(
    "base core loops passes targets operators runtime dispatch graph _runner _names".split()
)


def to_yesca(name: str) -> str:
    """`torch.nn.functional` -> `yesca.nn.functional`; names of other packages stay."""
    root, dot, inner = name.partition(".")
    if root not in naming.ANSWERED:
        return name
    if naming.ANSWERED[root] == PACKAGE:
        inner = MODULE_ALIASES.get(inner, inner)
    return naming.ANSWERED[root] + dot + inner


def answers(name: str) -> bool:
    """Whether a module's name is `torch` or below it, or of another package answered here."""
    return name.partition(".")[0] in naming.ANSWERED


def to_torch(name: str) -> str | None:
    """The inverse of `to_yesca`; None for a room that PyTorch does not have."""
    root, dot, inner = naming.answered_module(name).partition(".")
    return None if inner.partition(".")[0] in ROOMS else root + dot + _BACK.get(inner, inner)


def rename(module: ModuleType) -> None:
    """Give a public module, and what it defines, the names that PyTorch shows."""
    ours = module.__name__
    theirs = to_torch(ours)
    if theirs is None or not f"{ours}.".startswith(_PREFIX):
        return
    module.__name__ = theirs
    if ours != PACKAGE:  # the package itself appears as torch once a program imports it
        sys.modules.setdefault(theirs, module)
    for value in list(vars(module).values()):
        if isinstance(value, (type, FunctionType)) and value.__module__ == ours:
            value.__module__ = theirs


class AliasLoader:
    """Gives an import of `torch.x` the module `yesca.x`."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just put the alias's spec there


class FollowedLoader:
    """Loads a module with its own loader, then calls a function with it, and leaves no trace."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)  # get_code, get_source, is_package ...


class TorchFinder:
    """The finder that stands first in `sys.meta_path` while a program runs."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if answers(name):
            return self._alias(name)
        if name.startswith(_PREFIX):
            return self._followed(name, path, target, rename)
        if name == "multiprocessing.spawn":
            from .workers import adopt

            return self._followed(name, path, target, adopt)
        return None

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """What `importlib.metadata` asks for the version and the metadata of `torch`."""
        from .distribution import distributions

        return distributions(context)

    def invalidate_caches(self) -> None:
        """Part of the finder protocol: nothing is cached here."""

    def _alias(self, name: str) -> ModuleSpec | None:
        ours = to_yesca(name)
        found = importlib.util.find_spec(ours)
        if found is None:
            # `import` is told what is wrong; importlib.util.find_spec("torch.x") gets its None.
            if sys._getframe(3).f_code.co_name != "_find_and_load_unlocked":
                return None
            raise ModuleNotFoundError(absent.import_text(name), name=name)
        loader: Any = AliasLoader(ours)
        spec = ModuleSpec(name, loader, origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec

    def _followed(
        self,
        name: str,
        path: Sequence[str] | None,
        target: ModuleType | None,
        then: Callable[[ModuleType], None],
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = FollowedLoader(spec.loader, then)  # type: ignore[assignment]
                return spec
        return None


def install() -> None:
    """Answer `torch` with yesca from now on, in this process and in its worker processes."""
    if any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        return
    naming.answer_as_torch()
    sys.meta_path.insert(0, TorchFinder())  # type: ignore[arg-type]
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith(_PREFIX):
            rename(module)
    spawn = sys.modules.get("multiprocessing.spawn")
    if spawn is not None:
        from .workers import adopt

        adopt(spawn)
