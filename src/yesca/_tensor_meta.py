"""The tensor's metaclass, and methods that come from the records when they are first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .base import absent
from .dispatch import functions


class TensorMeta(type):
    """Looks methods up in the records when the class has not got them yet."""

    def __getattr__(cls, name: str) -> Any:
        made = None if name.startswith("__") else functions.bound_method(name)
        if made is None:
            raise AttributeError(f"type object 'torch.{cls.__name__}' has no attribute '{name}'"
                                 f"{absent.note('Tensor', name)}")
        tensor = [c for c in cls.__mro__ if type(c) is TensorMeta][-1]  # subclasses share it
        setattr(tensor, name, made)
        return made

    def __dir__(cls) -> list[str]:
        held = cls.__dict__
        own = (n for n in super().__dir__() if not isinstance(held.get(n), Promise | Absence))
        return sorted({*own, *functions.method_names()})


class Promise:
    """Stands in the tensor's class for a method that is made when somebody asks for it.

    A `__getattr__` of the class would do the same, but with one CPython makes a bound method for
    each call of any method, which takes longer than the call.
    """

    __slots__ = ("owner", "name")

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, thing: Any, cls: type) -> Any:
        made = functions.bound_method(self.name)
        if made is not None:
            setattr(self.owner, self.name, made)
        elif self.owner.__dict__.get(self.name) is self:  # it is a function only
            delattr(self.owner, self.name)
        return getattr(cls if thing is None else thing, self.name)


class Absence:
    """Stands in the tensor's class for what PyTorch's has and this one lacks, to say so."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, thing: Any, cls: type) -> Any:
        raise AttributeError(f"{cls.__name__!r} object has no attribute {self.name!r}"
                             f"{absent.note('Tensor', self.name)}", name=self.name)


def promise(cls: type, names: Iterable[str]) -> None:
    """Let the class have these methods, and their in-place forms, unless it has others."""
    for name in names:
        for own in (name, name + "_"):
            if own not in cls.__dict__:
                setattr(cls, own, Promise(cls, own))
    for name in absent.names("Tensor"):
        setattr(cls, name, Absence(name))
