"""Python functions from records: `add`, `add_`, `add(..., out=)`, methods and operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ..base.naming import public_module
from ..core import layouts
from ..core.tensor_base import TensorBase
from ..operators import families
from ..operators.argument_types import checked
from ..operators.record import ALIASES, RECORDS, Record
from ..operators.schema import binder
from . import call as calls
from . import (
    bridges, chosen, creation, drawing, fast, foreach, former_names, from_data, listed, overloads,
    protocol, questions, readers, samples, segments, sequences, shortcuts, tapers,
)  # fmt: skip
from .outputs import check_call, write_out
from .state import STATE, push_level


#: Functions that are no records.
TABLES: list[dict[str, Callable[..., Any]]] = [
    creation.FUNCTIONS, from_data.FUNCTIONS, sequences.FUNCTIONS, questions.FUNCTIONS,
    overloads.FUNCTIONS, foreach.FUNCTIONS, listed.FUNCTIONS, drawing.FUNCTIONS, chosen.FUNCTIONS,
    tapers.FUNCTIONS, segments.FUNCTIONS, former_names.FUNCTIONS]
METHODS: dict[str, Callable[..., Any]] = {
    **questions.METHODS, **overloads.METHODS, **drawing.METHODS}
MEMORY_FORMATS = {f.name: f for f in (
    layouts.preserve_format, layouts.contiguous_format, layouts.channels_last,
    layouts.channels_last_3d)}
#: Functions of those tables that often come down to one plan; the builtin path learns them.
WATCHED = frozenset("""
    arange bernoulli einsum empty empty_like eye full full_like linspace max min ones ones_like rand
    rand_like randint randint_like randn randn_like randperm split zeros zeros_like""".split())
#: The same among the methods.
WATCHED_METHODS = frozenset("""
    bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_
    uniform_""".split())
SPREAD = 8  # sizes that a watched function takes as positional arguments


def names() -> list[str]:
    """All names of operators, in place too, and other functions."""
    families.load_all()
    inplace = (f"{name}_" for name, found in _named() if found.inplace)
    return sorted({*(n for table in TABLES for n in table), *MEMORY_FORMATS, *RECORDS, *ALIASES,
                   *inplace})


def method_names() -> list[str]:
    """The names of all methods of tensors."""
    families.load_all()
    plain = (name for name, found in _named() if found.method)
    inplace = (f"{name}_" for name, found in _named() if found.inplace and name[0] != "_")
    return sorted({*METHODS, *plain, *inplace})


def _named() -> Iterable[tuple[str, Record]]:
    return (*RECORDS.items(), *ALIASES.items())


def record(name: str) -> Record | None:
    """The record of an operator, its family imported when first asked for."""
    if name not in RECORDS:
        families.load(name)
    return RECORDS.get(name) or ALIASES.get(name)


def function(name: str) -> Callable[..., Any] | None:
    """The free function of an operator; `name_` gives the in-place form."""
    special = next((table[name] for table in TABLES if name in table), None)
    if special is not None:
        return _watched(name, special)
    if name in MEMORY_FORMATS:
        return MEMORY_FORMATS[name]  # type: ignore[return-value]
    found = record(name)
    if found is not None:
        made = _with_out(found) if found.out else _plain(found, method=False)
        return _builtin(found, made, found.name)
    if name.endswith("_") and not name.endswith("__"):
        found = record(name[:-1])
        if found is not None and found.inplace:
            return _builtin(found, _inplace(found, method=False), name)
    return None


def public(name: str, made: Any) -> Any:
    """A function as users get it: what is no record asks classes and modes first."""
    made = readers.function(name, made)
    special = next((table[name] for table in TABLES if name in table), None)
    if special is None or not isinstance(special, FunctionType):
        return made
    guarded = protocol.guarded(special)
    if name in bridges.NAMES and fast.FAST is not None:
        guarded.outer = bridges.function(name, guarded)  # type: ignore[attr-defined]
    else:
        guarded.outer = _watched(name, guarded, "public")  # type: ignore[attr-defined]
    return guarded.outer  # type: ignore[attr-defined]


def _watched(name: str, made: Callable[..., Any], place: str = "") -> Callable[..., Any]:
    """A function that is no record, behind a builtin that learns which plans its calls run."""
    if name not in WATCHED or fast.FAST is None:
        return made
    return fast.FAST.watch(made, name, _parameters(made), place)


def _parameters(made: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, as many for `*sizes` as are taken."""
    names: list[str] = []
    for parameter in inspect.signature(made).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [""] * SPREAD
        elif parameter.kind is not parameter.VAR_KEYWORD:
            names.append(parameter.name)
    return tuple(names)


