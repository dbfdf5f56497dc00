"""Operator schemas in PyTorch's notation, parsed once, bound quickly.

    add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor

Argument types: Tensor, Tensor?, Tensor[], Scalar, int, int[], float, bool, str, dtype, device,
index, any; a trailing `?` admits None. `self` is called `input` in the free function.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_CONSTANTS = {"None": None, "True": True, "False": False, "inf": float("inf")}


@dataclass(frozen=True)
class Parameter:
    """One argument of a schema."""

    name: str
    type: str  # without the "?"
    optional: bool
    keyword_only: bool
    default: Any
    required: bool

    @property
    def is_tensor(self) -> bool:
        return self.type == "Tensor"


@dataclass(frozen=True)
class Schema:
    """Name, arguments and number of results."""

    name: str
    parameters: tuple[Parameter, ...]
    results: int  # 0: a list, as long as the call makes it
    text: str
    variadic: str = ""  # an int[] that may be spread over the positional arguments

    def index(self, name: str) -> int:
        for k, parameter in enumerate(self.parameters):
            if parameter.name == name:
                return k
        raise KeyError(name)


def parse(text: str) -> Schema:
    """Parse one schema."""
    found = re.fullmatch(r"(\w+)\((.*)\) -> (.+)", text)
    if found is None:
        raise ValueError(f"[schema] cannot read {text!r}")
    name, inside, result = found.groups()
    parameters = []
    keyword_only = False
    variadic = ""
    for part in _split(inside):
        if part == "*":
            keyword_only = True
            continue
        kind, _, rest = part.partition(" ")
        label, equals, default = rest.partition("=")
        optional = kind.endswith("?")
        kind = kind.removesuffix("?")
        if kind.endswith("..."):
            kind = kind.removesuffix("...")
            variadic = label
        parameters.append(Parameter(label, kind, optional, keyword_only,
                                    _constant(default) if equals else None, not equals))
    results = result.count(",") + 1 if result.startswith("(") else 0 if "[]" in result else 1
    return Schema(name, tuple(parameters), results, text, variadic)


def _split(inside: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for k, character in enumerate(inside):
        depth += character in "[(" or -(character in "])")
        if character == "," and depth == 0:
            parts.append(inside[start:k].strip())
            start = k + 1
    last = inside[start:].strip()
    return parts + [last] if last else parts


def _constant(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.startswith("["):
        return tuple(int(x) for x in text[1:-1].split(",") if x.strip())
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return int(text)
    except ValueError:
        return float(text)


def binder(schema: Schema, target: Callable[..., Any], method: bool) -> Callable[..., Any]:
    """A Python function with the schema's signature that calls `target` with a full tuple.

    The first tensor argument is positional-or-keyword `input` in free functions and the bound
    object in methods. NumPy's names (`axis`, `keepdims`, `x`) are accepted for `dim`, `keepdim`.
    """
    names = [p.name for p in schema.parameters]
    shown = ["input" if n == "self" and not method else n for n in names]
    heads: list[str] = []
    starred = False
    for parameter, name in zip(schema.parameters, shown, strict=True):
        if schema.variadic == parameter.name:
            heads += [f"*_spread, {name}=None"] if method else [name]
            starred = starred or method
            continue
        if parameter.keyword_only and not starred:
            heads.append("*")
            starred = True
        default = f"_defaults[{names.index(parameter.name)}]"
        heads.append(name if parameter.required else f"{name}={default}")
    values = []
    for parameter, name in zip(schema.parameters, shown, strict=True):
        spread = schema.variadic == parameter.name and method
        values.append(f"_gather(_spread, {name})" if spread else name)
    code = (f"def {schema.name}({', '.join(heads)}):\n"
            f"    return _target(({', '.join(values)},))\n")
    scope: dict[str, Any] = {
        "_defaults": [p.default for p in schema.parameters], "_target": target,
        "_gather": gather,
    }
    exec(compile(code, f"<schema {schema.name}>", "exec"), scope)
    made: Callable[..., Any] = scope[schema.name]
    return made


def gather(values: tuple[Any, ...], named: Any = None) -> tuple[Any, ...]:
    """`view(2, 3)`, `view((2, 3))` and `view(size=(2, 3))` mean the same."""
    if named is not None and not values:
        return (named,) if isinstance(named, int) else tuple(named)
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    return values
