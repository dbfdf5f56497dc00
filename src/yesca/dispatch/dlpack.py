"""DLPack: tensors to and from other libraries by a capsule, without a copy.

The structures are those of dlpack.h: a capsule called "dltensor" holds the address of a
`DLManagedTensor`, one called "dltensor_versioned" that of a `DLManagedTensorVersioned`, which is
given to who asks for it (`max_version`). Who takes one renames it to "used_..." and calls the
deleter in the end.
"""

from __future__ import annotations

import ctypes
import enum
import weakref
from functools import cache
from typing import Any

from ..base.errors import argument_error
from ..base.naming import lives_in
from ..core.devices import CPU, resolve
from ..core.dtypes import (
    BOOL, BY_NAME, COMPLEX, FLOATING, DType, bfloat16, float4_e2m1fn_x2, float8_e4m3fn,
    float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu,
)
from ..core.spec import contiguous_strides, spec
from ..core.storage import EXPORTED, FOREIGN, UntypedStorage
from ..core.tensor_base import TensorBase, address_of
from .call import OPERATORS


@lives_in("torch.utils.dlpack")
class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by DLPack's numbers."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


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

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_CODES = {FLOATING: 2, COMPLEX: 5, BOOL: 6}  # 0 signed, 1 unsigned integers
#: Types of one dtype each: their codes; bits and lanes, where these are not those of one element.
_OWN_CODES = {bfloat16: 4, float8_e4m3fn: 10, float8_e4m3fnuz: 11, float8_e5m2: 12,
              float8_e5m2fnuz: 13, float8_e8m0fnu: 14, float4_e2m1fn_x2: 17}
_PACKED = {float4_e2m1fn_x2: (4, 2)}
_IN_MEMORY = (1, 3)  # kinds of devices whose memory is the CPU's
_PREFIXES = {0: "int", 1: "uint", 2: "float", 5: "complex"}
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
VERSION = (1, 0)  # of the versioned structures that are given
_MOST_DIMENSIONS = 64  # more than that is what no array has
_IS_COPIED = 2  # a flag of these: the memory is nobody else's
#: Names of capsules that can be taken: what they hold, and what they are called afterwards. Names
#: of capsules have to live as long as these do.
_TAKEN = {_PLAIN: (_Managed, b"used_dltensor"),
          _VERSIONED: (_Versioned, b"used_dltensor_versioned")}
_INVALID = ("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once.")

_api = ctypes.pythonapi
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                 ctypes.c_void_p)(("PyCapsule_New", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api))
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api))

# ---- out -------------------------------------------------------------------------------------

def _check_exportable(tensor: Any) -> None:
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor._spec.conj:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if tensor._spec.neg:
        raise BufferError("Can't export tensors with the negative bit set: use "
                          "tensor.resolve_neg()")
    if tensor._spec.device is not CPU:
        raise BufferError(f"Cannot pack tensors on {tensor._spec.device}")


def _code(dtype: DType) -> int:
    found = _OWN_CODES.get(dtype)
    return _CODES.get(dtype.category, 0 if dtype.is_signed else 1) if found is None else found


def _elements(dtype: DType) -> tuple[int, int]:
    """Bits of a number, and how many numbers an element has."""
    return _PACKED.get(dtype, (dtype.itemsize * 8, 1))


def to_dlpack(tensor: Any) -> Any:
    """A capsule that gives another library this tensor's memory. It can be taken once.

    Raises BufferError for conjugated and negated tensors.
    """
    if not isinstance(tensor, TensorBase):
        raise argument_error("_to_dlpack", "data", 1, "Tensor", tensor)
    plain = tensor.detach()  # type: ignore[attr-defined]
    _check_exportable(plain)
    return _capsule(plain, None)


def _capsule(tensor: Any, flags: int | None) -> Any:
    """A capsule of a tensor off the tape; with flags: a versioned one."""
    own = tensor._spec
    sizes = (ctypes.c_int64 * max(own.ndim, 1))(*own.shape)
    steps = (ctypes.c_int64 * max(own.ndim, 1))(*own.strides)
    tensor._storage.data_ptr()  # from here on code outside may write
    described = _Tensor(address_of(tensor) if own.numel else None, 1, 0, own.ndim,
                        _code(own.dtype), *_elements(own.dtype), sizes, steps, 0)
    delete_plain, delete_versioned, destroy = _native()
    managed: Any
    if flags is None:
        managed, name = _Managed(described, None, delete_plain), _PLAIN
    else:
        managed = _Versioned(*VERSION, None, delete_versioned, flags, described)
        name = _VERSIONED
    kept = (managed, sizes, steps, tensor)
    managed.context = id(kept)
    made = _new_capsule(ctypes.addressof(managed), name, destroy)
    _keep(kept)  # the deleter gives this reference back
    return made


@cache
def _native() -> tuple[int, int, int]:
    """The addresses of the two deleters and of the capsules' destructor."""
    from ..runtime import units
    from ..runtime.native import capsules

    places = (ctypes.c_char_p * 2).from_address(units.address(capsules.names))
    places[:] = [_PLAIN, _VERSIONED]
    return (units.address(capsules.delete_plain), units.address(capsules.delete_versioned),
            units.address(capsules.destroy))


