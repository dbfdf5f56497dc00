"""Methods that came before dtypes and kernels: `new`, `resize`, and loops in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base.frames import warn
from .core.devices import CPU
from .core.dtypes import DType
from .core.storage import UntypedStorage
from .core.tensor_base import TensorBase
from .dispatch import inplace
from .dispatch.call import OPERATORS
from .typed_storages import TypedStorage, storage_type


def legacy_new(dtype: DType, args: tuple[Any, ...]) -> Any:
    """A tensor from the arguments of a legacy constructor.

    Nothing gives an empty tensor; sizes (or one `Size`) an uninitialised one; a tensor of this
    dtype itself, as an alias; a storage a tensor over it; any other sequence its elements.
    """
    if not args:
        return OPERATORS.empty((0,), dtype=dtype)
    first = args[0]
    if isinstance(first, int) and not isinstance(first, bool):
        return OPERATORS.empty(_sizes(args), dtype=dtype)
    if len(args) > 1:
        raise TypeError(f"new() takes sizes or one sequence, but got {len(args)} arguments")
    if type(first).__name__ == "Size":
        return OPERATORS.empty(tuple(first), dtype=dtype)
    if isinstance(first, TensorBase):
        own = first._spec
        if own.dtype is not dtype or own.device is not CPU:
            raise TypeError(f"expected a tensor of {dtype} on cpu (got {own.dtype} on "
                            f"{own.device}); use .to({dtype})")
        return first.detach()  # type: ignore[attr-defined]
    if isinstance(first, (UntypedStorage, TypedStorage)):
        return OPERATORS.empty((0,), dtype=dtype).set_(first)
    if isinstance(first, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
    try:
        len(first)
    except TypeError:
        raise TypeError(
            f"new(): data must be a sequence (got {type(first).__name__})"
        ) from None
    return OPERATORS.tensor(list(first) if isinstance(first, range) else first, dtype=dtype)


def _sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    for place, size in enumerate(args, start=1):
        if not isinstance(size, int):
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {place} with error "
                f'"type must be tuple of ints,but got {type(size).__name__}"'
            )
        if size < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {size}: {list(args)}"
            )
    return args


def _new(self: Any, *args: Any, size: Any = None, device: Any = None) -> Any:
    """A tensor of this one's dtype: from sizes (uninitialised), a sequence, or an alias.

    >>> import yesca as torch
    >>> torch.ones(2, dtype=torch.float64).new([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    if size is not None:
        args = tuple(size)
    made = legacy_new(self._spec.dtype, args)
    return made.to(self._spec.device) if self._spec.device is not CPU else made


def _resize(self: Any, *sizes: Any) -> Any:
    """`reshape` under a name that PyTorch has given up."""
    warn("non-inplace resize is deprecated")
    shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    wanted = 1
    for n in shape:
        wanted *= n
    if wanted != self._spec.numel:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({wanted} elements in total), but "
            f"the given tensor has a size of {'x'.join(map(str, self._spec.shape))} "
            f"({self._spec.numel} elements). autograd's resize can only change the shape of a "
            "given tensor, while preserving the number of elements. ")
    return OPERATORS.reshape(self, tuple(shape))


def _resize_as(self: Any, tensor: Any) -> Any:
    """`reshape_as` under a name that PyTorch has given up."""
    return _resize(self, *tensor._spec.shape)


# ---- loops in Python -------------------------------------------------------------------------

def _loop(self: Any, name: str, others: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    """Every element becomes what the function gives for it (and those of other tensors)."""
    if self.requires_grad or any(o.requires_grad for o in others):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use "
                           f"var.detach().{name}() instead.")
    if self._spec.device is not CPU:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    inplace.check_tape(self, False, False)
    columns = []
    for other in others:
        if other._spec.dtype is not self._spec.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {other.type()})")
        columns.append(_elements(OPERATORS.expand(other, tuple(self._spec.shape))))
    values = [function(*row) for row in zip(_elements(self), *columns, strict=True)]
    made = OPERATORS.empty(self._spec.shape, dtype=self._spec.dtype)
    if values:
        from .dispatch.encoding import write_values

        if self._spec.dtype.category <= 1:
            values = [int(v) for v in values]
        write_values(made._storage, self._spec.dtype, values)
    return self.copy_(made)


def _elements(tensor: Any) -> list[Any]:
    return OPERATORS.reshape(tensor, (-1,)).tolist()  # type: ignore[no-any-return]


def _apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace every element by `callable(element)`: a slow loop in Python, CPU only."""
    return _loop(self, "apply_", (), callable)


def _map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace every element by `callable(element, element of tensor)`, CPU only."""
    return _loop(self, "map_", (_operand("map_", tensor),), callable)


def _map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace every element by `callable(element, element of x, element of y)`, CPU only."""
    return _loop(self, "map2_", (_operand("map2_", x), _operand("map2_", y)), callable)


def _operand(name: str, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        raise TypeError(f"{name}(): argument 'other' must be Tensor, not {type(value).__name__}")
    return value


# ---- other memory ----------------------------------------------------------------------------

def _pin_memory(self: Any, device: Any = None) -> Any:
    raise RuntimeError("Cannot access accelerator device when none is available: pin_memory() "
                       "needs one")


def _record_stream(self: Any, s: Any) -> None:
    raise NotImplementedError("record_stream() works on the memory of accelerators; this tensor "
                              f"is on {self.device}")


def _share_memory_(self: Any) -> Any:
    """Move the tensor's storage to shared memory, where child processes write to it as well."""
    self._storage.share_memory_()
    return self


_FUNCTIONS = (_new, _resize, _resize_as, _apply_, _map_, _map2_, _pin_memory,
              _record_stream, _share_memory_)


def install(cls: Any) -> None:
    """Put the methods on the tensor's class."""
    for function in _FUNCTIONS:
        name = function.__name__.removeprefix("_")
        function.__name__ = function.__qualname__ = name
        setattr(cls, name, function)
    cls.storage_type = storage_type


__all__ = ["install", "legacy_new"]
