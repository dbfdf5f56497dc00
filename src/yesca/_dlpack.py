"""DLPack: tensors to and from other libraries by a capsule, without a copy.

The structures are those of dlpack.h: a capsule called "dltensor" holds the address of a
`DLManagedTensor` (of version 0, which is given), one called "dltensor_versioned" that of a
`DLManagedTensorVersioned`, which is taken as well: arrays that may not be written come so. Who
takes one renames it to "used_..." and calls the deleter in the end.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from . import _tensor  # noqa: F401 - tensors can be made from here on
from .base.errors import argument_error
from .core.devices import CPU
from .core.dtypes import BOOL, BY_NAME, COMPLEX, FLOATING, DType, bfloat16
from .core.spec import contiguous_strides, spec
from .core.storage import EXPORTED, FOREIGN, UntypedStorage
from .core.tensor_base import TensorBase, address_of
from .dispatch.call import OPERATORS


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""


_VERSIONED_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Versioned))
_Versioned._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                       ("context", ctypes.c_void_p), ("deleter", _VERSIONED_DELETER),
                       ("flags", ctypes.c_uint64), ("tensor", _Tensor)]

_CODES = {FLOATING: 2, COMPLEX: 5, BOOL: 6}  # 0 signed, 1 unsigned integers, 4 bfloat16
_PREFIXES = {0: "int", 1: "uint", 2: "float", 5: "complex"}
_CAPSULE = b"dltensor"
#: Names of capsules that can be taken: what they hold, and what they are called afterwards. Names
#: of capsules have to live as long as these do.
_TAKEN = {_CAPSULE: (_Managed, b"used_dltensor"),
          b"dltensor_versioned": (_Versioned, b"used_dltensor_versioned")}
_INVALID = ("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once.")

_api = ctypes.pythonapi
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                 ctypes.c_void_p)(("PyCapsule_New", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api))

#: What exported capsules need, by the address of their structure, until a deleter is called.
_exported: dict[int, tuple[Any, ...]] = {}


@_DELETER
def _release(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


# ---- out -------------------------------------------------------------------------------------

def _check_exportable(tensor: Any) -> None:
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor._spec.conj:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if tensor._spec.neg:
        raise BufferError("Can't export tensors with the negative bit set")
    if tensor._spec.device is not CPU:
        raise BufferError(f"Can't export tensors on {tensor._spec.device}: they have no memory")


def _code(dtype: DType) -> int:
    if dtype is bfloat16:
        return 4
    return _CODES.get(dtype.category, 0 if dtype.is_signed else 1)


def to_dlpack(tensor: Any) -> Any:
    """A capsule that gives another library this tensor's memory. It can be taken once.

    Raises BufferError for conjugated and negated tensors.
    """
    if not isinstance(tensor, TensorBase):
        raise argument_error("_to_dlpack", "data", 1, "Tensor", tensor)
    _check_exportable(tensor.detach())  # type: ignore[attr-defined]
    own = tensor._spec
    sizes = (ctypes.c_int64 * max(own.ndim, 1))(*own.shape)
    steps = (ctypes.c_int64 * max(own.ndim, 1))(*own.strides)
    tensor._storage.data_ptr()  # from here on code outside may write
    address = address_of(tensor)
    managed = _Managed(_Tensor(address if own.numel else None, 1, 0, own.ndim, _code(own.dtype),
                               own.dtype.itemsize * 8, 1, sizes, steps, 0), None, _release)
    place = ctypes.addressof(managed)
    _exported[place] = (managed, sizes, steps, tensor.detach())
    return _new_capsule(place, _CAPSULE, _destructor_address)


_CAPSULE_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api))
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))


@_CAPSULE_DESTRUCTOR
def _destroy(capsule: int) -> None:
    """The capsule dies: what nobody has taken is released."""
    if _valid_at(capsule, _CAPSULE):
        _exported.pop(_pointer_at(capsule, _CAPSULE), None)


_destructor_address = ctypes.cast(_destroy, ctypes.c_void_p).value


def exported(self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
             copy: bool | None = None) -> Any:
    """The array API's `__dlpack__`: a capsule; `copy=True` gives memory of its own."""
    if stream not in (None, -1):
        raise AssertionError("stream must be None on the CPU")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"cannot export a CPU tensor to device {tuple(dl_device)}")
    _check_exportable(self)
    return to_dlpack(OPERATORS.clone(self) if copy else self)


# ---- in --------------------------------------------------------------------------------------

def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of another library's array, or of a capsule of it.

    Raises RuntimeError for a capsule that was taken before, and BufferError for memory that is
    not the CPU's.

    >>> import numpy
    >>> import yesca as torch
    >>> array = numpy.zeros(2)
    >>> torch.from_dlpack(array)[0] = 1
    >>> array.tolist()
    [1.0, 0.0]
    """
    capsule = ext_tensor
    if isinstance(ext_tensor, TensorBase):
        _check_exportable(ext_tensor)
        capsule = to_dlpack(ext_tensor)
    elif getattr(type(ext_tensor), "__dlpack__", None) is not None:
        place = ext_tensor.__dlpack_device__()
        if int(place[0]) not in (1, 3):
            raise BufferError(f"cannot import memory of DLPack device {tuple(map(int, place))}")
        capsule = _asked(ext_tensor)
    name = next((n for n in _TAKEN if _is_valid(capsule, n)), None)
    if name is None:
        raise RuntimeError(_INVALID)
    made = _over(capsule, name)
    return OPERATORS.clone(made) if copy else made


def _asked(array: Any) -> Any:
    """The capsule of another library's array."""
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:  # it has never heard of versions
        return array.__dlpack__()


def _over(capsule: Any, name: bytes) -> Any:
    structure, used = _TAKEN[name]
    managed = structure.from_address(_pointer_of(capsule, name))
    given = managed.tensor
    dtype = _dtype(given.code, given.bits, given.lanes)
    shape = tuple(given.shape[k] for k in range(given.ndim))
    strides = tuple(given.strides[k] for k in range(given.ndim)) if given.strides \
        else contiguous_strides(shape)
    if given.device_type not in (1, 3):
        raise BufferError(f"cannot import memory of DLPack device {given.device_type}")
    if any(s < 0 for s in strides):
        raise BufferError("cannot import negative strides; copy the array first")
    made = spec(dtype, shape, strides)
    _rename(capsule, used)
    start = (given.data or 0) + given.byte_offset
    storage = UntypedStorage._wrap(start, made.nbytes, None, EXPORTED | FOREIGN)
    if managed.deleter:
        weakref.finalize(storage, managed.deleter, ctypes.pointer(managed)).atexit = False
    return OPERATORS._tensor_from_storage(storage, dtype, 0, shape, strides)


def _dtype(code: int, bits: int, lanes: int) -> DType:
    if lanes != 1:
        raise RuntimeError("from_dlpack does not support vectors of several lanes")
    if code == 4 and bits == 16:
        return bfloat16
    name = "bool" if code == 6 and bits == 8 else f"{_PREFIXES.get(code, 'type')}{bits}"
    if name not in BY_NAME:
        raise RuntimeError(f"from_dlpack does not support DLPack type code {code} of {bits} bits")
    return BY_NAME[name]
