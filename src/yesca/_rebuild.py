"""Tensors to pickles and back: reduce and rebuild.

The rebuild functions keep the names and arguments of PyTorch's `torch._utils`, because
checkpoints call them by those names (`_global_names.py` maps the modules).
"""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from functools import cache
from typing import Any

from .base.frames import warn
from .base.short_values import shown
from . import _storage_access as access
from .dispatch import handlers

_EMPTY = object()

# --- rebuilding ------------------------------------------------------------------------------


def _rebuild_tensor(storage: access.TypedBytes, storage_offset: int, size: tuple[int, ...],
                    stride: tuple[int, ...]) -> Any:
    return _view(storage, storage.dtype, storage_offset, size, stride, False)


def _rebuild_tensor_v2(storage: access.TypedBytes, storage_offset: int, size: tuple[int, ...],
                       stride: tuple[int, ...], requires_grad: bool, backward_hooks: Any,
                       metadata: dict[str, bool] | None = None) -> Any:
    return _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad,
                              backward_hooks, storage.dtype, metadata)


def _rebuild_tensor_v3(storage: access.TypedBytes, storage_offset: int, size: tuple[int, ...],
                       stride: tuple[int, ...], requires_grad: bool, backward_hooks: Any,
                       dtype: Any, metadata: dict[str, bool] | None = None) -> Any:
    plain = not metadata
    tensor = _view(storage, dtype, storage_offset, size, stride, bool(requires_grad) and plain)
    if not plain:
        tensor = _with_metadata(tensor, metadata)  # type: ignore[arg-type]
        if requires_grad:
            tensor.requires_grad = True
    # Only files of PyTorch 0.3 and older have hooks; today they are not saved.
    for hook in dict(backward_hooks or {}).values():
        tensor.register_hook(hook)
    return tensor


def _view(storage: Any, dtype: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...],
          requires_grad: bool) -> Any:
    """A tensor over `storage`, after checking that what a file says makes sense."""
    holder = access.as_typed_bytes(storage)
    if holder is None or not isinstance(dtype, access.DType):
        raise RuntimeError("a saved tensor needs a storage and a dtype, got "
                           f"{type(storage).__name__} and {type(dtype).__name__}; the file is "
                           "corrupt")
    sizes, strides = tuple(size), tuple(stride)
    numbers = (offset, *sizes, *strides)
    if any(type(number) is not int or not 0 <= number < 1 << 63 for number in numbers):
        raise RuntimeError("a saved tensor's storage offset, sizes and strides must be "
                           f"non-negative integers of 64 bits, got {shown(offset)}, "
                           f"{shown(sizes)} and {shown(strides)}; the file is corrupt")
    if len(sizes) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {sizes} and {strides}; the "
                           "file is corrupt")
    if 0 not in sizes:
        last = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        needed = (offset + last + 1) * dtype.itemsize
        if needed > holder.nbytes():
            raise RuntimeError(
                "Trying to resize storage that is not resizable: setStorage: sizes "
                f"{list(sizes)}, strides {list(strides)}, storage offset {offset}, and itemsize "
                f"{dtype.itemsize} requiring a storage size of {needed} are out of bounds for "
                f"storage of size {holder.nbytes()}"
            )
    return access.tensor_over(holder.untyped(), dtype, offset, sizes, strides, requires_grad)


def _with_metadata(tensor: Any, metadata: dict[str, bool]) -> Any:
    if metadata.get("conj"):
        tensor = tensor.conj()
    if metadata.get("neg"):
        tensor = tensor._neg_view()
    return tensor


def _rebuild_meta_tensor_no_storage(dtype: Any, size: tuple[int, ...], stride: tuple[int, ...],
                                    requires_grad: bool) -> Any:
    from . import functional as ops

    return ops.empty_strided(size, stride, dtype=dtype, device="meta",
                             requires_grad=requires_grad)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any,
                                           requires_grad: bool) -> Any:
    tensor = data.to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: Any,
                                      requires_grad: bool) -> Any:
    from . import functional as ops

    return _rebuild_device_tensor_from_cpu_tensor(ops.from_numpy(data), dtype, device,
                                                  requires_grad)


def _rebuild_sparse_tensor(layout: Any, data: tuple[Any, ...]) -> Any:
    from ._sparse.making import sparse_coo_tensor

    if str(layout) != "torch.sparse_coo":
        raise NotImplementedError(f"the file holds sparse tensors of layout {layout}, which are "
                                  "not there; save dense ones, or those of torch.sparse_coo")
    if type(data) is not tuple or len(data) not in (3, 4) \
            or not all(isinstance(part, _tensor_class()) for part in data[:2]):
        raise RuntimeError("a saved sparse tensor needs indices, values and a size; the file is "
                           "corrupt")
    indices, values, size, *coalesced = data
    # Old files give the bytes of storages afterwards: places cannot be looked at here. Kernels
    # look at them whenever they are used.
    return sparse_coo_tensor(indices, values, size, check_invariants=False,
                             is_coalesced=coalesced[0] if coalesced else None)


