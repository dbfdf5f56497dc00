"""New tensors from sizes and numbers."""

from __future__ import annotations

from typing import Any

from ..base.errors import argument_error, type_name
from ..core import registry
from ..core.devices import CPU, META, resolve
from ..core.dtypes import (
    FLOATING, NARROW_FLOATS, SCALAR_NAMES, DType, default_for, get_default_dtype, number_category,
)
from ..core.layouts import Layout, sparse_coo, strided
from ..core.spec import Spec, spec
from ..core.storage import UntypedStorage
from ..core.tensor_base import TensorBase
from ..runtime.plan import new_storage
from .state import STATE


def sizes_of(size: Any, name: str = "zeros") -> tuple[int, ...]:
    """`zeros(2, 3)` and `zeros((2, 3))` mean the same; sizes must not be negative."""
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    made = whole_list(name, "size", 1, size)
    negative = next((n for n in made if n < 0), None)
    if negative is not None:
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: "
                           f"{list(made)}")
    return made


def whole_list(name: str, argument: str, position: int, given: Any) -> tuple[int, ...]:
    """A list of whole numbers among a function's arguments."""
    if not isinstance(given, (tuple, list)):
        raise argument_error(name, argument, position, "tuple of ints", given)
    for place, value in enumerate(given):
        if isinstance(value, bool) or not hasattr_index(value):
            raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be tuple "
                            f"of ints, but found element of type {type_name(value)} at pos {place}")
    return tuple([value.__index__() for value in given])


def hasattr_index(value: Any) -> bool:
    """Whether a value counts as an integer (NumPy's integers and 0-dim tensors do)."""
    if isinstance(value, TensorBase):
        return value._spec.dtype.category < FLOATING and value._spec.numel == 1
    return isinstance(value, int) or getattr(value, "__index__", None) is not None


def make(made: Spec) -> Any:
    """An uninitialised tensor of a spec."""
    if made.device is META:
        storage = UntypedStorage._wrap(0, made.nbytes, None, 0, META)
        return registry.wrap(storage, made, 0)
    return registry.wrap(new_storage(made.nbytes), made, 0)


def check_out(name: str, out: Any, dtype: DType | None, device: Any, resizes: bool = False
              ) -> None:
    """Refuse an `out` that a factory cannot write to.

    resizes: PyTorch's factory is no operator, but resizes `out` first, which that may forbid.
    """
    if not isinstance(out, TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    wanted = out._spec
    if dtype is not None and dtype is not wanted.dtype:
        raise RuntimeError(f"dtype {SCALAR_NAMES[dtype]} does not match dtype of out parameter "
                           f"({SCALAR_NAMES[wanted.dtype]})")
    if device is not None and resolve(device) is not wanted.device:
        raise RuntimeError(f"device type {resolve(device)} does not match device type of out "
                           f"parameter ({wanted.device})")
    if resizes and out._requires_grad:  # type: ignore[attr-defined]
        raise RuntimeError("cannot resize variables that require grad")
    refuse_tape(f"aten::{name}", out)


def into(out: Any, shape: tuple[int, ...]) -> Any:
    """A checked `out` as a factory writes to it: of this shape, wanting a gradient no longer."""
    if out._requires_grad:
        out.requires_grad = False
    if tuple(out._spec.shape) != shape:
        out.resize_(shape)
    return out


def refuse_tape(name: str, *tensors: Any) -> None:
    """Refuse `out=` on the tape."""
    if STATE.tape and any(t._requires_grad for t in tensors):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic "
                           "differentiation, but one of the arguments requires grad.")


def newborn(tensor: Any) -> Any:
    """A new tensor is at version 0: what filled it is no write that anybody could have missed."""
    if tensor._counter is not None:
        tensor._counter.value = STATE.birth
    return tensor


