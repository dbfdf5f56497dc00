"""`torch.utils._python_dispatch`: modes that see every operator below the tape.

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            print(func)
            return func(*args, **(kwargs or {}))

A mode is off inside its own handler, so that what it calls goes to the mode around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..aten.stations import DispatchLevel
from ..base import absent
from ..base.naming import lives_in
from ..core.tensor_base import TensorBase
from ..dispatch.handlers import takes_over
from ..dispatch.state import STATE, set_aside, set_levels

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing", "transform_subclass",
]
_HOME = "torch.utils._python_dispatch"


@lives_in(_HOME)
class TorchDispatchMode:
    """Inside, every operator of PyTorch's is handed to `__torch_dispatch__`.

    It stands below the tape and autocast: it sees what these run, a pass backward as well, and
    what it returns is what the program gets.

    >>> import yesca as torch
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2, 3)
    >>> with Log():
    ...     _ = torch.nn.functional.linear(x, x)
    aten.t.default
    aten.mm.default
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("a dispatch mode stands below the tape; others are "
                                      "torch.overrides.TorchFunctionMode")

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        levels = list(STATE.levels)
        place = sum(level.dispatches for level in levels)
        set_levels([*levels[:place], DispatchLevel(self), *levels[place:]])
        return self

    def __exit__(self, *exc: object) -> None:
        levels = list(STATE.levels)
        place = sum(level.dispatches for level in levels) - 1
        set_levels([*levels[:place], *levels[place + 1:]])

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The old way to make a mode."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is a part of the package's own machinery."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        return func(*args, **(kwargs or {}))


# ---- the modes that are on ---------------------------------------------------------------------

def _get_current_dispatch_mode_stack() -> list[Any]:
    """The active modes, the innermost last."""
    return [level.mode for level in STATE.levels if level.dispatches]


def _get_current_dispatch_mode() -> Any:
    """The innermost active mode, or None."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on."""
    return bool(_get_current_dispatch_mode_stack())


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Inside, the innermost mode is off; gives that mode."""
    stack = _get_current_dispatch_mode_stack()
    if not stack:
        raise AssertionError("there is no active dispatch mode to take away")
    place = len(stack) - 1
    with set_aside([*STATE.levels[:place], *STATE.levels[place + 1:]]):
        yield stack[-1]


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Inside, all dispatch modes are off; gives them."""
    stack = _get_current_dispatch_mode_stack()
    with set_aside([level for level in STATE.levels if not level.dispatches]):
        yield stack


# ---- subclasses that wrap tensors --------------------------------------------------------------

def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a value is a tensor of a class that can be taken apart and put together again.

    Its class has `__torch_dispatch__`, `__tensor_flatten__` and `__tensor_unflatten__`.
    """
    return isinstance(t, TensorBase) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """As `is_traceable_wrapper_subclass`, of a class."""
    return takes_over(t) and getattr(t, "__tensor_flatten__", None) is not None \
        and getattr(t, "__tensor_unflatten__", None) is not None


def transform_subclass(t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None,
                       outer_stride: Any = None) -> Any:
    """The tensor with its inner ones replaced by `callback(name, inner)`.

    The callback's results are to have the inner tensors' shapes.
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size:
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have "
                             f"shape equal to {size}, but got: {made.shape}")
    return made


def return_and_correct_aliasing(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None,
                                out: Any) -> Any:
    """What a handler of a wrapping class returns at its end: `out`, its aliases as they must be.

    Results of a view share the operand's storage; an operator that writes to an argument returns
    that very argument.
    """
    schema = func._schema
    given = dict(zip([a.name for a in schema.arguments], args, strict=False)) | (kwargs or {})
    written = [given[a.name] for a in schema.arguments if a.is_write and a.name in given]
    if written and schema.returns:
        return written[0] if len(schema.returns) == 1 else type(out)(
            written[:len(schema.returns)])
    if getattr(func, "is_view", False):
        base = args[0]
        for made in out if isinstance(out, (list, tuple)) else (out,):
            if isinstance(made, TensorBase) and takes_over(type(made)):
                made._storage, made._counter = base._storage, base._counter
    return out


__getattr__ = absent.names_of(__name__)
