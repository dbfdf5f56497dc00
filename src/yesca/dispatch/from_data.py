"""New tensors from data: numbers, nested lists, arrays, buffers."""

from __future__ import annotations

import functools
from typing import Any

from ..base.errors import type_name
from ..base.frames import warn, warn_once
from ..core import registry
from ..core.devices import CPU, Device, resolve
from ..core.dtypes import (
    ALL, BOOL, SMALL_FLOATS, DType, as_dtype, default_for, get_default_dtype, number_category,
    promote,
)  # fmt: skip
from ..core.spec import spec
from ..core.storage import EXPORTED, FOREIGN, UntypedStorage
from ..core.tensor_base import TensorBase
from . import bridges
from .creation import finished, make
from .encoding import write_values


COPIED = ("To copy construct from a tensor, it is recommended to use "
          "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
          "rather than torch.tensor(sourceTensor).")


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A tensor with a copy of the data: numbers, nested sequences, arrays, tensors."""
    if isinstance(data, TensorBase):
        warn(COPIED)
    return finished(from_data(data, dtype, device, copy=True), requires_grad)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Any:
    """The data as a tensor, sharing memory where it can."""
    return from_data(data, dtype, device, copy=False)


def from_data(data: Any, dtype: DType | None, device: Any, copy: bool) -> Any:
    """The common part of `tensor`, `as_tensor` and the constructors."""
    dtype = as_dtype(dtype)
    if dtype is not None and not isinstance(dtype, DType):
        raise TypeError("tensor(): argument 'dtype' must be torch.dtype, not "
                        f"{type(dtype).__name__}")
    place = None if device is None else resolve(device)
    if isinstance(data, TensorBase):
        return _from_tensor(data, dtype, place, copy)
    if type(data).__module__ == "numpy" or getattr(data, "__array_interface__", None) is not None:
        return _from_array(data, dtype, place, copy)
    if getattr(type(data), "__dlpack__", None) is not None:
        from .dlpack import from_dlpack

        return _from_tensor(from_dlpack(data), dtype, place, copy)
    if dtype is None and isinstance(data, (list, tuple)) and any(
            type(v).__module__ == "numpy" and getattr(v, "ndim", 0) for v in data):
        import numpy as np

        warn_once("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
                  "consider converting the list to a single numpy.ndarray with numpy.array() "
                  "before converting to a tensor.")
        return _from_array(np.array(data), None, place, copy)  # of the arrays' dtype
    place = place or resolve(None)
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    if any(isinstance(v, TensorBase) or type(v).__module__ == "numpy" for v in flat):
        if dtype is None:
            dtype = functools.reduce(promote, map(_dtype_of, flat))
        flat = [_element(v) for v in flat]
    if dtype is None:
        dtype = _infer(flat)
    made = make(spec(dtype, shape, None, place))
    if place is CPU and flat:
        write_values(made._storage, dtype, flat)
    return made


def _element(value: Any) -> Any:
    """An element as a Python number."""
    if isinstance(value, TensorBase):
        if value._spec.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars: "
                             f"one of shape {tuple(value._spec.shape)} is among the elements; "
                             "torch.stack joins tensors")
        return value.item()  # type: ignore[attr-defined]
    return value.item() if type(value).__module__ == "numpy" else value


def _dtype_of(value: Any) -> DType:
    """The dtype that an element asks for: tensors and NumPy's scalars have their own."""
    if isinstance(value, TensorBase):
        return value._spec.dtype
    if type(value).__module__ == "numpy" and value.dtype.name in _NUMPY:
        return _NUMPY[value.dtype.name]
    return _infer([value])


def _from_tensor(data: Any, dtype: DType | None, place: Device | None, copy: bool) -> Any:
    made = data.detach() if copy else data
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
    made = from_numpy(np.array(array_) if copy else array_)
    place = place or resolve(None)
    if dtype is not None or place is not CPU:
        made = made.to(device=place, dtype=dtype or made._spec.dtype)
    return made


def _shape_of(data: Any) -> tuple[int, ...]:
    shape = []
    while True:
        if isinstance(data, str) and shape:
            raise ValueError("too many dimensions 'str'")
        if isinstance(data, (str, bytes, TensorBase)) or not _is_sequence(data):
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


