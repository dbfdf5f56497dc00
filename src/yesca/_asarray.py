"""`torch.asarray`: numbers, sequences, arrays and buffers as tensors, over their memory if it has
any that can be shared."""

from __future__ import annotations

from typing import Any

from . import _tensor  # noqa: F401 - tensors can be made from here on
from .base.errors import argument_error
from .base.frames import warn_once
from .core import registry
from .core.devices import resolve
from .core.dtypes import SCALAR_NAMES, DType, as_dtype, get_default_dtype, int64
from .core.spec import spec
from .core.storage import UntypedStorage
from .core.tensor_base import TensorBase
from .dispatch import protocol
from .dispatch.creation import finished
from .dispatch.dlpack import from_dlpack
from .dispatch.from_data import from_data, from_numpy, frombuffer


@protocol.guarded
def asarray(obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Any:
    """`obj` as a tensor: a tensor itself, or one over the memory of an array or buffer.

    obj: a tensor, a NumPy array, what has `__dlpack__`, a buffer (`bytes`, `array.array` ...:
    its bytes are elements of `dtype`), a number, or a nested sequence of numbers.
    copy: True always gives memory of its own; False raises ValueError where that is needed;
    None copies for another dtype or device, and numbers and sequences.
    requires_grad: None leaves it as it is for tensors.

    >>> import numpy
    >>> import yesca as torch
    >>> array = numpy.zeros(2)
    >>> shared, own = torch.asarray(array), torch.asarray(array, copy=True)
    >>> array[0] = 1
    >>> shared.tolist(), own.tolist()
    ([1.0, 0.0], [0.0, 0.0])
    """
    dtype = as_dtype(dtype)
    for name, value, kind, text in (("dtype", dtype, DType, "torch.dtype"),
                                    ("copy", copy, bool, "bool"),
                                    ("requires_grad", requires_grad, bool, "bool")):
        if value is not None and not isinstance(value, kind):
            raise argument_error("asarray", name, 0, text, value)
    seen = _shared(obj, dtype, copy)
    if seen is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        made = from_data(obj, dtype, device, copy=True)
    else:
        made = _converted(seen, dtype, device, copy)
    return _on_tape(made, requires_grad)


def _shared(obj: Any, dtype: DType | None, copy: bool | None) -> Any:
    """A tensor over the object's memory; None where it has none."""
    if isinstance(obj, TensorBase):
        return obj
    if type(obj).__module__ == "numpy" and getattr(obj, "__setitem__", None) is None:
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform "
                               "it in a ndarray. ")
        return None
    if type(obj).__module__ == "numpy":
        return from_numpy(obj)
    if isinstance(obj, UntypedStorage):
        kind = dtype or int64
        return registry.wrap(obj, spec(kind, (len(obj) // kind.itemsize,), None, obj.device), 0)
    if getattr(type(obj), "__dlpack__", None) is not None:
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or get_default_dtype())


def _converted(seen: Any, dtype: DType | None, device: Any, copy: bool | None) -> Any:
    """The tensor in the dtype and on the device that are wanted."""
    own = seen._spec
    dtype, place = dtype or own.dtype, own.device if device is None else resolve(device)
    if dtype is own.dtype and place is own.device and not copy:
        return seen
    if copy is False:
        raise ValueError(
            f"can't alias tensor from device '{own.device}' to '{place}'."
            if place is not own.device else f"can't alias tensor with dtype "
            f"'{SCALAR_NAMES[own.dtype]}' into dtype '{SCALAR_NAMES[dtype]}'.")
    return seen.to(device=place, dtype=dtype, copy=True)


def _on_tape(made: Any, requires_grad: bool | None) -> Any:
    if requires_grad is None:
        if made.requires_grad:
            warn_once("torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                      "instead of False. Say requires_grad=False or True to be sure.")
        return made
    if requires_grad or not made.requires_grad:
        return made if made.requires_grad else finished(made, requires_grad)
    return made.requires_grad_(False) if made.is_leaf else made.detach()
