"""`__torch_function__`: classes that take over the functions they are given to.

A class takes part if it has a `__torch_function__` of its own, or inherits the tensor's, which
keeps results in the subclass. Plain tensors and parameters do not: the builtin call path serves
them and never asks. What reaches the Python twins is checked here.

Methods of a subclass are found in `Tensor`; `adopt` gives each participating subclass a
`__getattribute__` and Python operators that hand the call to the protocol, so that nothing is
asked on behalf of plain tensors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ..base.errors import argument_error
from ..core.tensor_base import TensorBase
from . import handlers, observing
from .state import STATE, push_level

_PACKAGE = f"{__name__.partition('.')[0]}."
NO, YES, LIST = 0, 1, 2
_kinds: dict[type, int] = {tuple: LIST, list: LIST, int: NO, float: NO, bool: NO, str: NO,
                           type(None): NO}


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that want none."""
    return func(*args, **(kwargs or {}))


def _kind(cls: type) -> int:
    own = getattr(cls, "__torch_function__", None)
    made = NO
    plain = TensorBase in cls.__bases__  # the class of all tensors
    # Tensors of PyTorch itself, in the same process: their default would ask the function again.
    plain = plain or (getattr(own, "__qualname__", "") == "Tensor.__torch_function__"
                      and not issubclass(cls, TensorBase))
    if own is not None and getattr(own, "__func__", own) is not disabled and not plain:
        made = YES
    elif issubclass(cls, (tuple, list)):
        made = LIST
    _kinds[cls] = made
    if made == YES and not cls.__module__.startswith(_PACKAGE):
        open_doors()
    return made


def participants(values: Iterable[Any]) -> list[Any]:
    """The values that take part, one of each class, subclasses before their bases."""
    found: list[Any] = []
    for value in values:
        cls = value.__class__
        kind = _kinds.get(cls)
        if kind is None:
            kind = _kind(cls)
        if kind == NO:
            continue
        for one in (participants(value) if kind == LIST else (value,)):
            if STATE.subclasses or not isinstance(one, TensorBase):
                _insert(found, one)
    return found


def _insert(found: list[Any], value: Any) -> None:
    if any(type(f) is type(value) for f in found):
        return
    for k, other in enumerate(found):
        if issubclass(type(value), type(other)):
            found.insert(k, value)
            return
    found.append(value)


def offer(func: Callable[..., Any], found: list[Any], args: tuple[Any, ...],
          kwargs: dict[str, Any]) -> Any:
    """Let the first class that wants the call have it."""
    types = tuple([type(f) for f in found])
    for one in found:
        made = type(one).__torch_function__(func, types, args, kwargs)
        if made is not NotImplemented:
            return made
    name = f"{getattr(func, '__module__', None) or 'torch'}.{getattr(func, '__name__', func)}"
    lines = "\n".join(f"  - tensor subclass {t}" for t in types)
    raise TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers "
                    f"returned NotImplemented:\n\n{lines}\n\nA class takes a function by handling "
                    "it in its __torch_function__.")