def finished(tensor: Any, requires_grad: bool) -> Any:
    """The tensor, requiring a gradient if asked to."""
    if requires_grad:
        if requires_grad is not True:
            raise TypeError("argument 'requires_grad' must be bool, not "
                            f"{type_name(requires_grad)}")
        if not (tensor._spec.dtype.is_floating_point or tensor._spec.dtype.is_complex):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients")
        tensor.requires_grad = True
    return tensor


def _checked_layout(layout: Any, pin_memory: bool, caller: str) -> None:
    if layout is not None and not isinstance(layout, Layout):
        raise TypeError(f"{caller}(): argument 'layout' must be torch.layout, not "
                        f"{type_name(layout)}")
    if layout is sparse_coo and caller not in ("empty", "zeros"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    if layout is not None and layout not in (strided, sparse_coo):
        raise NotImplementedError(f"layout {layout} is not there yet; use torch.strided")
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available: "
                           "pin_memory=True needs one")


def empty(*sizes: Any, size: Any = None, out: Any = None, dtype: DType | None = None,
          layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, memory_format: Any = None) -> Any:
    """An uninitialised tensor."""
    _checked_layout(layout, pin_memory, "empty")
    if layout is sparse_coo:
        return zeros(*sizes, size=size, out=out, dtype=dtype, layout=layout, device=device,
                     requires_grad=requires_grad)
    shape = sizes_of(sizes if size is None else (tuple(size),), "empty")
    if out is not None:
        check_out("empty", out, dtype, device, True)
        return finished(into(out, shape), requires_grad)
    place = resolve(device)
    plain = spec(dtype or get_default_dtype(), shape, None, place)
    if memory_format is not None:
        from ..core.memory_formats import strides_for

        if memory_format.name == "preserve_format":
            raise RuntimeError("unsupported memory format Preserve")
        plain = spec(plain.dtype, shape, strides_for(plain, memory_format), place)
    elif place is CPU:
        from .call import OPERATORS

        return finished(OPERATORS.uninitialised(shape, plain.dtype), requires_grad)
    return finished(make(plain), requires_grad)


def full(size: Any, fill_value: Any, *, out: Any = None, dtype: DType | None = None,
         layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False) -> Any:
    """A tensor of one value."""
    if not isinstance(fill_value, (TensorBase, int, float, complex)):
        if type(fill_value).__module__ != "numpy":
            raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not "
                            f"{type(fill_value).__name__}")
        fill_value = fill_value.item()
    if dtype is None and out is None:
        dtype = fill_value._spec.dtype if isinstance(fill_value, TensorBase) \
            else default_for(number_category(fill_value))
    if not isinstance(size, (tuple, list)):
        raise argument_error("full", "size", 1, "tuple of ints", size)
    if isinstance(fill_value, TensorBase):
        if fill_value._spec.ndim:
            raise argument_error("full", "fill_value", 2, "Number", fill_value)
        fill_value = fill_value.item()  # type: ignore[attr-defined]
    return _filled((tuple(size),), fill_value, out, dtype, layout, device, pin_memory,
                   requires_grad, "full")


def _filled(size: Any, value: Any, out: Any, dtype: DType | None, layout: Any, device: Any,
            pin_memory: bool, requires_grad: bool, name: str) -> Any:
    """A new tensor of one value, or `out` filled with it."""
    from .call import OPERATORS

    if layout is not None or pin_memory:
        _checked_layout(layout, pin_memory, name)
    shape = sizes_of(size, name)
    if layout is sparse_coo and out is None:
        kind = empty(0, dtype=dtype, device=device)
        return finished(kind._sparse_zeros(shape), requires_grad)
    if out is not None:
        check_out(name, out, dtype, device)
        return finished(fill_(into(out, shape), value), requires_grad)
    place = resolve(device)
    if place is CPU:
        made = OPERATORS.filled(shape, dtype or get_default_dtype(), value)
    else:
        made = newborn(fill_(make(spec(dtype or get_default_dtype(), shape, None, place)), value))
    return finished(made, requires_grad) if requires_grad else made


def fill_(tensor: Any, value: Any) -> Any:
    """Every element set to `value`, in place."""
    from .call import OPERATORS

    return OPERATORS.fill_(tensor, value)


