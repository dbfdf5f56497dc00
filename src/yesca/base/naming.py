"""Under which name a public class says it lives: `torch` or `yesca`.

A class prints, and is pickled, by its `__module__`. Under `python -m yesca` the name `torch` is
answered by yesca, so PyTorch's own names are right: `<class 'torch.Tensor'>`, and a pickled
module is one that PyTorch reads too. After a plain `import yesca` there may be no `torch`, or
another one; a class that claimed to live there could not be pickled. So the name follows the
mode, which the runner sets before anything else of yesca is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

C = TypeVar("C", bound=type)

#: Package that programs import -> the package that answers for it.
ANSWERED = {"torch": "yesca", "torchvision": "yesca.vision", "triton": "yesca.kernels"}

_answers_torch = False


def answer_as_torch() -> None:
    """Public names start with `torch` from now on (the runner calls this first of all)."""
    global _answers_torch
    _answers_torch = True


def answers_torch() -> bool:
    """Whether `import torch` gives yesca in this process."""
    return _answers_torch


def public_module(name: str) -> str:
    """The `__module__` for something that PyTorch shows as living in `name`.

    >>> public_module("torch.nn.parameter")
    'yesca.nn.parameter'
    >>> public_module("torchvision.transforms")
    'yesca.vision.transforms'
    """
    if _answers_torch:
        return name
    root, dot, inner = name.partition(".")
    return ANSWERED.get(root, root) + dot + inner


def answered_module(name: str) -> str:
    """The name by which PyTorch's programs import a module of this package.

    >>> answered_module("yesca.nn.modules"), answered_module("yesca.vision.transforms")
    ('torch.nn.modules', 'torchvision.transforms')
    """
    for theirs, ours in reversed(ANSWERED.items()):
        if name == ours or name.startswith(ours + "."):
            return theirs + name[len(ours):]
    return name


def lives_in(name: str) -> Callable[[C], C]:
    """Class decorator: `@lives_in("torch")` makes a class print as PyTorch's does."""

    def mark(cls: C) -> C:
        cls.__module__ = public_module(name)
        return cls

    return mark


def own_constructor(cls: C) -> C:
    """Give `cls` a copy of the constructor that it shares with others, under its own name.

    Python names the function in the error for missing or unknown arguments; that of a private
    base would say nothing to who called the class.
    """
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    if owner is cls or not owner.__name__.startswith("_") or cls.__name__.startswith("_"):
        return cls
    shared = vars(owner)["__init__"]
    made = FunctionType(
        shared.__code__, shared.__globals__, "__init__", shared.__defaults__, shared.__closure__
    )
    made.__kwdefaults__, made.__annotations__ = shared.__kwdefaults__, shared.__annotations__
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    cls.__init__ = made  # type: ignore[misc]
    return cls
