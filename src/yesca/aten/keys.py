"""Dispatch keys: what `torch._C._dispatch_keys(tensor)` and its like tell.

The engine has no table of keys: these name, in PyTorch's words, what a tensor's calls pass.
"""

from __future__ import annotations

import enum
from typing import Any

from ..base.naming import lives_in
from ..core.devices import META
from ..core.tensor_base import TensorBase
from ..dispatch.handlers import takes_over


@lives_in("torch._C")
class DispatchKey(enum.Enum):
    """A station of PyTorch's dispatcher that yesca's calls may pass; later ones come first."""

    Undefined = 0
    CompositeImplicitAutograd = 1
    CompositeExplicitAutograd = 2
    CPU = 3
    Meta = 4
    Python = 5
    Conjugate = 6
    Negative = 7
    ADInplaceOrView = 8
    Autograd = 9
    AutogradCPU = 10
    AutogradMeta = 11
    AutocastCPU = 12
    FuncTorchBatched = 13
    PythonTLSSnapshot = 14


@lives_in("torch")
class DispatchKeySet:
    """The stations of a tensor's calls."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a station is among them."""
        return key in self._keys

    def highestPriorityTypeId(self) -> DispatchKey:  # noqa: N802 - PyTorch's name
        """The station that comes first."""
        return max(self._keys, key=lambda key: key.value, default=DispatchKey.Undefined)

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """The set with one more."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """The set without one."""
        return DispatchKeySet(*(self._keys - {key}))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        names = sorted(self._keys, key=lambda key: key.value)
        return f"DispatchKeySet({', '.join(key.name for key in names)})"


def keys_of(tensor: Any) -> DispatchKeySet:
    """The stations of a tensor's calls.

    >>> import yesca as torch
    >>> torch._C._dispatch_keys(torch.ones(2))
    DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError("_dispatch_keys(): argument must be Tensor, not "
                        f"{type(tensor).__name__}")
    own, k = tensor._spec, DispatchKey
    on_meta = own.device is META
    found = [k.Meta if on_meta else k.CPU]
    found += [key for key, wanted in (
        (k.Python, takes_over(type(tensor))), (k.PythonTLSSnapshot, takes_over(type(tensor))),
        (k.Conjugate, own.conj), (k.Negative, own.neg), (k.AutocastCPU, not on_meta)) if wanted]
    if tensor._counter is not None:  # no inference tensor
        found += [k.ADInplaceOrView, k.AutogradMeta if on_meta else k.AutogradCPU]
    return DispatchKeySet(*found)


def has_kernel(name: str) -> bool:
    """Whether there is an operator `namespace::name`, or `namespace::name.overload`."""
    return _operator(name) is not None


def has_kernel_for(name: str, key: str) -> bool:
    """Whether an operator has a kernel of its own at a station.

    Raises RuntimeError for operators and stations that are not there.
    """
    op = _operator(name)
    if op is None:
        raise RuntimeError(f"operator {name} does not exist")
    if key not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {key}")
    if key in op.kernels:
        return True
    parts = getattr(op, "composite", None)
    if parts is None:
        return False
    return parts if key == "CompositeImplicitAutograd" else \
        not parts and key in ("CPU", "Meta", "Autograd")


def _operator(name: str) -> Any:
    from .._ops import known

    name, _, overload = name.partition(".")
    return known(name, overload or "default")


def all_names() -> list[str]:
    """All operators of PyTorch's own, with their overloads."""
    from .schemas import table

    return [f"aten::{signature.partition('(')[0]}" for lines in table().values()
            for _, signature in lines]
