"""`torch.overrides`: taking functions over, by class (`__torch_function__`) or by mode."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .base import absent
from .core.dtypes import DType
from .core.tensor_base import TensorBase
from .dispatch.call import OPERATORS
from .dispatch.levels import Level
from .dispatch.protocol import no_wrap, offer, open_doors, participants
from .dispatch.state import STATE, pop_level, push_level, set_aside, set_below
from .operators.record import Record

__all__ = [
    "TorchFunctionMode", "BaseTorchFunctionMode", "has_torch_function", "handle_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "get_default_nowrap_functions", "wrap_torch_function",
    "resolve_name", "get_overridable_functions", "get_ignored_functions", "get_testing_overrides",
    "enable_reentrant_dispatch",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments takes functions over.

    A function of one's own asks this first, and then calls `handle_torch_function`.
    """
    return any(isinstance(level, _ModeLevel) for level in STATE.levels) \
        or bool(participants(relevant_args))


def has_torch_function_unary(value: Any) -> bool:
    """As `has_torch_function`, for one argument."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """As `has_torch_function`, for several arguments."""
    return has_torch_function(values)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any],
                          *args: Any, **kwargs: Any) -> Any:
    """Let the arguments' classes (or a mode) run `public_api(*args, **kwargs)`."""
    if STATE.levels and isinstance(STATE.levels[-1], _ModeLevel):
        level = STATE.levels.pop()
        try:
            return level.function(public_api, args, kwargs)
        finally:
            push_level(level)
    return offer(public_api, participants(relevant_args), args, kwargs)


class _ModeLevel(Level):
    """Hands every call to a mode."""

    def __init__(self, mode: TorchFunctionMode) -> None:
        self.mode = mode

    def call(self, record: Record, values: tuple[Any, ...], target: Any) -> Any:
        from .dispatch.protocol import given

        name = record.name if target is None else f"{record.name}_"
        func = getattr(OPERATORS, name, None)
        if func is None:
            return super().call(record, values, target)
        args, kwargs = given(record.schema, values)
        return self.function(func, args, kwargs)

    def function(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
                 ) -> Any:
        types = tuple([type(a) for a in args if isinstance(a, TensorBase)])
        return self.mode.__torch_function__(func, types, args, kwargs)


class TorchFunctionMode:
    """Inside, every function of the package is handed to `__torch_function__`.

    >>> import yesca as torch
    >>> class Count(torch.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Count() as count:
    ...     _ = torch.sin(torch.ones(1)) + 1
    >>> count.calls
    3
    """

    def __torch_function__(self, func: Callable[..., Any], types: tuple[type, ...],
                           args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
                           ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        open_doors()
        push_level(_ModeLevel(self))
        return self

    def __exit__(self, *exc: object) -> None:
        pop_level()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The old way to make a mode."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Callable[..., Any], types: tuple[type, ...],
                           args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
                           ) -> Any:
        return func(*args, **(kwargs or {}))


# ---- the modes that are on ---------------------------------------------------------------------

def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The active function modes, the innermost last."""
    return [level.mode for level in STATE.levels if isinstance(level, _ModeLevel)]


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost active function mode, or None."""
    stack = _get_current_function_mode_stack()
    return stack[-1] if stack else None


@contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    """Inside, the innermost function mode is off; gives it."""
    mode = _get_current_function_mode()
    if mode is None:
        raise AssertionError("there is no active function mode to take away")
    with set_aside([level for level in STATE.levels
                    if not isinstance(level, _ModeLevel) or level.mode is not mode]):
        yield mode


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """In a `__torch_dispatch__`: what is called inside is on the tape again, as it is outside."""
    before = STATE.below
    set_below(False)
    try:
        yield
    finally:
        set_below(before)


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor or has a `__torch_function__`."""
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of the tensor class, or gets a property of it."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        return name == "__get__"
    return _names().get(func, "").startswith("torch.Tensor.")


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results stay plain tensors when a subclass was given."""
    from ._tensor import Tensor

    return {Tensor.grad.__get__, Tensor._base.__get__, *no_wrap()}  # type: ignore[attr-defined]


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorates a function of one's own: `dispatcher(*args)` gives the arguments to ask."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


