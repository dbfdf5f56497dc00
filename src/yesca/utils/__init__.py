"""`torch.utils`: its parts are imported when they are first used."""

from __future__ import annotations

import copyreg
import weakref
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..base import absent


def set_module(obj: Any, mod: str) -> None:
    """Let an object say that it comes from a module."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange all that two tensors are: values, class, gradient, hooks; the objects stay.

    Neither may have weak references to it: these would now lead to the other.

    >>> import yesca as torch
    >>> x, y = torch.ones(2), torch.nn.Parameter(torch.zeros(3))
    >>> torch.utils.swap_tensors(x, y)
    >>> x, y
    (Parameter containing: tensor([0., 0., 0.], requires_grad=True), tensor([1., 1.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = copyreg._slotnames(type(t1))  # type: ignore[attr-defined]
    if set(slots) != set(copyreg._slotnames(type(t2))):  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots:
        _exchange(t1, t2, slot)


def _exchange(first: Any, second: Any, slot: str) -> None:
    """Exchange what stands in a slot of both, where something does."""
    values = [getattr(each, slot, _EMPTY) for each in (first, second)]
    for each, value in ((first, values[1]), (second, values[0])):
        if value is not _EMPTY:
            object.__setattr__(each, slot, value)
        elif getattr(each, slot, _EMPTY) is not _EMPTY:
            object.__delattr__(each, slot)


_EMPTY = object()


def __getattr__(name: str) -> Any:
    if name.startswith("__") or find_spec(f"{__package__}.{name}") is None:
        raise absent.error(__name__, name)
    return import_module(f"{__package__}.{name}")
