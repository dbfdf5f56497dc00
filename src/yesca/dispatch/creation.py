"""New tensors from sizes and numbers."""

from __future__ import annotations

from typing import Any

from ..core import registry
from ..core.devices import CPU, META, resolve
from ..core.dtypes import (
    FLOATING, DType, default_for, get_default_dtype, int64, number_category,
)
from ..core.spec import Spec, spec
from ..core.storage import UntypedStorage
from ..core.tensor_base import TensorBase
from ..runtime.plan import new_storage


def sizes_of(size: Any, name: str = "zeros") -> tuple[int, ...]:
    """`zeros(2, 3)` and `zeros((2, 3))` mean the same; sizes must not be negative."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    made = []
    for position, value in enumerate(size):
        if isinstance(value, bool) or not hasattr_index(value):
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, but "
                            f"found element of type {type(value).__name__} at pos {position}")
        number = value.__index__()
        if number < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {number}: "
                               f"{[int(v) for v in size]}")
        made.append(number)
    return tuple(made)


def hasattr_index(value: Any) -> bool:
    """Whether a value counts as an integer (NumPy's integers and 0-dim tensors do)."""
    if isinstance(value, TensorBase):
        return value._spec.dtype.category < FLOATING and value._spec.numel == 1
    return isinstance(value, int) or getattr(value, "__index__", None) is not None


def make(made: Spec) -> Any:
    """An uninitialised tensor of a spec."""
    if made.nbytes >= 1 << 63:
        raise RuntimeError("Storage size calculation overflowed with sizes="
                           f"{list(made.shape)}")
    if made.device is META:
        storage = UntypedStorage._wrap(0, made.nbytes, None, 0, META)
        return registry.wrap(storage, made, 0)
    return registry.wrap(new_storage(made.nbytes), made, 0)


def finished(tensor: Any, requires_grad: bool) -> Any:
    """The tensor, requiring a gradient if asked to."""
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def _checked_layout(layout: Any, pin_memory: bool) -> None:
    name = getattr(layout, "name", "strided")
    if layout is not None and name != "strided":
        raise NotImplementedError(f"layout {layout} is not there yet; use torch.strided")
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available: "
                           "pin_memory=True needs one")


def empty(*sizes: Any, size: Any = None, out: Any = None, dtype: DType | None = None,
          layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, memory_format: Any = None, names: Any = None) -> Any:
    """An uninitialised tensor."""
    _checked_layout(layout, pin_memory)
    shape = sizes_of(sizes if size is None else (tuple(size),), "empty")
    if out is not None:
        return out.resize_(shape)
    place = resolve(device)
    plain = spec(dtype or get_default_dtype(), shape, None, place)
    if memory_format is not None:
        from ..operators.copying import strides_for

        if memory_format.name != "preserve_format":
            plain = spec(plain.dtype, shape, strides_for(plain, memory_format), place)
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
    if dtype is None:
        dtype = out._spec.dtype if out is not None else fill_value._spec.dtype \
            if isinstance(fill_value, TensorBase) else default_for(number_category(fill_value))
    size = (size,) if isinstance(size, int) else size
    if isinstance(fill_value, TensorBase):
        fill_value = fill_value.item()  # type: ignore[attr-defined]
    return _filled((tuple(size),), fill_value, out, dtype, layout, device, pin_memory,
                   requires_grad, "full")


def _filled(size: Any, value: Any, out: Any, dtype: DType | None, layout: Any, device: Any,
            pin_memory: bool, requires_grad: bool, name: str) -> Any:
    """A new tensor of one value, or `out` filled with it."""
    from .call import OPERATORS

    place = resolve(device)
    if out is not None or place is not CPU or layout is not None or pin_memory:
        made = empty(*size, out=out, dtype=dtype, layout=layout, device=device,
                     pin_memory=pin_memory)
        return finished(fill_(made, value), requires_grad)
    shape = sizes_of(size, name)
    made = OPERATORS.filled(shape, dtype or get_default_dtype(), value)
    return finished(made, requires_grad) if requires_grad else made