def _rebuild_from_type(func: Any, new_type: type, args: tuple[Any, ...], state: Any) -> Any:
    return _rebuild_from_type_v2(func, new_type, args, state)


def _rebuild_from_type_v2(func: Any, new_type: type, args: tuple[Any, ...], state: Any) -> Any:
    """A tensor of a subclass, or one that carries attributes."""
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    own = getattr(new_type, "__setstate__", None)
    if own is not getattr(_tensor_class(), "__setstate__", None):
        tensor.__setstate__(state)
        return tensor
    return _set_state(tensor, state)


# --- reducing --------------------------------------------------------------------------------


def reduce_tensor(tensor: Any, protocol: int = 2) -> tuple[Any, ...]:
    """`Tensor.__reduce_ex__`: how pickles, checkpoints and worker processes write a tensor.

    Returns (rebuild function, arguments). The storage is among the arguments whole, so that
    views of one storage still share it after loading.
    """
    state = _get_state(tensor)
    func, args = _reduce_data(tensor)
    if type(tensor) is _tensor_class() and not state:
        return func, args
    return _rebuild_from_type_v2, (func, type(tensor), args, state)


def _reduce_data(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    _warn_of_hooks(tensor)
    # A new tuple of strides for each tensor, as PyTorch gives: pickle writes an object it has
    # met before as a reference, and files shall not depend on which specs share their strides.
    dtype, size, stride = tensor.dtype, tuple(tensor.size()), tuple(n for n in tensor.stride())
    if handlers.takes_over(type(tensor)) and not tensor._storage._nbytes:
        return handlers.rebuilt, (type(tensor), dtype, size, stride, tensor.storage_offset(),
                                  tensor.layout, tensor.device, tensor.requires_grad)
    if tensor.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (dtype, size, stride, tensor.requires_grad)
    untyped = tensor.untyped_storage()
    common = (tensor.storage_offset(), size, stride, tensor.requires_grad, OrderedDict())
    metadata = access.lazy_flags(tensor)
    extra = (metadata,) if metadata else ()
    if access.storage_name(dtype) is None:
        return _rebuild_tensor_v3, (untyped, *common, dtype, *extra)
    return _rebuild_tensor_v2, (access.TypedBytes(untyped, dtype), *common, *extra)


def _warn_of_hooks(tensor: Any) -> None:
    for hook in access.gradient_hooks(tensor):
        if not getattr(hook, "__torch_serialize_ignore__", False):
            warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is "
                 "expected, you can decorate the function with "
                 "@torch.utils.hooks.unserializable_hook to suppress this warning")


def _tensor_class() -> Any:
    from ._tensor import Tensor

    return Tensor


def _get_state(tensor: Any) -> Any:
    """What a user put on a tensor: attributes, and slots of classes below Tensor."""
    cls = type(tensor)
    if cls.__getstate__ is not object.__getstate__:  # type: ignore[attr-defined]
        return tensor.__getstate__()
    attributes = getattr(tensor, "__dict__", None) or None
    slots = _slots_of(tensor)
    return (attributes, slots) if slots else attributes


def _slots_of(tensor: Any) -> dict[str, Any]:
    """The slots of classes below Tensor that are filled."""
    slots = {name: getattr(tensor, name, _EMPTY) for name in _own_slots(type(tensor))}
    return {name: value for name, value in slots.items() if value is not _EMPTY}


def _own_slots(cls: type) -> list[str]:
    if cls is _tensor_class():
        return []
    return [name for name in _slot_names(cls) if name not in _engine_slots()]


@cache
def _engine_slots() -> frozenset[str]:
    return frozenset(_slot_names(_tensor_class()))


def _slot_names(cls: type) -> list[str]:
    return copyreg._slotnames(cls)  # type: ignore[attr-defined, no-any-return]


def _set_state(tensor: Any, state: Any) -> Any:
    check_state(state)
    for part in _parts(state):
        for name, value in part.items():
            setattr(tensor, name, value)
    return tensor


def _parts(state: Any) -> list[dict[str, Any]]:
    """Attributes and filled slots, as `_get_state` put them."""
    parts = state if isinstance(state, tuple) else (state,)
    return [part for part in parts if part]


def check_state(state: Any) -> None:
    """Refuse state from a file that would move a tensor to memory that is not its own.

    Raises RuntimeError.
    """
    for part in _parts(state):
        names = set(part) if isinstance(part, dict) else {repr(part)}
        wrong = names & _engine_slots() if isinstance(part, dict) else names
        if wrong:
            raise RuntimeError(f"the state of a saved tensor has {sorted(map(str, wrong))}, which "
                               "is not an attribute that can be set; the file is corrupt")