# ---- what there is to take over ----------------------------------------------------------------

#: Names whose functions ask no class: they take no tensors, or tell of the library itself.
_IGNORED = frozenset("""
    arange as_tensor asarray autocast_decrement_nesting autocast_increment_nesting bartlett_window
    blackman_window broadcast_shapes can_cast clear_autocast_cache compile complex empty
    empty_permuted empty_strided enable_grad eye fftfreq finfo from_dlpack from_file from_numpy
    frombuffer full full_ get_default_dtype get_device get_num_interop_threads get_num_threads
    hamming_window hann_window iinfo inference_mode initial_seed is_grad_enabled is_storage
    is_tensor kaiser_window linspace load logspace manual_seed no_grad normal ones promote_types
    rand randint randn randperm range result_type rfftfreq save scalar_tensor seed
    set_default_dtype set_default_tensor_type set_grad_enabled set_num_interop_threads
    set_num_threads set_printoptions set_rng_state tensor tril_indices triu_indices typename vmap
    zeros has_torch_function has_torch_function_unary has_torch_function_variadic
    handle_torch_function as_subclass __new__ __init_subclass__ __torch_function__
    __torch_dispatch__ __dir__ __subclasshook__ _make_subclass""".split())


def _spaces() -> dict[str, Any]:
    """The places whose functions may be taken over, by their names."""
    from . import fft, functional, linalg, special
    from ._tensor import Tensor
    from .nn import functional as nn_functional
    from .nn import init

    return {"torch": functional, "torch.nn.functional": nn_functional, "torch.nn.init": init,
            "torch.Tensor": Tensor, "torch.linalg": linalg, "torch.fft": fft,
            "torch.special": special}


def _functions(space: str, holder: Any) -> Iterable[tuple[str, Callable[..., Any]]]:
    """(name, function) of all of a place, properties as what gets and sets them."""
    for name in dir(holder):
        if space != "torch.Tensor" and name.startswith("_"):
            continue
        found = getattr(holder, name)
        if getattr(object, name, None) is found or isinstance(found, (ModuleType, DType)):
            continue
        if isinstance(found, property):
            yield f"{name}.__get__", found.__get__
            yield f"{name}.__set__", found.__set__
        elif callable(found) and (name[0].islower() or name[0] == "_"):
            yield name, found


@functools.cache
def _names() -> dict[Callable[..., Any], str]:
    """Function -> its public name."""
    made: dict[Callable[..., Any], str] = {}
    for space, holder in _spaces().items():
        for name, function in _functions(space, holder):
            if not _hashable(function) or space == "torch.special" and function in made:
                continue  # most of those are names of functions that stand in the package too
            made[function] = f"{space}.{name}"
    return made


def _hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None


@functools.cache
def _overridable() -> dict[Any, list[Callable[..., Any]]]:
    package = sys.modules[__package__]
    return {
        package if space == "torch" else holder: [
            function for name, function in _functions(space, holder)
            if name not in _IGNORED and not name.endswith(".__set__")
            and (space == "torch.Tensor" or not name.endswith("_"))]
        for space, holder in _spaces().items()}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Module or class -> its functions that classes and modes may take over.

    >>> import yesca as torch
    >>> torch.add in get_overridable_functions()[torch]
    True
    """
    return {holder: list(functions) for holder, functions in _overridable().items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that no class takes over by way of its arguments."""
    return {function for space, holder in _spaces().items()
            for name, function in _functions(space, holder)
            if name in _IGNORED and _hashable(function)}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Function that may be taken over -> a function of the same signature that gives -1."""
    return {function: _stand_in(function)
            for functions in _overridable().values() for function in functions}


def _stand_in(function: Callable[..., Any]) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        stand_in.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass  # nothing tells its signature: any arguments
    return stand_in


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function that `__torch_function__` is given; None if it has none.

    >>> import yesca as torch
    >>> resolve_name(torch.Tensor.add), resolve_name(torch.Tensor.shape.__get__)
    ('torch.Tensor.add', 'torch.Tensor.shape.__get__')
    """
    return _names().get(f)


__getattr__ = absent.names_of(__name__)