def zeros(*sizes: Any, size: Any = None, out: Any = None, dtype: DType | None = None,
          layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False) -> Any:
    """Zeros."""
    return _filled(sizes if size is None else (tuple(size),), 0, out, dtype, layout, device,
                   pin_memory, requires_grad, "zeros")


def ones(*sizes: Any, size: Any = None, out: Any = None, dtype: DType | None = None,
         layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False) -> Any:
    """Ones."""
    return _filled(sizes if size is None else (tuple(size),), 1, out, dtype, layout, device,
                   pin_memory, requires_grad, "ones")


def empty_strided(size: Any, stride: Any, *, dtype: DType | None = None, layout: Any = None,
                  device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """An uninitialised tensor of these strides."""
    shape, steps = (whole_list("empty_strided", name, position, given) for position, (name, given)
                    in enumerate((("size", size), ("stride", stride)), start=1))
    if len(shape) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(steps)} strides, "
                           f"{len(shape)} sizes")
    shape = sizes_of((shape,), "empty_strided")
    if any(step < 0 for step in steps):
        raise RuntimeError("Storage size calculation overflowed with "
                           f"sizes={list(shape)} and strides={list(steps)}")
    made = spec(dtype or get_default_dtype(), shape, steps, resolve(device))
    return finished(make(made), requires_grad)


