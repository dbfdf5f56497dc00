"""The source of a kernel's function: its syntax tree, and the names around it."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


class Function:
    """A Python function that is to run on blocks."""

    def __init__(self, python: Callable[..., Any]) -> None:
        self.python = python
        self.name = python.__name__
        self.signature = inspect.signature(python)
        try:
            lines, self.first = inspect.getsourcelines(python)
        except (OSError, TypeError) as error:
            raise ValueError(f"@jit functions should be defined in a Python file: the source of "
                             f"{self.name} is not to be had ({error})") from error
        self.text = textwrap.dedent("".join(lines))
        self.lines = self.text.splitlines()
        found = ast.parse(self.text).body[0]
        if not isinstance(found, ast.FunctionDef):
            raise ValueError(f"[kernel] {self.name} is no function written with `def`")
        if inspect.isgeneratorfunction(python):
            raise ValueError(f"[kernel] {self.name} is a generator, whose body no launch would "
                             "run; a kernel has no `yield`")
        self.tree = found

    def line(self, node: Any) -> tuple[str, str]:
        """(file, line and function; text) of a part of the syntax tree."""
        number = getattr(node, "lineno", 1)
        where = f"{self.python.__code__.co_filename}:{self.first + number - 1}, in {self.name}"
        return where, self.lines[number - 1]

    def outer(self, name: str, missing: Any) -> Any:
        """A name that the function does not assign."""
        code, cells = self.python.__code__, self.python.__closure__ or ()
        if name in code.co_freevars:
            return cells[code.co_freevars.index(name)].cell_contents
        for names in (self.python.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        return missing

    def bind(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Parameters and their values, defaults included. Raises TypeError."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        bound.apply_defaults()
        return dict(bound.arguments)


def constant_key(value: Any) -> Any:
    """What tells constants apart: 1, 1.0 and True are three, so are 0.0 and -0.0; a NaN is one."""
    kind = value.__class__
    if kind is float:
        return kind, value.hex()
    if isinstance(value, (tuple, list)):
        return kind, tuple(map(constant_key, value))
    return kind, value


def function_of(value: Any) -> Function | None:
    """The function whose body is to be walked where `value` is called, None for all others."""
    from .launching import JITFunction
    from .tuning import Wrapper

    while isinstance(value, Wrapper):
        value = value.fn
    return value.function if isinstance(value, JITFunction) else None
