"""The tensor's metaclass: methods come from the records when they are first asked for."""

from __future__ import annotations

from typing import Any

from .dispatch import functions


class TensorMeta(type):
    """Looks methods up in the records when the class has not got them yet."""

    def __getattr__(cls, name: str) -> Any:
        made = None if name.startswith("__") else functions.bound_method(name)
        if made is None:
            raise AttributeError(f"type object 'torch.{cls.__name__}' has no attribute '{name}'")
        tensor = [c for c in cls.__mro__ if type(c) is TensorMeta][-1]  # subclasses share it
        setattr(tensor, name, made)
        return made

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *functions.names()})
