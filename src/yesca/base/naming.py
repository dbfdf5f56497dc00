"""Under which name a public class says it lives: `torch` or `yesca`.

A class prints, and is pickled, by its `__module__`. Under `python -m yesca` the name `torch` is
answered by yesca, so PyTorch's own names are right: `<class 'torch.Tensor'>`, and a pickled
module is one that PyTorch reads too. After a plain `import yesca` there may be no `torch`, or
another one; a class that claimed to live there could not be pickled. So the name follows the
mode, which the runner sets before anything else of yesca is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

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
    """
    return name if _answers_torch else name.replace("torch", "yesca", 1)


def lives_in(name: str) -> Callable[[C], C]:
    """Class decorator: `@lives_in("torch")` makes a class print as PyTorch's does."""

    def mark(cls: C) -> C:
        cls.__module__ = public_module(name)
        return cls

    return mark