def empty_permuted(size: Any, physical_layout: Any, *, dtype: DType | None = None,
                   layout: Any = None, device: Any = None, requires_grad: bool = False,
                   pin_memory: bool = False) -> Any:
    """An uninitialised tensor whose dimensions lie in memory in a given order, outermost first.

    >>> import yesca as torch
    >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    if not isinstance(size, (tuple, list)):
        raise argument_error("empty_permuted", "size", 1, "tuple of ints", size)
    shape, order = sizes_of((size,), "empty_permuted"), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError("Number of dimensions in size does not match the length of the "
                           f"physical_layout; i.e. len(size) = {len(shape)} is not equal to "
                           f"len(physical_layout) = {len(order)}")
    strides, step = [0] * len(order), 1
    for position in reversed(range(len(order))):
        dim = order[position]
        if not 0 <= dim < len(order):
            raise RuntimeError("Dimension out of range (expected to be between 0 and "
                               f"{len(order) - 1}, but got {dim} at index {position}).  NB: "
                               "negative dims not currently supported; file an issue if you want "
                               "it.")
        strides[dim], step = step, step * max(shape[dim], 1)
    if len({*order}) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    return empty_strided(shape, tuple(strides), dtype=dtype, layout=layout, device=device,
                         requires_grad=requires_grad, pin_memory=pin_memory)


def _like(tensor: Any, dtype: DType | None, device: Any, memory_format: Any) -> Any:
    from ..core.memory_formats import strides_for

    base = tensor._spec
    place = base.device if device is None else resolve(device)
    return make(spec(dtype or base.dtype, base.shape, strides_for(base, memory_format), place))


def _filled_like(tensor: Any, value: Any, dtype: DType | None, device: Any, memory_format: Any,
                 requires_grad: bool) -> Any:
    from .call import OPERATORS

    plain = memory_format is None and (device is None or resolve(device) is CPU)
    if plain and tensor._spec.device is CPU and not isinstance(value, TensorBase):
        made = OPERATORS.filled_like(tensor, dtype, value)
    else:
        made = newborn(fill_(_like(tensor, dtype, device, memory_format), value))
    return finished(made, requires_grad) if requires_grad else made


def empty_like(input: Any, *, dtype: DType | None = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
               memory_format: Any = None) -> Any:
    """Uninitialised, with the shape, dtype and strides of another tensor."""
    if layout is sparse_coo:
        return zeros_like(input, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)
    if device is None and memory_format is None and input._spec.device is CPU:
        from .call import OPERATORS

        return finished(OPERATORS.uninitialised_like(input, dtype), requires_grad)
    return finished(_like(input, dtype, device, memory_format), requires_grad)


def zeros_like(input: Any, *, dtype: DType | None = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
               memory_format: Any = None) -> Any:
    """Zeros like another tensor."""
    if layout is sparse_coo:
        base = input._spec
        return zeros(size=base.shape, dtype=dtype or base.dtype, layout=layout,
                     device=device or base.device, requires_grad=requires_grad)
    return _filled_like(input, 0, dtype, device, memory_format, requires_grad)


def ones_like(input: Any, *, dtype: DType | None = None, layout: Any = None,
              device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
              memory_format: Any = None) -> Any:
    """Ones like another tensor."""
    return _filled_like(input, 1, dtype, device, memory_format, requires_grad)


def full_like(input: Any, fill_value: Any, *, dtype: DType | None = None,
              layout: Any = None, device: Any = None, requires_grad: bool = False,
              pin_memory: bool = False, memory_format: Any = None) -> Any:
    """One value, like another tensor."""
    return _filled_like(input, fill_value, dtype, device, memory_format, requires_grad)


def is_like(tensor: Any, wanted: Spec) -> bool:
    """Whether a tensor has this shape and these strides."""
    return tensor._spec.shape == wanted.shape and tensor._spec.strides == wanted.strides


def clone_like(tensor: Any, wanted: Spec) -> Any:
    """A copy with the strides of `wanted` where it is dense."""
    from .call import OPERATORS

    if wanted.dense and tensor._spec.shape == wanted.shape:
        return OPERATORS.copy_like(tensor, tuple(wanted.shape), tuple(wanted.strides))
    return OPERATORS.clone(tensor)


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, TensorBase)


def scalar_tensor(value: Any, like: Any = None, *, dtype: DType | None = None,
                  layout: Any = None, device: Any = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Any:
    """A 0-dim tensor of a number; `like` gives the dtype that promotion would."""
    if dtype is None and like is not None:
        category = number_category(value)
        base = like._spec.dtype
        dtype = default_for(category) if category > base.category else base
        device = like._spec.device
    dtype = dtype or get_default_dtype()
    return full((), value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory,
                requires_grad=requires_grad)


def new_full(tensor: Any, size: Any, fill_value: Any, *, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False,
             pin_memory: bool = False) -> Any:
    """A tensor of one value, with the dtype and device of another; halves as `scalar_tensor`."""
    dtype, place = dtype or tensor._spec.dtype, device or tensor._spec.device
    if dtype not in NARROW_FLOATS:
        return full(size, fill_value, dtype=dtype, layout=layout, device=place,
                    requires_grad=requires_grad, pin_memory=pin_memory)
    shape = (size,) if isinstance(size, int) else tuple(size)
    made = empty(size=shape, dtype=dtype, layout=layout, device=place, pin_memory=pin_memory)
    value = scalar_tensor(fill_value, dtype=dtype, device=place)
    return finished(newborn(fill_(made, value)), requires_grad)


def tensor_from_storage(storage: UntypedStorage, dtype: DType, storage_offset: int, size: Any,
                        stride: Any, requires_grad: bool = False) -> Any:
    """A tensor over a storage; refuses a view that does not fit into it."""
    made = spec(dtype, tuple(size), tuple(stride), storage.device)
    need = (storage_offset * dtype.itemsize + made.nbytes) if made.numel else 0
    if storage_offset < 0 or need > storage._nbytes or any(s < 0 for s in (*size, *stride)):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
            f"{storage_offset}, and itemsize {dtype.itemsize} requiring a storage size of {need} "
            f"are out of bounds for storage of size {storage._nbytes}")
    seen = registry.wrap(storage, made, storage_offset)
    return finished(seen, requires_grad)


FUNCTIONS = {
    f.__name__: f for f in (
        empty, full, zeros, ones, empty_strided, empty_permuted, empty_like, zeros_like,
        ones_like, full_like, is_tensor, is_like, clone_like, scalar_tensor)
}
FUNCTIONS["_tensor_from_storage"] = tensor_from_storage