_PLAIN = (list, tuple, range)


def _flatten(data: Any, shape: tuple[int, ...], depth: int, into: list[Any]) -> None:
    if depth == len(shape):
        into.append(data)
        return
    if isinstance(data, TensorBase) or not _is_sequence(data):
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
        # An array's own iterator may give plain numbers, where its items know their dtype.
        into.extend(data if isinstance(data, _PLAIN) else [data[k] for k in range(len(data))])
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
                   if isinstance(value, (str, bytes)) else
                   RuntimeError(f"Could not infer dtype of {type(value).__name__}"))
        category = max(category, number_category(value))
    return default_for(category)


_KINDS: dict[Any, DType] = {}  # by NumPy's dtype: only those of the native byte order
#: A NumPy dtype called bfloat16 is that of ml_dtypes, whose others are no tensors, as in PyTorch.
_NUMPY = {d.name: d for d in ALL if d not in SMALL_FLOATS}


def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares a NumPy array's memory."""
    import numpy as np

    bridges.know(np)
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    kind = ndarray.dtype
    dtype = _KINDS.get(kind)
    if dtype is None:
        dtype = _NUMPY.get(kind.name)
        if dtype is not None and kind.isnative:
            _KINDS[kind] = dtype
    if dtype is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{ndarray.dtype.type.__name__}. The only "
            "supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
            "int16, int8, uint64, uint32, uint16, uint8, and bool.")
    if not kind.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. "
                         "Conversion between byte orders is currently not supported.")
    plain = ndarray.flags.c_contiguous
    if not plain and any(s < 0 for s in ndarray.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors "
                         "with negative strides are not currently supported. (You can probably "
                         "work around this by making a copy of your array  with array.copy().) ")
    if not plain and any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. "
                         "Copy the numpy array to reallocate the memory.")
    if not ndarray.flags.writeable:
        warn_once("The given NumPy array is not writable, and PyTorch does not support "
                  "non-writable tensors. Writing to the tensor is undefined; copy the array "
                  "first to be safe.")
    size = dtype.itemsize
    strides = tuple([s // size for s in ndarray.strides])
    made = spec(dtype, ndarray.shape, strides)
    address = ndarray.__array_interface__["data"][0]
    storage = UntypedStorage._wrap(address, made.nbytes, ndarray, EXPORTED | FOREIGN)
    return registry.wrap(storage, made, 0)


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0,
               requires_grad: bool = False) -> Any:
    """A 1-D tensor over a Python buffer, sharing its memory."""
    try:
        view = memoryview(buffer).cast("B")
    except TypeError as error:
        raise ValueError("object does not implement Python buffer protocol.") from error
    dtype = as_dtype(dtype)
    size = dtype.itemsize
    if view.nbytes == 0 or count == 0 or offset >= view.nbytes or offset < 0:
        raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0"
                         if view.nbytes == 0 or count == 0 else
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
        warn_once("The given buffer is not writable, and PyTorch does not support "
                  "non-writable tensors.")
    storage = UntypedStorage._from_buffer(view[offset:offset + count * size])
    made = registry.wrap(storage, spec(dtype, (count,)), 0)
    return finished(made, requires_grad)


def from_file(filename: Any, shared: bool | None = None, size: int | None = 0, *,
              dtype: DType | None = None, layout: Any = None, device: Any = None,
              pin_memory: bool | None = False, requires_grad: bool = False) -> Any:
    """A 1-D tensor of the first `size` elements of a file, read as they are asked for.

    With `shared`, what is written to the tensor goes to the file, which is made and grown if need
    be; else it stays with this tensor. Raises RuntimeError for a file that cannot be opened, or is
    too short.
    """
    dtype = as_dtype(dtype) or get_default_dtype()
    count = int(size or 0)
    storage = UntypedStorage.from_file(filename, bool(shared), count * dtype.itemsize)
    return finished(registry.wrap(storage, spec(dtype, (count,)), 0), requires_grad)


FUNCTIONS = {f.__name__: f for f in (tensor, as_tensor, from_numpy, frombuffer, from_file)}
