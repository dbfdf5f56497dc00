"""What `compile` makes of a module: a module around it whose calls are recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

from .module import Module


class OptimizedModule(Module):
    """A module that calls another one compiled; everything else is the other one's.

    Parameters and buffers are shared; their names in `state_dict()` begin with `_orig_mod.`, as
    in PyTorch.
    """

    _orig_mod: Module
    _OWN = frozenset({"_orig_mod", "forward", "_compiled"})

    def __init__(self, module: Module, compiled: Callable[[Any], Any]) -> None:
        super().__init__()
        self._orig_mod = module
        self._compiled = compiled
        self.forward = compiled(module.__call__)

    def __getstate__(self) -> dict[str, Any]:
        """Recordings stay behind: they belong to the module that this one calls."""
        state = super().__getstate__()
        del state["forward"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.forward = self._compiled(self._orig_mod.__call__)

    @property
    def training(self) -> bool:  # type: ignore[override]
        module = self.__dict__["_modules"].get("_orig_mod")
        return True if module is None else module.training

    @training.setter
    def training(self, value: bool) -> None:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is not None:
            module.training = value

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._OWN or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        elif name == "training":
            self._orig_mod.training = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