def fill_(tensor: Any, value: Any) -> Any:
    """Every element set to `value`, in place."""
    from .call import OPERATORS

    return OPERATORS.fill_(tensor, value)


def zeros(*sizes: Any, size: Any = None, out: Any = None, dtype: DType | None = None,
          layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, names: Any = None) -> Any:
    """Zeros."""
    return _filled(sizes if size is None else (tuple(size),), 0, out, dtype, layout, device,
                   pin_memory, requires_grad, "zeros")


def ones(*sizes: Any, size: Any = None, out: Any = None, dtype: DType | None = None,
         layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False, names: Any = None) -> Any:
    """Ones."""
    return _filled(sizes if size is None else (tuple(size),), 1, out, dtype, layout, device,
                   pin_memory, requires_grad, "ones")


def empty_strided(size: Any, stride: Any, *, dtype: DType | None = None, layout: Any = None,
                  device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """An uninitialised tensor of these strides."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    made = spec(dtype or get_default_dtype(), tuple(size), tuple(stride), resolve(device))
    return finished(make(made), requires_grad)


def _like(tensor: Any, dtype: DType | None, device: Any, memory_format: Any) -> Any:
    from ..operators.copying import strides_for

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
        made = fill_(_like(tensor, dtype, device, memory_format), value)
    return finished(made, requires_grad) if requires_grad else made


def empty_like(input: Any, *, dtype: DType | None = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
               memory_format: Any = None) -> Any:
    """Uninitialised, with the shape, dtype and strides of another tensor."""
    return finished(_like(input, dtype, device, memory_format), requires_grad)


def zeros_like(input: Any, *, dtype: DType | None = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
               memory_format: Any = None) -> Any:
    """Zeros like another tensor."""
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
                  device: Any = None) -> Any:
    """A 0-dim tensor of a number; `like` gives the dtype that promotion would."""
    if dtype is None and like is not None:
        category = number_category(value)
        base = like._spec.dtype
        dtype = default_for(category) if category > base.category else base
        device = like._spec.device
    return full((), value, dtype=dtype or get_default_dtype(), device=device)


<<<<<<< HEAD
# ---- sequences -------------------------------------------------------------------------------

def arange(start: Any, end: Any = None, step: Any = 1, *, out: Any = None,
           dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """start, start + step, ... below end."""
    from .call import OPERATORS

    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, TensorBase) else v for v in (start, end, step))
    if dtype is None:
        floats = any(isinstance(v, float) for v in (start, end, step))
        dtype = get_default_dtype() if floats else int64
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    size = math.ceil((end - start) / step)
    made = make(spec(dtype, (size,), None, resolve(device)))
    OPERATORS.ramp_(made, start, step)
    if out is not None:
        return out.resize_(made.shape).copy_(made)
    return finished(made, requires_grad)


def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """`steps` evenly spaced values from start to end."""
    from .call import OPERATORS

    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, TensorBase) else v for v in (start, end))
    made = make(spec(dtype or get_default_dtype(), (steps,), None, resolve(device)))
    OPERATORS.line_(made, start, end)
    if out is not None:
        return out.resize_(made.shape).copy_(made)
    return finished(made, requires_grad)


def eye(n: int, m: int | None = None, *, out: Any = None, dtype: DType | None = None,
        layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones on the diagonal."""
    from .call import OPERATORS

    for label, count in (("n", n), ("m", m)):
        if count is not None and count < 0:
            raise RuntimeError(f"{label} must be greater or equal to 0, got {count}")
    made = zeros(n, n if m is None else m, dtype=dtype, device=device)
    OPERATORS.fill_(OPERATORS.diagonal(made), 1)
    if out is not None:
        return out.resize_(made.shape).copy_(made)
    return finished(made, requires_grad)
=======
# ---- from data -------------------------------------------------------------------------------

def tensor(data: Any, *, dtype: DType | None = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A tensor with a copy of the data: numbers, nested sequences, arrays, tensors."""
    if isinstance(data, TensorBase):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor).", stacklevel=2)
    return _finished(from_data(data, dtype, device, copy=True), requires_grad)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Any:
    """The data as a tensor, sharing memory where it can."""
    return from_data(data, dtype, device, copy=False)


def from_data(data: Any, dtype: DType | None, device: Any, copy: bool) -> Any:
    """The common part of `tensor`, `as_tensor` and the constructors."""
    if dtype is not None and not isinstance(dtype, DType):
        raise TypeError("tensor(): argument 'dtype' must be torch.dtype, not "
                        f"{type(dtype).__name__}")
    place = None if device is None else resolve(device)
    if isinstance(data, TensorBase):
        return _from_tensor(data, dtype, place, copy)
    if type(data).__module__ == "numpy" or getattr(data, "__array_interface__", None) is not None:
        return _from_array(data, dtype, place, copy)
    if dtype is None and isinstance(data, (list, tuple)) and any(
            type(v).__module__ == "numpy" and getattr(v, "ndim", 0) for v in data):
        import numpy as np

        return _from_array(np.array(data), None, place, copy)  # the arrays' dtype, not their values'
    place = place or resolve(None)
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    if any(isinstance(v, TensorBase) or type(v).__module__ == "numpy" for v in flat):
        flat = [v.item() if isinstance(v, TensorBase) or type(v).__module__ == "numpy" else v
                for v in flat]
    if dtype is None:
        dtype = _infer(flat)
    made = make(spec(dtype, shape, None, place))
    if place is CPU and flat:
        write_values(made._storage, dtype, flat)
    return made


def _from_tensor(data: Any, dtype: DType | None, place: Device | None, copy: bool) -> Any:
    made = data.detach()
    if dtype is not None or place is not None:
        return made.to(device=place or data._spec.device, dtype=dtype or data._spec.dtype,
                       copy=copy)
    return made.clone() if copy else data


def _from_array(data: Any, dtype: DType | None, place: Device | None, copy: bool) -> Any:
    import numpy as np

    array_ = np.asarray(data)
    if array_.dtype.byteorder == ">" or any(s < 0 for s in array_.strides):
        array_ = array_.astype(array_.dtype.newbyteorder("="))
        copy = False
    made = from_numpy(array_.copy() if copy and array_.ndim else np.array(array_))
    if not copy:
        made = from_numpy(array_)
    place = place or resolve(None)
    if dtype is not None or place is not CPU:
        made = made.to(device=place, dtype=dtype or made._spec.dtype)
    return made


def _shape_of(data: Any) -> tuple[int, ...]:
    shape = []
    while True:
        if isinstance(data, TensorBase):
            shape.extend(data._spec.shape)
            break
        if isinstance(data, (str, bytes)) or not _is_sequence(data):
            break
        shape.append(len(data))
        if len(data) == 0:
            break
        if len(shape) > 128:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        try:
            data = data[0]
        except (KeyError, IndexError) as error:
            raise ValueError("could not determine the shape of object type "
                             f"'{type(data).__name__}'") from error
    return tuple(shape)


def _is_sequence(data: Any) -> bool:
    return isinstance(data, (list, tuple, range)) or (
        getattr(data, "__len__", None) is not None and getattr(data, "__getitem__", None)
        is not None and not isinstance(data, (dict, set)) and getattr(data, "ndim", 1) != 0)


def _flatten(data: Any, shape: tuple[int, ...], depth: int, into: list[Any]) -> None:
    if isinstance(data, TensorBase) and depth < len(shape):
        data = data.tolist()
    if depth == len(shape):
        into.append(data)
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence" if depth else
                        f"new(): invalid data type '{type(data).__name__}'")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} "
                         f"(got {len(data)})")
    if depth + 1 == len(shape):
        if any(isinstance(v, (list, tuple)) for v in data):
            bad = next(v for v in data if isinstance(v, (list, tuple)))
            raise TypeError(f"only number elements are expected at dim {depth + 1}, got "
                            f"{type(bad).__name__}")
        into.extend(data)
        return
    for item in data:
        _flatten(item, shape, depth + 1, into)


def _infer(flat: list[Any]) -> DType:
    if not flat:
        return get_default_dtype()
    category = BOOL
    for value in flat:
        if not isinstance(value, (bool, int, float, complex)):
            if value is None:
                raise RuntimeError("Could not infer dtype of NoneType")
            raise (TypeError(f"new(): invalid data type '{type(value).__name__}'")
                   if isinstance(value, str) else
                   RuntimeError(f"Could not infer dtype of {type(value).__name__}"))
        category = max(category, number_category(value))
    return default_for(category)


_NUMPY = {d.name: d for d in ALL if d is not bfloat16}


def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares a NumPy array's memory."""
    import numpy as np

    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtype = _NUMPY.get(ndarray.dtype.name)
    if dtype is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{ndarray.dtype.type.__name__}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
            "uint32, uint16, uint8, and bool.")
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. "
                         "Conversion between byte orders is currently not supported.")
    if any(s < 0 for s in ndarray.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors "
                         "with negative strides are not currently supported. (You can probably "
                         "work around this by making a copy of your array  with array.copy().) ")
    if any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. "
                         "Copy the numpy array to reallocate the memory.")
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn("The given NumPy array is not writable, and PyTorch does not support "
                      "non-writable tensors. Writing to the tensor is undefined; copy the array "
                      "first to be safe.", UserWarning, stacklevel=3)
    strides = tuple(s // ndarray.itemsize for s in ndarray.strides)
    made = spec(dtype, ndarray.shape, strides)
    storage = UntypedStorage._wrap(ndarray.ctypes.data, made.nbytes, ndarray, EXPORTED | FOREIGN)
    return registry.wrap(storage, made, 0)


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0,
               requires_grad: bool = False) -> Any:
    """A 1-D tensor over a Python buffer, sharing its memory."""
    try:
        view = memoryview(buffer).cast("B")
    except TypeError as error:
        raise ValueError("object does not implement Python buffer protocol.") from error
    size = dtype.itemsize
    if view.nbytes == 0 or offset >= view.nbytes or offset < 0:
        raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0"
                         if view.nbytes == 0 else
                         f"offset ({offset} bytes) must be non-negative and no greater than "
                         f"buffer length ({view.nbytes} bytes) minus 1")
    left = view.nbytes - offset
    if count < 0:
        if left % size:
            raise ValueError(f"buffer length ({left} bytes) after offset ({offset} bytes) must be "
                             f"a multiple of element size ({size})")
        count = left // size
    if count * size > left:
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset "
                         f"({offset} bytes) must not be greater than actual buffer length "
                         f"({view.nbytes} bytes)")
    if view.readonly:
        import warnings

        warnings.warn("The given buffer is not writable, and PyTorch does not support "
                      "non-writable tensors.", UserWarning, stacklevel=2)
    storage = UntypedStorage._from_buffer(view[offset:offset + count * size])
    made = registry.wrap(storage, spec(dtype, (count,)), 0)
    return _finished(made, requires_grad)
>>>>>>> surface


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
        empty, full, zeros, ones, empty_strided, empty_like, zeros_like, ones_like, full_like,
<<<<<<< HEAD
        arange, linspace, eye, is_tensor, is_like, clone_like, scalar_tensor)
=======
        tensor, as_tensor, from_numpy, frombuffer, is_tensor, is_like, clone_like, scalar_tensor)
>>>>>>> surface
}
FUNCTIONS["_tensor_from_storage"] = tensor_from_storage
