"""`torch.FloatTensor` and its relatives: one type for each dtype, older than dtypes themselves.

    torch.LongTensor([1, 2])              # as torch.tensor([1, 2], dtype=torch.int64)
    torch.FloatTensor(2, 3)               # as torch.empty(2, 3)
    isinstance(x, torch.FloatTensor)      # x.dtype is torch.float32, on the CPU
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base.frames import warn
from .base.naming import lives_in, public_module
from .core import dtypes
from .core.devices import Device
from .core.dtypes import DType
from .core.layouts import Layout, sparse_coo, strided

if TYPE_CHECKING:
    from ._tensor import Tensor

@lives_in("torch")
class tensortype(type):
    """The type of `torch.FloatTensor` and its relatives."""

    dtype: DType
    layout: Any
    is_cuda: bool

    def __instancecheck__(cls, instance: object) -> bool:
        from ._tensor import Tensor

        return (
            isinstance(instance, Tensor)
            and instance.layout is cls.layout
            and instance.dtype is cls.dtype
            and str(instance.device).startswith("cpu")
        )

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        kind = "cpu" if device is None else str(Device(device)).partition(":")[0]
        if kind != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {kind} was passed"
            )
        if cls.layout is not strided:
            from ._sparse.making import legacy_new

            return legacy_new(cls.dtype, args)  # type: ignore[no-any-return]
        from . import _legacy_methods, _tensor

        made: _tensor.Tensor = _legacy_methods.legacy_new(cls.dtype, args)
        return made


def _make(name: str, dtype: DType, layout: Layout = strided) -> tensortype:
    place = "torch" if layout is strided else "torch.sparse"
    body = {
        "__module__": public_module(place), "__doc__": f"The type of tensors of {dtype}.",
        "dtype": dtype, "layout": layout, "is_cuda": False,
    }
    return tensortype(name, (), body)


FloatTensor = _make("FloatTensor", dtypes.float32)
DoubleTensor = _make("DoubleTensor", dtypes.float64)
HalfTensor = _make("HalfTensor", dtypes.float16)
BFloat16Tensor = _make("BFloat16Tensor", dtypes.bfloat16)
ByteTensor = _make("ByteTensor", dtypes.uint8)
CharTensor = _make("CharTensor", dtypes.int8)
ShortTensor = _make("ShortTensor", dtypes.int16)
IntTensor = _make("IntTensor", dtypes.int32)
LongTensor = _make("LongTensor", dtypes.int64)
BoolTensor = _make("BoolTensor", dtypes.bool_)

BY_NAME = {name: kind for name, kind in globals().items() if isinstance(kind, tensortype)}
#: `torch.sparse.FloatTensor` and its relatives.
SPARSE_TYPES = {name: _make(name, kind.dtype, sparse_coo) for name, kind in BY_NAME.items()}


def set_default_tensor_type(t: tensortype | str, /) -> None:
    """Set the default dtype by a tensor type or its name, such as `"torch.DoubleTensor"`."""
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
    )
    if isinstance(t, str):
        kind: object = BY_NAME.get(t.rpartition(".")[2])
    else:
        kind = t
    if not isinstance(kind, tensortype):
        raise TypeError(f"invalid type object: {t!r}; pass a type such as torch.DoubleTensor")
    if kind.dtype.category != dtypes.FLOATING:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kind.dtype)
