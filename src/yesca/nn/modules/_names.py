"""Texts about modules: names of types for errors, indentation for repr, size tuples."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from types import FunctionType
from typing import Any

from ..._tensor import Tensor


def typename(value: Any) -> str:
    """The type of `value` as error texts name it: `int`, `torch.FloatTensor`, `package.Class`."""
    if isinstance(value, Tensor):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "") else f"{module}.{kind.__qualname__}"


def add_indent(text: str, spaces: int) -> str:
    """`text` with every line but the first moved right."""
    return text.replace("\n", "\n" + " " * spaces)


def answer_as(cls: type, base: type) -> None:
    """Let the functions that only `cls` has from `base` name `cls` in errors and in listings."""
    for value in vars(base).values():
        if isinstance(value, FunctionType):
            value.__qualname__ = f"{cls.__qualname__}.{value.__name__}"
            value.__module__ = cls.__module__


def to_tuple(value: Any, length: int) -> tuple:
    """`value` repeated `length` times, or its entries if it is a sequence."""
    return tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, length))
