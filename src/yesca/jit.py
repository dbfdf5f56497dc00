"""`torch.jit` without TorchScript: nothing is scripted or traced here.

Decorators give their function back, `script` included, as in PyTorch with PYTORCH_JIT=0: the same
results, by Python. What would trace, load or save TorchScript raises NotImplementedError;
`torch.compile` speeds a function up.
"""

from __future__ import annotations

import builtins
import typing
from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

from .base import absent
from .base.naming import lives_in
from .nn.modules.module import Module

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "ScriptFunction", "ScriptModule",
    "ScriptWarning", "TracerWarning", "annotate", "export", "freeze", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference",
    "optimized_execution", "save", "script", "script_if_tracing", "script_method", "trace",
    "trace_module", "unused",
]


def is_scripting() -> bool:
    """False: nothing is scripted."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced."""
    return False


# ---- decorators and marks --------------------------------------------------------------------

def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None,
           example_inputs: Any = None) -> Any:
    """The function, module or class itself, run by Python as before.

    >>> import yesca as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if not callable(obj):
        raise RuntimeError(f"torch.jit.script takes a function, module or class, but got "
                           f"{type(obj).__name__}")
    return obj


def unused(fn: Any) -> Any:
    """The function itself."""
    return fn


def export(fn: Any) -> Any:
    """The function itself."""
    return fn


def interface(obj: Any) -> Any:
    """The class itself."""
    return obj


def script_method(fn: Any) -> Any:
    """The method itself."""
    return fn


def script_if_tracing(fn: Any) -> Any:
    """The function itself: it is never traced."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; also `@ignore(drop=True)`."""
    if callable(drop):
        return drop
    if type(drop) is not bool:
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got "
                           f"{drop}")
    return lambda fn: fn


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:  # noqa: A001 - PyTorch's name
    """Whether an object has a type, the types of elements of containers included.

    >>> import yesca as torch
    >>> torch.jit.isinstance([1, 2], list[int])
    True
    >>> torch.jit.isinstance({"a": 1}, dict[str, str])
    False
    """
    plain = builtins.isinstance
    if plain(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return plain(obj, target_type)
    if origin is typing.Union or type(target_type).__name__ == "UnionType":
        return any(isinstance(obj, one) for one in inner)
    if not plain(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    return all(isinstance(value, inner[0]) for value in obj)


class Attribute(NamedTuple):
    """A value and its type, for ScriptModule's attributes."""

    value: Any
    type: Any


# ---- classes that programs test against ------------------------------------------------------

class Error(RuntimeError):
    """Raised by TorchScript programs."""


class TracerWarning(Warning):
    """What a tracer warns of: values of tensors that the program reads."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing to ignore."""


class ScriptWarning(Warning):
    """What scripting would warn of; nothing gives it."""


@lives_in("torch.jit")
class ScriptModule(Module):
    """The type of scripted modules: there are none, and it cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ScriptModule")


RecursiveScriptModule = ScriptModule


@lives_in("torch.jit")
class ScriptFunction:
    """The type of scripted functions: there are none, and it cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ScriptFunction")


@lives_in("torch.jit")
class CompilationUnit:
    """TorchScript source: it cannot be compiled."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("CompilationUnit")


# ---- what is not there -----------------------------------------------------------------------

def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"torch.jit.{name} is not available: there is no TorchScript here. "
                              "Call the function or module itself, or torch.compile it")


def _absent(name: str, what: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse(name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises NotImplementedError: TorchScript is not there to {what}."
    return function


trace = _absent("trace", "record a function")
trace_module = _absent("trace_module", "record a module")
load = _absent("load", "read a program")
save = _absent("save", "write a program")
freeze = _absent("freeze", "inline a module's values")
optimize_for_inference = _absent("optimize_for_inference", "rewrite a module")
fork = _absent("fork", "start a task")
wait = _absent("wait", "await a task")


class optimized_execution:  # noqa: N801 - PyTorch's name
    """A context without effect."""

    def __init__(self, should_optimize: bool) -> None:
        self.should_optimize = should_optimize

    def __enter__(self) -> None:
        pass

    def __exit__(self, *problem: object) -> None:
        pass


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """Nothing to choose: gives an empty strategy."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing to switch."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


__path__: list[str] = []  # a package: what asks for its modules is told which lack
__getattr__ = absent.names_of(__name__)