def exported(self: Any, *, stream: Any = -1, max_version: tuple[int, int] | None = None,
             dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
    """The array API's `__dlpack__`: a capsule, which can be taken once.

    Args:
        stream: None or -1: the CPU has no streams.
        max_version: the newest version that the other side knows; from (1, 0) on it gets a
            versioned capsule.
        dl_device: where the other side wants the memory: (1, 0), the CPU.
        copy: True gives memory of its own.

    Raises BufferError for tensors that need a gradient, are conjugated or have no memory here.
    """
    _check_exportable(self)
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"cannot export a CPU tensor to DLPack device "
                          f"{tuple(map(int, dl_device))}")
    made = (OPERATORS.clone(self) if copy else self).detach()
    if max_version is None or max_version[0] < VERSION[0]:
        return _capsule(made, None)
    return _capsule(made, _IS_COPIED if copy else 0)


def device_of(self: Any) -> tuple[Any, int]:
    """The array API's `__dlpack_device__`: the kind of device and its number."""
    if self._spec.device is not CPU:
        raise ValueError(f"Unknown device type {self._spec.device.type} for Dlpack")
    return DLDeviceType.kDLCPU, 0


# ---- in --------------------------------------------------------------------------------------

def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of another library's array, or of a capsule of it.

    Args:
        ext_tensor: what has `__dlpack__`, or a capsule.
        device: where the tensor shall be: the CPU. A capsule takes neither device nor copy.
        copy: True gives memory of its own; False refuses to; None copies where it has to.

    Raises RuntimeError for a capsule that was taken before or contradicts itself, and BufferError
    for memory that is not the CPU's and for dtypes that no tensor has. Whether the other side lets
    its memory be written is not looked at.

    >>> import numpy
    >>> import yesca as torch
    >>> array = numpy.zeros(2)
    >>> torch.from_dlpack(array)[0] = 1
    >>> array.tolist()
    [1.0, 0.0]
    """
    if getattr(ext_tensor, "__dlpack__", None) is None:
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already "
                                 "a DLPack capsule.")
        return _taken(ext_tensor)
    wanted: dict[str, Any] = {"max_version": VERSION}
    if copy is not None:
        wanted["copy"] = copy
    place = ext_tensor.__dlpack_device__()
    if int(place[0]) not in _IN_MEMORY:
        raise BufferError(f"cannot import memory of DLPack device {tuple(map(int, place))}")
    if device is not None:
        if resolve(device) is not CPU:
            raise BufferError(f"Cannot pack tensors on {resolve(device)}")
        wanted["dl_device"] = (1, 0)
    capsule, copied = _asked(ext_tensor, wanted)
    made = _taken(capsule)
    return OPERATORS.clone(made) if copy and not copied else made


def _asked(array: Any, wanted: dict[str, Any]) -> tuple[Any, bool]:
    """The capsule of another library's array, and whether it knew of `copy`.

    What it has never heard of goes, one after the other: the arguments are of different ages.
    """
    for name in ("max_version", "copy", "dl_device"):
        try:
            return array.__dlpack__(**wanted), "copy" in wanted
        except TypeError as error:
            if type(error) is not TypeError:  # not a call that does not fit, but a refusal
                raise
            wanted.pop(name, None)
    return array.__dlpack__(), False


def _taken(capsule: Any) -> Any:
    name = next((n for n in _TAKEN if _is_valid(capsule, n)), None)
    if name is None:
        raise RuntimeError(_INVALID)
    return _over(capsule, name)


def _over(capsule: Any, name: bytes) -> Any:
    structure, used = _TAKEN[name]
    managed = structure.from_address(_pointer_of(capsule, name))
    if structure is _Versioned and managed.major > VERSION[0]:
        raise RuntimeError(f"unsupported DLPack capsule major version: {managed.major}. Maximum "
                           f"supported version: {VERSION[0]}")
    given = managed.tensor
    dtype = _dtype(given.code, given.bits, given.lanes)
    if not 0 <= given.ndim <= _MOST_DIMENSIONS or given.ndim and not given.shape:
        raise RuntimeError(f"from_dlpack received a description of {given.ndim} dimensions"
                           + ("" if given.shape else " without their sizes"))
    shape = tuple(given.shape[k] for k in range(given.ndim))
    strides = tuple(given.strides[k] for k in range(given.ndim)) if given.strides \
        else contiguous_strides(shape)
    if given.device_type not in _IN_MEMORY:
        raise BufferError(f"cannot import memory of DLPack device {given.device_type}")
    if any(s < 0 for s in strides):
        raise BufferError("cannot import negative strides; copy the array first")
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: "
                           f"{list(shape)}")
    made = spec(dtype, shape, strides)
    if made.numel and not given.data:
        raise RuntimeError(f"from_dlpack received {made.numel} elements without memory")
    _rename(capsule, used)
    start = (given.data or 0) + given.byte_offset
    storage = UntypedStorage._wrap(start, made.nbytes, None, EXPORTED | FOREIGN)
    if managed.deleter:
        done = weakref.finalize(storage, _DELETER(managed.deleter), ctypes.addressof(managed))
        done.atexit = False
    return OPERATORS._tensor_from_storage(storage, dtype, 0, shape, strides)


def _dtype(code: int, bits: int, lanes: int) -> DType:
    for dtype, own in _OWN_CODES.items():
        if code == own and (bits, lanes) == _elements(dtype):
            return dtype
    if lanes != 1:
        raise BufferError("from_dlpack does not support vectors of several lanes")
    name = "bool" if code == 6 and bits == 8 else f"{_PREFIXES.get(code, 'type')}{bits}"
    if name not in BY_NAME:
        raise BufferError(f"from_dlpack does not support DLPack type code {code} of {bits} bits")
    return BY_NAME[name]
