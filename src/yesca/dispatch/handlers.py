"""Classes of tensors that take operators over below the tape: those with a `__torch_dispatch__`.

While no class has one, operator calls ask nothing. The first one puts `intercepted` in the place of
the Python path, to which the builtin hands all subclasses anyway; what the calls then come to is
`aten/stations.py`, which is loaded when a tensor of such a class is met.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from ..core.devices import resolve
from ..core.dtypes import DType, get_default_dtype
from ..core.layouts import strided
from ..core.spec import spec
from ..core.storage import UntypedStorage
from ..core.tensor_base import TensorBase, Version
from ..operators.record import Record
from . import call
from .shortcuts import tensors_in
from .state import STATE

_takes: dict[type, bool] = {TensorBase: False}


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_dispatch__` of classes that want none, and what `super()` of others comes to:
    the operator on what the tensors hold, no class asked."""
    before, STATE.classes = STATE.classes, False
    try:
        return func(*args, **(kwargs or {}))
    finally:
        STATE.classes = before


def takes_over(cls: type) -> bool:
    """Whether a class is one of tensors with a `__torch_dispatch__` of its own."""
    known = _takes.get(cls)
    if known is None:
        own = getattr(cls, "__torch_dispatch__", disabled)
        known = _takes[cls] = issubclass(cls, TensorBase) \
            and getattr(own, "__func__", own) is not disabled
    return known


def handled(value: Any) -> bool:
    """Whether a value is a tensor whose class takes operators over, here and now."""
    return STATE.classes and takes_over(type(value))


def owners(values: Iterable[Any]) -> list[Any]:
    """The tensors that take operators over, one of each class, subclasses before their bases."""
    found: list[Any] = []
    for one in tensors_in(values):
        if not handled(one) or any(type(f) is type(one) for f in found):
            continue
        place = next((k for k, f in enumerate(found) if issubclass(type(one), type(f))), None)
        found.insert(len(found) if place is None else place, one)
    return found


def seen(values: Iterable[Any]) -> bool:
    """Whether the innermost level, or the class of an operand, sees operators below the tape."""
    levels = STATE.levels
    return bool(levels and levels[-1].dispatches) \
        or any(handled(one) for one in tensors_in(values))


def named(operator: str, tensor: Any) -> Any:
    """Run an operator of PyTorch's name before those who see it."""
    return _stations().named(operator, (tensor,), {})


@cache
def _stations() -> Any:
    return import_module("..aten.stations", __package__)


def intercepted(record: Record, values: tuple[Any, ...], target: Any = None, out: Any = None
                ) -> Any:
    """`call.unobserved`, once there is a class with a `__torch_dispatch__`."""
    for one in tensors_in(values):
        if handled(one):
            return NotImplemented if out is not None else \
                _stations().translated(record, values, target)
    return call.unobserved(record, values, target, out)


def adopt(cls: Any) -> None:
    """Let a new class take operators over, if it wants to."""
    if not takes_over(cls):
        return
    call.intercept(intercepted)
    if cls.__mro__[1].detach is cls.detach:
        cls.detach = _detach
    for name in ("new_zeros", "new_ones", "new_empty", "new_full"):
        if getattr(cls.__mro__[1], name) is getattr(cls, name):
            setattr(cls, name, _maker(name))
    data = getattr(cls, "data", None)
    if data is getattr(cls.__mro__[1], "data", None) and not takes_over(cls.__mro__[1]):
        cls.data = property(_detach, data.fset, data.fdel, data.__doc__)


def _detach(self: Any) -> Any:
    return named("detach", self) if STATE.classes else _plain(self).detach(self)


def _plain(tensor: Any) -> Any:
    """The first of a tensor's classes that takes nothing over."""
    return next(cls for cls in type(tensor).__mro__ if not takes_over(cls))


def _maker(name: str) -> Any:
    def method(self: Any, *size: Any, **kwargs: Any) -> Any:
        if not STATE.classes:
            return getattr(_plain(self), name)(self, *size, **kwargs)
        if size and isinstance(size[0], int):
            size = (list(size),)
        return factory(name, (self, *size), kwargs)

    return method


def factory(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new tensor like one whose class takes operators over: the class makes it."""
    given = {k: v for k, v in kwargs.items() if v is not None}
    wanted = given.pop("requires_grad", False)
    made = _stations().named(name, args, given)
    return made.requires_grad_(True) if wanted else made


# ---- tensors without memory ----------------------------------------------------------------------

def wrapper(cls: Any, size: Any, *, strides: Any = None, storage_offset: Any = None,
            memory_format: Any = None, dtype: DType | None = None, layout: Any = strided,
            device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
            dispatch_sizes_strides_policy: Any = None, dispatch_device: bool = False,
            dispatch_layout: bool = False, _extra_dispatch_keys: Any = None,
            storage_size: Any = None) -> Any:
    """`Tensor._make_wrapper_subclass`: a tensor that has shape, strides, dtype and device, but no
    memory. Its class handles every operator in `__torch_dispatch__`.

    Raises RuntimeError for a class that has none.
    """
    if not takes_over(cls):
        raise RuntimeError(f"{cls.__name__} cannot be made by _make_wrapper_subclass: it has no "
                           "__torch_dispatch__, so nothing could handle its operators")
    shape = tuple(int(n) for n in size)
    own = spec(dtype or get_default_dtype(), shape,
               None if strides is None else tuple(int(n) for n in strides),
               resolve("cpu" if device is None else device))
    made = object.__new__(cls)
    made._storage = UntypedStorage._wrap(0, 0, None, 0, own.device)
    made._spec, made._offset = own, int(storage_offset or 0)
    made._counter = None if STATE.inference else Version(STATE.birth)
    made._requires_grad = False
    made._node = made._grad = made._extra = None
    made._output_nr = 0
    if requires_grad:
        if not (own.dtype.is_floating_point or own.dtype.is_complex):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients")
        made._requires_grad = True
    return made


def rebuilt(cls: Any, dtype: Any, size: Any, stride: Any, storage_offset: Any, layout: Any,
            device: Any, requires_grad: bool) -> Any:
    """A wrapper from what a pickle keeps of it; its attributes come afterwards."""
    return wrapper(cls, size, strides=stride, storage_offset=storage_offset, dtype=dtype,
                   layout=layout, device=device, requires_grad=requires_grad)


__all__ = ["adopt", "disabled", "factory", "handled", "intercepted", "named", "owners", "rebuilt",
           "seen", "takes_over", "wrapper"]
