"""Small questions about objects and devices: `is_tensor`, `typename`, `get_device_module`."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from .base import frames
from .base.naming import lives_in
from .core.devices import Device
from .core.storage import UntypedStorage

__all__ = ["is_tensor", "is_storage", "typename", "get_device_module"]


@lives_in("torch")
class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left."""


@lives_in("torch")
class AcceleratorError(RuntimeError):
    """Raised when an accelerator reports an error."""


def is_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a Tensor, subclasses included.

    >>> import yesca as torch
    >>> torch.is_tensor([1, 2])
    False
    """
    from ._tensor import Tensor

    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage object."""
    from .typed_storages import TypedStorage

    return isinstance(obj, (UntypedStorage, TypedStorage))


def typename(obj: Any, /) -> str:
    """The name of an object's type with its module; a tensor gives its `type()`.

    >>> import yesca as torch
    >>> torch.typename(3)
    'int'
    """
    from ._tensor import Tensor

    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", None) or ""
    qualified = getattr(obj, "__qualname__", None)
    if qualified is None:
        module, qualified = type(obj).__module__ or "", type(obj).__qualname__
    return qualified if module in ("", "builtins") else f"{module}.{qualified}"


def get_device_module(device: Device | str | None = None) -> ModuleType:
    """The module of a device type, such as `torch.cpu`; of the accelerator, else the CPU.

    Raises RuntimeError for a device type without a module.
    """
    if device is None:
        kind = "cpu"
    elif isinstance(device, (str, Device)):
        kind = str(Device(device)).partition(":")[0]
    else:
        raise RuntimeError(
            f"Invalid value of device '{device}', expect torch.device, str, or None"
        )
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return importlib.import_module(f"{__package__}.{kind}")


def set_warn_always(enabled: bool, /) -> None:
    """Whether warnings that are given once a process are given each time."""
    frames.always[0] = bool(enabled)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` has set."""
    return frames.always[0]
