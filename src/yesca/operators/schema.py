"""Operator schemas in PyTorch's notation, parsed once, bound quickly.

    add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor

Argument types: Tensor, Tensor[], Scalar, int, int[], int[1] (or a single int), float, bool, str,
dtype, memory_format, device, index, any, number (a Scalar that is part of the plan's key), start
(an int, or an integer tensor of no dimension); `a|b` admits either, a trailing `?` None as well.
`argument_types.py` says what they admit.
`self` is called `input` in the free function.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.dtypes import INTEGRAL, as_dtype
from ..core.tensor_base import TensorBase

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
        label = sys.intern(label)  # names and texts come back in keys, by address
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
        return sys.intern(text[1:-1])
    try:
        return int(text)
    except ValueError:
        return float(text)


class _Missing:
    """What a required argument is before the caller gives it."""

    def __repr__(self) -> str:
        return "<required>"


_MISSING = _Missing()
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
#: NumPy's names of arguments, which PyTorch takes as well, and its own.
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input",
               "x2": "other"}


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
            heads += [f"*_spread, {name}=None"] if method else [f"{name}=_missing"]
            starred = starred or method
            continue
        if parameter.keyword_only and not starred:
            heads.append("*_extra")
            starred = True
        default = f"_defaults[{names.index(parameter.name)}]"
        heads.append(f"{name}={default}" if not parameter.required else
                     name if parameter.name == "self" and method else f"{name}=_missing")
    if not starred:
        heads.append("*_extra")
    extra = "_extra" if "*_extra" in heads else "()"
    values: list[str] = []
    lacks: list[str] = []
    for parameter, name in zip(schema.parameters, shown, strict=True):
        spread = schema.variadic == parameter.name and method
        whole = parameter.type.startswith("int")
        if parameter.type == "start":
            values.append(f"_start({name})")
            continue
        if spread and parameter.required:
            lacks.append(f" or not _spread and {name} is None")
        values.append(f"_gather(_spread, {name})" if spread else
                      f"_whole({name})" if whole else
                      f"_dtype({name})" if parameter.name == "dtype" else name)
    together = f"({', '.join(values)},)"
    lacks += (f" or {name} is _missing" for head, name in
              ((h, h.partition("=")[0]) for h in heads) if head.endswith("=_missing"))
    missing = "".join(lacks)
    code = (f"def {schema.name}({', '.join(heads)}, **_named):\n"
            f"    if _named or {extra}{missing}:\n"
            f"        return _target(_renamed({together}, {extra}, _named))\n"
            f"    return _target({together})\n")
    scope: dict[str, Any] = {
        "_defaults": [p.default for p in schema.parameters], "_target": target,
        "_gather": gather, "_missing": _MISSING, "_whole": whole_numbers,
        "_start": start, "_dtype": as_dtype,
        "_renamed": lambda values, extra, named: renamed(schema, shown, values, extra, named),
    }
    exec(compile(code, f"<schema {schema.name}>", "exec"), scope)
    made: Callable[..., Any] = scope[schema.name]
    return made


def renamed(schema: Schema, shown: list[str], values: tuple[Any, ...], extra: tuple[Any, ...],
            named: dict[str, Any]) -> tuple[Any, ...]:
    """The values with those under NumPy's names in their places; nothing required may lack."""
    if extra:
        raise _too_many(schema, len(extra), "input" not in shown and "self" in shown)
    given = list(values)
    for name, value in named.items():
        meant = NUMPY_NAMES.get(name)
        place = shown.index(meant) if meant in shown else -1
        free = place >= 0 and (given[place] is _MISSING
                               or given[place] is schema.parameters[place].default)
        if not free:
            raise TypeError(f"{schema.name}() got an unexpected keyword argument '{name}'")
        given[place] = value
    lacking = [f'"{name}"' for name, value in zip(shown, given, strict=True) if value is _MISSING]
    if lacking:
        raise TypeError(f"{schema.name}() missing {len(lacking)} required positional argument"
                        f"{'s' if len(lacking) == 1 else ''}: {', '.join(lacking)}")
    return tuple(given)


def _too_many(schema: Schema, extra: int, method: bool) -> TypeError:
    """The error for more positional arguments than there are; a method's `self` is not one."""
    places = [p for p in schema.parameters if not p.keyword_only][method:]
    least, most = sum(p.required for p in places), len(places)
    count = f"{most}" if least == most else f"from {least} to {most}"
    total = most + extra
    return TypeError(f"{schema.name}() takes {count} positional argument{'s' * (most != 1)} but "
                     f"{total} {'was' if total == 1 else 'were'} given")


def gather(values: tuple[Any, ...], named: Any = None) -> tuple[Any, ...]:
    """`view(2, 3)`, `view((2, 3))` and `view(size=(2, 3))` mean the same."""
    if named is None and not values:
        return _MISSING  # type: ignore[return-value] # `renamed` says so
    if named is not None and not values:
        values = (named,) if isinstance(named, int | TensorBase) else tuple(named)
    elif len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = tuple(values[0])
    elif len(values) == 1 and not _is_size(values[0]):
        return values[0]  # type: ignore[no-any-return] # it is refused as it is
    return whole_numbers(values)  # type: ignore[no-any-return]


def _is_size(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return not value._spec.ndim and value._spec.dtype.category == INTEGRAL
    return isinstance(value, int) and type(value) is not bool or type(value).__module__ == "numpy"


def start(value: Any) -> Any:
    """A place to start from: a number, or a 0-dim tensor of one."""
    if isinstance(value, TensorBase) and (
            value._spec.ndim or value._spec.dtype.category != INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return whole_numbers(value)


def whole_numbers(value: Any) -> Any:
    """Sizes and dimensions; integer tensors of no dimension among them count as their values.

    What is no whole number stays as it is: `argument_types` refuses it.
    """
    if type(value) is int:
        if not _LEAST <= value <= _MOST:
            raise ValueError("Overflow when unpacking long long")
        return value
    if value is None:
        return value
    if type(value).__module__ == "numpy" and not getattr(value, "shape", 1) \
            and value.dtype.kind in "iu":
        return int(value)
    if isinstance(value, TensorBase):
        spec = value._spec
        whole = not spec.ndim and spec.dtype.category == INTEGRAL
        return value.__index__() if whole else value  # type: ignore[attr-defined]
    if isinstance(value, (tuple, list)) and any(isinstance(v, TensorBase) for v in value):
        numbers = [whole_numbers(v) for v in value]
        return numbers if isinstance(value, list) else tuple(numbers)
    return value
