"""What tensors do at the edges: construction, Python values, NumPy, hooks, storages, copies."""

from __future__ import annotations

import ctypes
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .base.handles import register
from .core import registry, small_floats
from .core.devices import CPU
from .core.dtypes import (
    ALIASES, BY_NAME, COMPLEX, SCALAR_NAMES, SMALL_FLOATS, DType, bfloat16, bool_, complex64,
    get_default_dtype,
)
from .core.layouts import strided
from .core.memory_formats import is_in
from .core.spec import Spec, spec
from .core.storage import EXPORTED
from .core.tensor_base import BIRTH, Moved, TensorBase, address_of, place_on_tape
from .dispatch import bridges, creation, from_data, handlers
from .dispatch.call import OPERATORS
from .dispatch.shortcuts import note_read
from .dispatch.state import HOOKED_LEAVES, STATE
from .operators.filling import c_name


def construct(cls: type, args: tuple[Any, ...], device: Any) -> Any:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor()` in the default dtype, of a subclass too."""
    made = _constructed(args, device)
    return made if type(made) is cls else as_subclass(made, cls)


def _constructed(args: tuple[Any, ...], device: Any) -> Any:
    dtype = get_default_dtype()
    if args and all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        return creation.empty(*args, dtype=dtype, device=device)
    if not args:
        return creation.empty(0, dtype=dtype, device=device)
    if len(args) == 1 and isinstance(args[0], TensorBase):
        return args[0].detach()  # type: ignore[attr-defined]
    if len(args) == 1 and type(args[0]).__name__ == "Size":
        return creation.empty(size=args[0], dtype=dtype, device=device)
    if len(args) > 1:
        raise TypeError(
            "new() received an invalid combination of arguments - got "
            f"({', '.join(type(a).__name__ for a in args)}), but expected one of: "
            "(*, torch.device device = None), (torch.Storage storage), (Tensor other), "
            "(tuple of ints size, *, torch.device device = None), "
            "(object data, *, torch.device device = None)")
    return from_data.from_data(args[0], dtype, device, copy=True)


def is_contiguous(base: Spec, memory_format: Any) -> bool:
    """Whether the strides are those of a memory format."""
    return base.contiguous if memory_format is None else is_in(base, memory_format.name)


# ---- values ----------------------------------------------------------------------------------

def _readable(tensor: Any) -> None:
    note_read()
    if tensor._spec.device is not CPU:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    base = tensor._spec
    if base.numel and tensor._offset * base.dtype.itemsize + base.nbytes > tensor._storage._nbytes:
        raise RuntimeError("tolist() shouldn't be called on a tensor with unallocated storage: "
                           "somebody has shrunk it")


def read_one(tensor: Any) -> Any:
    """The first element as a Python number."""
    if handlers.seen((tensor,)):
        return handlers.named("_local_scalar_dense", tensor)
    _readable(tensor)
    base = tensor._spec
    address = address_of(tensor)
    made = decode(ctypes.string_at(address, base.dtype.itemsize), base.dtype)[0]
    made = made.conjugate() if base.conj else made
    return -made if base.neg else made


def real_number(value: Any, name: str) -> Any:
    """A number without its imaginary part, which must be 0."""
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return value.real


def single(tensor: Any) -> Any:
    """The value that Python's conversions want; they need exactly one."""
    if tensor._spec.numel != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return tensor.item()


def decode(raw: bytes, dtype: DType) -> list[Any]:
    """Bytes as Python numbers."""
    count = len(raw) // dtype.itemsize
    if dtype in SMALL_FLOATS:
        return small_floats.decode(dtype, raw)
    if dtype is bfloat16:
        halves = struct.unpack(f"{count}H", raw)
        return list(struct.unpack(f"{count}f", struct.pack(f"{count}I", *(h << 16
                                                                          for h in halves))))
    if dtype.category == COMPLEX:
        kind = "f" if dtype is complex64 else "d"
        parts = struct.unpack(f"{2 * count}{kind}", raw)
        return [complex(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return list(struct.unpack(f"{count}{dtype.format}", raw))


def _refuse_handling(tensor: Any, method: str, rest: str) -> None:
    """Refuse to read the memory of a tensor whose class handles operators: it may have none."""
    if handlers.takes_over(type(tensor)):
        raise RuntimeError(f".{method}() is not supported for tensor subclasses{rest} Its class "
                           "handles operators, and may hold no values itself: ask a plain tensor "
                           "that it computes.")


_LISTED = frozenset("?bBhHiIqQfd")  # formats that Python's memory views make lists of


def to_list(tensor: Any) -> Any:
    """Nested lists of Python numbers."""
    _refuse_handling(tensor, "tolist", f", got {type(tensor).__name__}.")
    if tensor._spec.device is not CPU and tensor._spec.ndim:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    _readable(tensor)
    as_is = tensor._spec.contiguous and not tensor._spec.conj and not tensor._spec.neg
    plain = tensor if as_is else OPERATORS.clone(
        tensor.detach(), memory_format=OPERATORS.contiguous_format)
    base = plain._spec
    nbytes = base.numel * base.dtype.itemsize
    raw = ctypes.string_at(address_of(plain), nbytes) if nbytes else b""
    if raw and base.ndim and base.dtype.format in _LISTED:
        return memoryview(raw).cast(base.dtype.format, base.shape).tolist()
    flat = decode(raw, base.dtype)
    return _nested(flat, base.shape, 0, base.numel) if base.ndim else flat[0]


def _nested(flat: list[Any], sizes: Any, first: int, count: int) -> list[Any]:
    """Lists of lists of `count` of the numbers, from one on."""
    if len(sizes) == 1:
        return flat[first:first + count]
    step = count // sizes[0] if sizes[0] else 0
    return [_nested(flat, sizes[1:], first + k * step, step) for k in range(sizes[0])]


_kinds: dict[DType, Any] = {}  # NumPy's dtypes


def to_numpy(tensor: Any, force: bool) -> Any:
    """An array over the same memory."""
    _refuse_handling(tensor, "numpy", ".")
    note_read()
    import numpy as np

    bridges.know(np)
    if force:
        tensor = tensor.detach()
    if tensor._requires_grad and STATE.tape:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use "
                           "tensor.detach().numpy() instead.")
    base = tensor._spec
    if base.conj:
        if not force:
            raise RuntimeError("Can't call numpy() on Tensor that has conjugate bit set. Use "
                               "tensor.resolve_conj().numpy() instead.")
        tensor = OPERATORS.resolve_conj(tensor)
        base = tensor._spec
    if base.neg:
        if not force:
            raise RuntimeError("Can't call numpy() on Tensor that has negative bit set. Use "
                               "tensor.resolve_neg().numpy() instead.")
        tensor = OPERATORS.resolve_neg(tensor)
        base = tensor._spec
    if base.device is not CPU:
        raise TypeError(f"can't convert {base.device} device type tensor to numpy. Use "
                        "Tensor.cpu() to copy the tensor to host memory first.")
    if base.dtype is bfloat16 or base.dtype in SMALL_FLOATS:
        raise TypeError(f"Got unsupported ScalarType {SCALAR_NAMES[base.dtype]}")
    kind = _kinds.get(base.dtype)
    if kind is None:
        kind = _kinds[base.dtype] = np.dtype(base.dtype.name)
    if not base.numel:
        return np.empty(base.shape, kind)
    address_of(tensor)  # an array beyond the storage's end would be read by other libraries
    storage = tensor._storage
    storage._flags |= EXPORTED
    return np.ndarray(
        base.shape, kind, storage._memory(), tensor._offset * kind.itemsize,
        None if base.contiguous else tuple([s * kind.itemsize for s in base.strides]))


def as_array(tensor: Any, dtype: Any, copy: bool | None) -> Any:
    """NumPy's protocol."""
    made = to_numpy(tensor, False)
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return made.astype(dtype)
    return made.copy() if copy else made


def of_array(array: Any) -> Any:
    """A result of NumPy's as a tensor; its truth values are numbers, as PyTorch has it."""
    if getattr(array, "dtype", None) == "bool":
        array = array.astype("uint8")
    return from_data.from_numpy(array)


def as_subclass(tensor: Any, cls: type) -> Any:
    """Another object for the same tensor: memory, version and place in the tape."""
    made = object.__new__(cls)
    made._storage, made._spec, made._offset = tensor._storage, tensor._spec, tensor._offset
    made._counter, made._node, made._output_nr = tensor._counter, None, 0
    made._grad = made._extra = None
    made._requires_grad = False
    if tensor.requires_grad:
        viewed = OPERATORS.alias(tensor)
        made._node, made._output_nr = viewed._node, viewed._output_nr
        made._requires_grad, made._extra = True, viewed._extra
    return made


def detach(tensor: Any) -> Any:
    """The same memory and version, off the tape: an operator, where there is a dispatch mode."""
    if handlers.seen(()):
        return handlers.named("detach", tensor)
    made = registry.wrap(tensor._storage, tensor._spec, tensor._offset)
    made._counter = tensor._counter
    return made


def data(tensor: Any) -> Any:
    """The same memory off the tape, with a version of its own; an operator as `detach` is."""
    if handlers.seen(()):
        return handlers.named("detach", tensor)
    made = registry.wrap(tensor._storage, tensor._spec, tensor._offset)
    if made._counter is not None and tensor._counter is not None:
        made._counter.value = tensor._counter.value // BIRTH * BIRTH
    return made


# ---- hooks and gradients ---------------------------------------------------------------------

def require_gradient(tensor: Any, wanted: bool, kinds: str = "floating point") -> None:
    """Set a leaf's flag. `kinds`: what the message says of the dtypes."""
    if not tensor.is_leaf:
        if not wanted:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach().")
        return
    dtype = tensor._spec.dtype
    if wanted and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"only Tensors of {kinds} dtype can require gradients")
    if wanted and tensor._counter is None and not STATE.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside "
                           "InferenceMode is not allowed.")
    tensor._requires_grad = bool(wanted)


def register_hook(tensor: Any, hook: Callable[[Any], Any]) -> Any:
    """Hooks of a leaf live with it, those of a result with its node."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor.is_leaf:
        HOOKED_LEAVES[:] = [True]
        extra = tensor._more()
        if extra.hooks is None:
            extra.hooks = OrderedDict()
        hooks = extra.hooks
    else:
        node = tensor._node.extra
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
        hooks = node.tensor_hooks.setdefault(tensor._output_nr, OrderedDict())
    return register(hooks, hook)


def register_after(tensor: Any, hook: Callable[[Any], Any]) -> Any:
    """Hooks that run after accumulation into a leaf."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor._node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    HOOKED_LEAVES[:] = [True]
    extra = tensor._more()
    if extra.after is None:
        extra.after = OrderedDict()
    return register(extra.after, hook)


def check_grad(tensor: Any, value: Any) -> None:
    """Refuse a gradient that does not fit the tensor."""
    if not isinstance(value, TensorBase):
        raise TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                        f"{type(value).__name__}")
    mine, other = tensor._spec, value._spec
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    dtype = grad_dtype(tensor)
    if dtype not in (None, other.dtype):
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{c_name(other.dtype)}' to a tensor with "
            f"grad_dtype '{SCALAR_NAMES[dtype]}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with "
            "a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging "
            "the dtypes of a tensor and its gradient may break downstream systems that assume "
            "they match.")
    if mine.device is not other.device and not value.is_sparse:  # type: ignore[attr-defined]
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{other.device.type}' to a tensor "
            f"with device type '{mine.device.type}'. Please ensure that the gradient and the "
            "tensor are on the same device")
    if tuple(mine.shape) != tuple(other.shape):
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(other.shape)}' to a tensor of size "
            f"'{list(mine.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size")


def grad_dtype(tensor: Any) -> DType | None:
    """The dtype of a leaf's gradient; None for any."""
    extra = tensor._extra
    if extra is None or extra.takes is None:
        return tensor._spec.dtype  # type: ignore[no-any-return]
    return extra.takes[0]  # type: ignore[no-any-return]


def set_grad_dtype(tensor: Any, value: Any) -> None:
    """`x.grad_dtype = value`: gradients of the leaf are cast to it."""
    if value is not None and not isinstance(value, DType):
        raise RuntimeError("grad_dtype must be a torch.dtype or None, but got "
                           f"{type(value).__name__}")
    held = tensor._grad
    if held is not None and value not in (None, held._spec.dtype):
        raise RuntimeError(
            f"Cannot set grad_dtype to '{SCALAR_NAMES[value]}' because there is already a gradient "
            f"with dtype '{c_name(held._spec.dtype)}'. Please clear the gradient (.grad = None) "
            "before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype.")
    tensor._more().takes = (value,)


def set_data(tensor: Any, value: Any) -> None:
    """`x.data = y`: x looks at y's memory from now on; its place in the tape stays."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if value._spec.device is not tensor._spec.device:
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and "
                           "`tensor` have incompatible tensor type.")
    if tensor._requires_grad and not (value._spec.dtype.is_floating_point
                                      or value._spec.dtype.is_complex):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point "
                           "or complex dtype")
    counter = tensor._counter
    if counter is not None:
        _note_move(tensor, counter)
        counter.move()
    tensor._storage = value._storage
    tensor._spec = value._spec
    tensor._offset = value._offset
    if counter is not None:
        counter.moved.place = value._storage, value._spec, value._offset


def _note_move(tensor: Any, counter: Any) -> None:
    """What the tape has kept of the tensor shall follow it."""
    edge = None if not tensor._requires_grad else tensor if tensor._node is None else tensor._node
    origin = place_on_tape(edge, tensor._output_nr)
    moved = getattr(counter, "moved", None)
    if moved is None or moved.origin != origin:
        moved = counter.moved = Moved(origin)
    moved.leave(tensor._storage, tensor._spec, tensor._offset)


def leave_tape(tensor: Any) -> None:
    """`detach_`: the derivatives that have kept the tensor itself are refused from now on."""
    extra = tensor._node.extra
    if extra.detached is None:
        extra.detached = set()
    extra.detached.add(tensor._output_nr)
    if tensor._counter is not None:
        tensor._counter.move()


def deep_copy(tensor: Any, memo: dict[int, Any]) -> Any:
    """A leaf with memory of its own; tensors over one storage keep sharing it."""
    import copy

    if id(tensor) in memo:
        return memo[id(tensor)]
    if tensor._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001")
    storages = memo.setdefault("yesca storages", {})  # type: ignore[call-overload]
    storage = storages.get(id(tensor._storage))
    if storage is None:
        storage = storages[id(tensor._storage)] = tensor._storage.clone()
    made = object.__new__(type(tensor))
    made._storage, made._spec, made._offset = storage, tensor._spec, tensor._offset
    made._counter = type(tensor._counter)() if tensor._counter is not None else None
    made._requires_grad = tensor._requires_grad
    made._node = made._extra = None
    made._output_nr = 0
    made._grad = copy.deepcopy(tensor._grad, memo)
    memo[id(tensor)] = made
    state = getattr(tensor, "__dict__", None)
    if state:
        made.__dict__.update(copy.deepcopy(state, memo))
    return made


__all__ = ["ALIASES", "BY_NAME", "SCALAR_NAMES", "bool_", "construct", "spec", "strided"]