def method(name: str) -> Callable[..., Any] | None:
    """The method of an operator (or its in-place form)."""
    if name in METHODS:
        return METHODS[name]
    if name.startswith("_") and name not in families.known_names():
        return None  # a probe: it loads no families
    found = record(name)
    if found is not None:
        return _plain(found, method=True) if found.method else None
    if name.endswith("_") and not name.endswith("__"):
        found = record(name[:-1])
        if found is not None and found.inplace:
            return _inplace(found, method=True)
    return None


def bound_method(name: str) -> Callable[..., Any] | None:
    """The method of an operator, behind a builtin of machine code where there is one."""
    made = method(name)
    if name in WATCHED_METHODS and fast.FAST is not None:
        return fast.FAST.watched_method(made, name, _parameters(made))
    found = None if name in METHODS else record(name)
    if found is None and name.endswith("_"):
        found = record(name[:-1])
    if made is None or found is None or fast.FAST is None or len(found.modes) >= fast.PARAMETERS:
        return made
    return fast.FAST.method(found, made, name)


def _plain(found: Record, method: bool) -> Callable[..., Any]:
    made = binder(found.schema, _target(found, calls.call, found.name, method), method)
    return _describe(made, found, found.name)


def _target(found: Record, run: Callable[..., Any], name: str, method: bool
            ) -> Callable[..., Any]:
    """Runs a full tuple of arguments, unless a class among them takes the call over."""
    check = _check(found, name, method)

    def target(values: tuple[Any, ...]) -> Any:
        classes = protocol.participants(values)
        if not classes:
            check(values)
            return run(found, values)
        owner = tensor_class(classes[0]) if method else None
        func = getattr(calls.OPERATORS if owner is None else owner, name)
        args, kwargs = protocol.given(found.schema, values)
        return protocol.offer(func, classes, args, kwargs)

    return target


def _check(found: Record, name: str, method: bool) -> Callable[[tuple[Any, ...]], Any]:
    """What refuses arguments of wrong types; parts of other operators get right ones."""
    if found.derived_from is not None or name.startswith("_"):
        return lambda values: None
    return checked(name, found, method)


def tensor_class(value: Any) -> Any:
    """The class Tensor among the bases of a value's class."""
    return next((c for c in type(value).__mro__ if c.__name__ == "Tensor"), None)


def _inplace(found: Record, method: bool) -> Callable[..., Any]:
    made = binder(found.schema, _target(found, calls.call_inplace, found.name + "_", method),
                  method)
    return _describe(made, found, found.name + "_")


def _describe(made: Callable[..., Any], found: Record, name: str) -> Callable[..., Any]:
    made.__name__ = made.__qualname__ = name
    made.__module__ = public_module("torch")
    made.__doc__ = f"{found.text}\n\n{found.doc}".strip()
    return made


def _builtin(found: Record, twin: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The builtin of machine code in front of a Python function, where there is one."""
    if fast.FAST is None or len(found.modes) >= fast.PARAMETERS:
        return twin
    return fast.FAST.function(found, twin, name)


#: What takes any number of tensors at once, where a plan's key holds no more than a few.
_FOR_MANY = {"stack": samples.stacked, "cat": samples.joined}


def _with_out(found: Record) -> Callable[..., Any]:
    plain = binder(found.schema, _target(found, calls.call, found.name, False), method=False)
    check = _check(found, found.name, False)
    bound = binder(found.schema, lambda values: check(values) or values, method=False)
    quick = _FOR_MANY.get(found.name)

    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            made = quick(args[0]) if quick is not None and len(args) == 1 and not kwargs else None
            return plain(*args, **kwargs) if made is None else made
        classes = protocol.participants((*args, *kwargs.values(), out))
        if classes:
            return protocol.offer(getattr(calls.OPERATORS, found.name), classes, args,
                                  {**kwargs, "out": out})
        if STATE.levels and not STATE.levels[-1].transforms:  # a mode sees one call
            level = STATE.levels.pop()
            try:
                return level.function(getattr(calls.OPERATORS, found.name), args,
                                      {**kwargs, "out": out})
            finally:
                push_level(level)
        check_call(found.name, args, kwargs)
        if isinstance(out, TensorBase):
            values = bound(*args, **kwargs)
            if not _wants_tape(values, out):
                made = calls.call_out(found, values, out)
                if made is not NotImplemented:
                    return made
        return write_out(found.name, plain, args, kwargs, out, found)

    made = _describe(with_out, found, found.name)
    made.plain = plain  # type: ignore[attr-defined]
    return made


def _wants_tape(values: tuple[Any, ...], out: Any) -> bool:
    return STATE.tape and (out._requires_grad or any(
        t._requires_grad for t in shortcuts.tensors_in(values)))


__all__ = ["function", "method", "record"]
