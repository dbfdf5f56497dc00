"""Schemas of operators that programs define: read, written, inferred from annotations, bound.

    scale(Tensor x, float by=2., *, SymInt? n=None) -> Tensor
    add_to(Tensor(a0!) x, Tensor y) -> ()

`Tensor(a0!)` is written to. `SymInt` and `int` both are whole numbers here.
"""

from __future__ import annotations

import collections.abc
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..core.devices import Device
from ..core.dtypes import DType
from ._values import KINDS, NOTHING, constant, converted, parts, result, shown



@dataclass(frozen=True)
class Argument:
    """One argument, or one result.

    type: as in the text, without what says that it is written to
    """

    name: str
    type: str
    is_write: bool = False
    kwarg_only: bool = False
    default_value: Any = NOTHING

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.default_value is not NOTHING

    @property
    def element(self) -> str:
        """The type without "?" and "[]"."""
        return re.sub(r"(\?|\[\d*\])+$", "", self.type)

    @property
    def is_list(self) -> bool:
        return "[" in self.type

    def text(self, number: int) -> str:
        """As it stands in a schema."""
        kind = self.type
        if self.is_write:
            kind = f"{self.element}(a{number}!){kind[len(self.element):]}"
        made = f"{kind} {self.name}".rstrip()
        if not self.has_default_value():
            return made
        value = self.default_value
        if isinstance(value, list) and value and value == value[:1] * len(value) \
                and f"[{len(value)}]" in kind:
            value = value[0]  # as PyTorch writes it
        return f"{made}={shown(value)}"