def given(schema: Any, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A full tuple of arguments as a caller would have given it: defaults left out."""
    positional, named = [], {}
    parameters = list(zip(schema.parameters, values, strict=True))
    required = sum(p.required and not p.keyword_only for p, _ in parameters)
    for k, (parameter, value) in enumerate(parameters):
        if k < required:
            positional.append(value)
        elif parameter.required or value is not parameter.default:
            named["input" if parameter.name == "self" else parameter.name] = value
    return tuple(positional), named


# ---- subclasses of Tensor --------------------------------------------------------------------

class DisableSubclasses:
    """Inside, subclasses of tensors are treated as plain tensors."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(STATE.subclasses)
        STATE.subclasses = False

    def __exit__(self, *exc: object) -> None:
        STATE.subclasses = self._before.pop()


def default(cls: type, func: Callable[..., Any], types: Iterable[type],
            args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """The tensor's `__torch_function__`: run as for plain tensors, keep results in the class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableSubclasses():
        made = func(*args, **(kwargs or {}))
    return made if func in _no_wrap else converted(made, cls)


def converted(made: Any, cls: Any) -> Any:
    """Results that are plain tensors as tensors of a class."""
    if isinstance(made, TensorBase) and not isinstance(made, cls):
        return made.as_subclass(cls)  # type: ignore[attr-defined]
    if isinstance(made, (tuple, list)):
        parts = [converted(m, cls) for m in made]
        return type(made)(parts)
    return made


_no_wrap: set[Any] = set()


def no_wrap() -> frozenset[Any]:
    """Functions whose results stay plain."""
    return frozenset(_no_wrap)


_OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
]
_PYTHON = [
    *(f"__{prefix}{name}__" for name in _OPERATORS for prefix in ("", "r", "i")),
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__pos__", "__abs__",
    "__invert__", "__getitem__", "__setitem__", "__contains__", "__deepcopy__", "__len__",
    "__bool__", "__float__", "__int__", "__index__", "__complex__", "__repr__", "__format__",
]
#: Python operators that PyTorch hands on under the method's name.
_RENAMED = {f"__{p}{n}__": f"{m}{'_' if p else ''}" for n, m in (
    ("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("matmul", "matmul"),
    ("mod", "remainder"))
    for p in ("", "i")} | {"__radd__": "add", "__rmul__": "mul"} | {
    f"__{n}__": n for n in ("ne", "lt", "le", "gt", "ge", "neg", "abs")} | {
    "__pos__": "positive"}
_PLAIN_NAMES = frozenset(("as_subclass",))


def adopt(cls: Any, tensor: Any) -> None:
    """Give a new subclass of Tensor what hands its methods to the protocol."""
    handlers.adopt(cls)
    own = cls.__torch_function__
    plain = tensor.__torch_function__
    if handlers.takes_over(cls) and getattr(own, "__func__", own) is plain.__func__:
        # The tensor's would call results members of the class that its handler did not make.
        cls.__torch_function__ = staticmethod(disabled)
    if _kind(cls) != YES:
        return
    _no_wrap.update((tensor.grad.__get__, tensor._base.__get__))
    for name in _PYTHON:
        plain = getattr(tensor, name, None)
        if plain is not None and getattr(cls, name, None) is plain:
            setattr(cls, name, _operator(tensor, name, plain))
    if cls.__iter__ is tensor.__iter__:
        cls.__iter__ = lambda self: iter(self.unbind(0)) if self.dim() else tensor.__iter__(self)
    if cls.__getattribute__ is object.__getattribute__:
        cls.__getattribute__ = _lookup(tensor)
    if cls.__setattr__ is object.__setattr__:
        cls.__setattr__ = _assignment(tensor)


def _operator(tensor: Any, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        found = participants((self, *args))
        if not found:
            return plain(self, *args)
        func = getattr(tensor, _RENAMED.get(name, ""), None) or plain
        return offer(func, found, (self, *args), {})

    method.__name__ = name
    return method


def _lookup(tensor: Any) -> Callable[[Any, str], Any]:
    """Attribute access of participating subclasses: Tensor's methods go to the protocol, and
    its properties as `Tensor.shape.__get__`."""
    plain_get = object.__getattribute__

    def lookup(self: Any, name: str) -> Any:
        if name[0] == "_" or not STATE.subclasses:
            return plain_get(self, name)
        own = tensor.__dict__.get(name)
        if type(own) is property and _owner(type(self), name) is tensor:
            return offer(own.__get__, [self], (self,), {})
        value = plain_get(self, name)
        if own is None or name in _PLAIN_NAMES or not callable(value) \
                or _owner(type(self), name) is not tensor:
            return value
        return functools.partial(_method, getattr(tensor, name), self)

    return lookup


def _assignment(tensor: Any) -> Callable[[Any, str, Any], None]:
    """What sets attributes of participating subclasses: `Tensor.grad.__set__` for properties."""
    plain_set = object.__setattr__

    def assign(self: Any, name: str, value: Any) -> None:
        if name[0] == "_" or not STATE.subclasses:
            plain_set(self, name, value)
            return
        own = tensor.__dict__.get(name)
        if type(own) is property and _owner(type(self), name) is tensor:
            offer(own.__set__, [self], (self, value), {})
        else:
            plain_set(self, name, value)

    return assign


def _owner(cls: type, name: str) -> Any:
    """The class whose attribute is found under this name."""
    return next((c for c in cls.__mro__ if name in c.__dict__), None)


def _method(func: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    found = participants((self, *args, *kwargs.values()))
    if not found or not callable(func):
        return getattr(self, func.__name__)(*args, **kwargs)
    return offer(func, found, (self, *args), kwargs)


@functools.cache
def _properties(tensor: Any) -> dict[int, str]:
    return {id(own): name for name, own in vars(tensor).items() if type(own) is property}


def name_of(func: Callable[..., Any], tensor: Any) -> str:
    """The name of a function, or of the property of the tensor's class that it reads."""
    name = str(getattr(func, "__name__", func))
    if name in ("__get__", "__set__"):
        return _properties(tensor).get(id(getattr(func, "__self__", None)), name)
    return name


# ---- free functions --------------------------------------------------------------------------

def _no_tensor(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> TypeError | None:
    """The error for a first argument that is no tensor, if there must be one."""
    name = next(iter(inspect.signature(function).parameters), "")
    value = args[0] if args else kwargs.get(name)
    if name not in ("input", "self", "tensor") or isinstance(value, TensorBase):
        return None
    return argument_error(function.__name__, "input", 1, "Tensor", value)


def through_mode(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The innermost mode handles a call with itself switched off."""
    level = STATE.levels.pop()
    try:
        return level.function(func, args, kwargs)
    finally:
        push_level(level)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A public function that is no record, with the protocol and the modes before it."""
    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if STATE.levels and STATE.levels[-1].takes(function.__name__):
            return through_mode(public.outer, args, kwargs)  # type: ignore[attr-defined]
        found = participants(args) or kwargs and participants(kwargs.values())
        if found:
            return offer(public.outer, found, args, kwargs)  # type: ignore[attr-defined]
        observer = observing.current
        if observer is not None:
            return observer.function(function, args, kwargs)
        try:
            return function(*args, **kwargs)
        except AttributeError:
            wrong = _no_tensor(function, args, kwargs)
            if wrong is None:
                raise
            raise wrong from None

    public.unguarded = function  # type: ignore[attr-defined]
    public.outer = public  # type: ignore[attr-defined] # what users know: it may be wrapped again
    return public


# ---- functions in Python: of networks, of several operators -----------------------------------

#: Functions with closed doors; None once the doors are open.
_closed: list[FunctionType] | None = []


def overridable(function: Any) -> Any:
    """The function, which classes and modes may take over as a whole.

    Nobody pays for that before a program has such a class of its own, or a mode: only then the
    function gets a door, by new code in the same object, so that every name of it has it.
    """
    if _closed is None:
        _open(function)
    else:
        _closed.append(function)
    return function


def open_doors() -> None:
    """From now on, overridable functions ask whether somebody takes them over."""
    global _closed
    waiting, _closed = _closed or [], None
    for function in waiting:
        _open(function)


def _open(function: FunctionType) -> None:
    code, name = function.__code__, function.__name__
    inner = FunctionType(code, function.__globals__, name, function.__defaults__,
                         function.__closure__)
    inner.__kwdefaults__, inner.__annotations__ = function.__kwdefaults__, function.__annotations__

    def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if STATE.levels and STATE.levels[-1].takes(name):
            return through_mode(function, args, kwargs)
        found = participants((*args, *kwargs.values()))
        return offer(function, found, args, kwargs) if found else inner(*args, **kwargs)

    function.__signature__ = inspect.signature(inner)  # type: ignore[attr-defined]
    function.__kwdefaults__ = {"_enter": enter}
    function.__code__ = _door.__code__.replace(
        co_name=name, co_qualname=function.__qualname__, co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno, co_freevars=code.co_freevars)


def _door(*args: Any, _enter: Callable[..., Any], **kwargs: Any) -> Any:
    return _enter(args, kwargs)