@dataclass(frozen=True)
class FunctionSchema:
    """The name, arguments and results of an operator."""

    name: str  # with the namespace, if there is one
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    returns_list: bool = False  # of one item: written in parentheses

    @property
    def is_mutable(self) -> bool:
        """Whether it writes to an argument."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        dot = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{dot}{self.signature()}"

    __repr__ = __str__

    def signature(self) -> str:
        """What stands behind the name."""
        parts: list[str] = []
        for number, argument in enumerate(self.arguments):
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(argument.text(number))
        results = [r.text(0) for r in self.returns]
        one = len(results) == 1 and not self.returns_list
        return f"({', '.join(parts)}) -> {results[0] if one else '(' + ', '.join(results) + ')'}"

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """A value for each argument; RuntimeError says what does not fit."""
        places = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(places):
            raise RuntimeError(f"{self.name}() takes {len(places)} positional argument(s) but "
                               f"{len(args)} was/were given.  Declaration: {self}")
        left = dict(kwargs)
        values = []
        for number, argument in enumerate(self.arguments):
            if number < len(args) and not argument.kwarg_only:
                value = args[number]
            elif argument.name in left:
                value = left.pop(argument.name)
            elif argument.has_default_value():
                values.append(argument.default_value)
                continue
            else:
                raise RuntimeError(f"{self.name}() is missing value for argument "
                                   f"'{argument.name}'. Declaration: {self}")
            values.append(self._converted(argument, number, value))
        if left:
            raise RuntimeError(f"Unknown keyword argument '{next(iter(left))}' for operator "
                               f"'{self.name}'. Schema: {self}")
        return tuple(values)

    def results(self, made: Any) -> Any:
        """What a kernel returned, as the schema says; RuntimeError or TypeError if it is not."""
        if not self.returns:
            if made is not None:
                raise RuntimeError(f"Expected the kernel of {self.name} to return None but it "
                                   f"returned something else instead: '{type(made).__name__}'")
            return None
        several = self.returns_list or len(self.returns) > 1
        if len(self.returns) == 1 and not (several and isinstance(made, (list, tuple))):
            return result(self.name, self.returns[0].type, made)
        count = len(self.returns)
        if not isinstance(made, (list, tuple)):
            raise TypeError(f"Object of type '{type(made).__name__}' is not an instance of "
                            f"'sequence': the kernel of {self.name} is to return {count} results")
        if len(made) != count:
            raise RuntimeError(f"the kernel of {self.name} returned {len(made)} results, its "
                               f"schema says {count}: {self}")
        return tuple(result(self.name, r.type, one)
                     for r, one in zip(self.returns, made, strict=True))

    def _converted(self, argument: Argument, number: int, value: Any) -> Any:
        made = converted(argument.type, value)
        if made is NOTHING:
            raise RuntimeError(
                f"{self.name}() Expected a value of type '{_python_type(argument.type)}' for "
                f"argument '{argument.name}' but instead found type '{type(value).__name__}'.\n"
                f"Position: {number}\nValue: {value!r}\nDeclaration: {self}")
        return made


def _python_type(kind: str) -> str:
    if kind.endswith("?"):
        return f"Optional[{_python_type(kind[:-1])}]"
    if kind.endswith("]"):
        return f"List[{_python_type(kind[:kind.rindex('[')])}]"
    return {"SymInt": "int", "Scalar": "number", "ScalarType": "int"}.get(kind, kind)


# ---- reading ---------------------------------------------------------------------------------

def parse(text: str) -> FunctionSchema:
    """Read a schema; RuntimeError where it is none."""
    found = re.fullmatch(r"\s*((?:\w+::)?\w+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*", text,
                         re.DOTALL)
    if found is None:
        raise RuntimeError(f"cannot read the schema {text!r}: it is to be like "
                           "name(Tensor x, int n=1) -> Tensor")
    name, overload, inside, results = found.groups()
    grouped = results.startswith("(")
    try:
        given = parts(inside)
        items = parts(results[1:-1]) if grouped else [results]
    except ValueError as error:
        raise RuntimeError(f"cannot read the schema {text!r}: a bracket, a quote or what stands "
                           "between two commas lacks") from error
    arguments: list[Argument] = []
    only = False
    for part in given:
        if part == "*":
            only = True
            continue
        arguments.append(_argument(part, only, text))
        if not only and not arguments[-1].has_default_value() \
                and any(a.has_default_value() for a in arguments):
            raise RuntimeError("Non-default positional argument follows default argument. "
                               f"Parameter {arguments[-1].name} in {text}")
    returns = tuple(_argument(item, False, text, named=False) for item in items)
    return FunctionSchema(name, overload or "", tuple(arguments), returns, grouped)


def _argument(part: str, only: bool, text: str, named: bool = True) -> Argument:
    found = re.fullmatch(r"(\w+)(\([^)]*\))?((?:\?|\[\d*\])*)(?:\s+(\w+))?(?:\s*=\s*(.+))?", part)
    if found is None or found[1] not in KINDS or named and not found[4]:
        raise RuntimeError(f"cannot read {part!r} in the schema {text!r}; types are "
                           f"{', '.join(KINDS)}, with ? and [] behind them")
    kind, alias, suffix, name, default = found.groups()
    try:
        value = NOTHING if default is None else constant(default, kind, suffix)
    except ValueError as error:
        raise RuntimeError(f"cannot read the default of {part!r} in the schema {text!r}: {error}"
                           ) from error
    return Argument(name or "", kind + suffix, "!" in (alias or ""), only, value)


# ---- from annotations ------------------------------------------------------------------------

def _table() -> dict[Any, str]:
    from .._tensor import Tensor

    number = int | float | bool
    table: dict[Any, str] = {}
    for one, name, lists in ((Tensor, "Tensor", True), (int, "SymInt", True),
                             (float, "float", True), (bool, "bool", True), (str, "str", False),
                             (number, "Scalar", True), (DType, "ScalarType", False),
                             (Device, "Device", False)):
        table[one], table[one | None] = name, f"{name}?"
        if not lists:
            continue
        makers = (vars(typing)["List"], typing.Sequence, collections.abc.Sequence, list)
        for maker, optional in product(makers, (False, True)):
            if optional and name != "Tensor":
                continue
            item = one | None if optional else one
            table[maker[item]] = f"{table[item]}[]"  # type: ignore[index]
        for maker in makers:
            table[maker[one] | None] = f"{name}[]?"  # type: ignore[index]
    return table


def infer_schema(prototype_function: Callable[..., Any], /, *,
                 mutates_args: str | Iterable[str], op_name: str | None = None,
                 tags: Any = ()) -> str:
    """The schema that a function's annotations say.

    mutates_args: names of the arguments that it writes to, or "unknown" for all tensors.
    Raises ValueError where an annotation lacks or is of no type that operators take.

    >>> import yesca as torch
    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function, eval_str=True)

    def refuse(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    known = _table()
    parts, unknown = [], mutates_args == "unknown"
    names = set() if unknown else {mutates_args} if isinstance(mutates_args, str) \
        else set(mutates_args)
    for number, parameter in enumerate(signature.parameters.values()):
        argument = _inferred(number, parameter, known, refuse, unknown, names)
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(argument)
    strange = names - set(signature.parameters)
    if strange:
        raise refuse(f"{strange} in mutates_args were not found in the custom op's signature. "
                     "mutates_args should contain the names of all args that the custom op "
                     "mutates, or just the string 'unknown' if you don't know.")
    result = _returned(signature.return_annotation, known, refuse)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def _inferred(number: int, parameter: inspect.Parameter, known: dict[Any, str],
              refuse: Callable[[str], ValueError], unknown: bool, names: set[str]) -> str:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise refuse("We do not support positional-only args, varargs, or varkwargs.")
    if parameter.annotation is parameter.empty:
        raise refuse(f"Parameter {parameter.name} must have a type annotation.")
    kind = known.get(parameter.annotation)
    if kind is None:
        raise refuse(f"Parameter {parameter.name} has unsupported type {parameter.annotation}. "
                     f"The valid types are: {[*map(str, known)]}.")
    if parameter.name in names and not kind.startswith("Tensor"):
        raise refuse(f"Parameter {parameter.name} is in mutable_args but only Tensors or "
                     "collections of Tensors can be mutated")
    default = parameter.default
    if default is not parameter.empty and not (
            default is None or isinstance(default, (int, float, bool, str, DType, Device))):
        raise refuse(f"Parameter {parameter.name} has an unsupported default value type "
                     f"{type(default)}.")
    writes = kind.startswith("Tensor") and (unknown or parameter.name in names)
    made = Argument(parameter.name, kind, writes).text(number)
    if default is parameter.empty:
        return made
    return f"{made}={repr(default) if isinstance(default, float) else shown(default)}"


def _returned(annotation: Any, known: dict[Any, str], refuse: Callable[[str], ValueError]) -> str:
    if annotation is inspect.Signature.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    if annotation is None:
        return "()"
    if typing.get_origin(annotation) is tuple:
        return "(" + ", ".join(_returned(a, known, refuse)
                               for a in typing.get_args(annotation)) + ")"
    kind = known.get(annotation)
    if kind is None or "?" in kind or kind in ("str", "ScalarType", "Device"):
        raise refuse(f"Return has unsupported type {annotation}. The valid types are: Tensor, "
                     "list[Tensor], int, float, bool, a number, None, and tuples of these.")
    return kind


def tensors_of(schema: FunctionSchema, values: Sequence[Any], written: bool = False) -> list[Any]:
    """All tensors among the arguments, lists opened; written: only those that are written to."""
    found: list[Any] = []
    for argument, value in zip(schema.arguments, values, strict=True):
        if argument.element == "Tensor" and (argument.is_write or not written):
            items = value if isinstance(value, (list, tuple)) else (value,)
            found += [item for item in items if item is not None]
    return found


def opened(parts: Sequence[Any]) -> tuple[Any, ...]:
    """The parts one by one, those of lists among them as well."""
    return tuple(one for p in parts for one in (p if isinstance(p, (list, tuple)) else (p,)))
