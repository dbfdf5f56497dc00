"""Quantized tensors: integers that stand for numbers, x = (q - zero_point) * scale.

A quantized tensor holds plain integers (int8, uint8, int32), and beside them the `Quantizer` that
says what they stand for. It is of a class below Tensor, so that everything which is not known here
is refused, as PyTorch refuses it, at no cost for other tensors: views and copies are those of the
integers and keep the quantizer; what asks for values gets those that the integers stand for.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from . import _storage_access as access
from ._tensor import Tensor
from .base.errors import refusal
from .base.frames import warn_once
from .core import dtypes, layouts
from .core.dtypes import SCALAR_NAMES, DType
from .core.layouts import QScheme
from .core.memory_formats import suggested
from .dispatch.call import OPERATORS as ops
from .dispatch.protocol import DisableSubclasses

#: Quantized dtype -> what lies in memory, its least and its largest integer.
STORED = {
    dtypes.NAMED["qint8"]: (dtypes.int8, -128, 127),
    dtypes.NAMED["quint8"]: (dtypes.uint8, 0, 255),
    dtypes.NAMED["qint32"]: (dtypes.int32, -(1 << 31), (1 << 31) - 1),
}
_QINT32 = dtypes.NAMED["qint32"]


@dataclass(frozen=True, eq=False)
class Quantizer:
    """What the integers of a tensor stand for.

    scale, zero_point: numbers, or tensors with one element for each index of `axis`.
    """

    dtype: DType
    scheme: QScheme
    scale: Any
    zero_point: Any
    axis: int = -1

    @property
    def uniform(self) -> bool:
        """Whether all elements have one scale."""
        return self.axis < 0

    def equals(self, other: Quantizer) -> bool:
        """Whether equal integers stand for equal numbers."""
        if (self.dtype, self.scheme, self.axis) != (other.dtype, other.scheme, other.axis):
            return False
        if self.uniform:
            return bool(self.scale == other.scale and self.zero_point == other.zero_point)
        return bool(ops.equal(self.scale, other.scale)
                    and ops.equal(self.zero_point, other.zero_point))

    def along(self, ndim: int) -> tuple[Any, Any]:
        """Scale and zero point as they broadcast against a tensor."""
        if self.uniform:
            return self.scale, self.zero_point
        shape = [1] * ndim
        shape[self.axis] = -1
        return tuple(ops.reshape(value, shape)  # type: ignore[return-value]
                     for value in (self.scale, self.zero_point))

    def quantize(self, x: Tensor) -> Tensor:
        """The integers that stand for numbers of float32, as a plain tensor.

        They lie in order, or with channels last where there is one scale and the numbers do.
        """
        _, low, high = STORED[self.dtype]
        wanted = suggested(x._spec) if self.uniform else layouts.contiguous_format
        x = ops.contiguous(ops.detach(x), memory_format=wanted)
        scale, zero = self.along(x.dim())
        fused = self.uniform and self.dtype is not _QINT32
        made: Tensor = ops._quantize_affine(x, scale, zero, low, high, fused)
        return made

    def dequantize(self, q: Tensor) -> Tensor:
        """What plain integers stand for, in float32."""
        made: Tensor = ops._dequantize_affine(q, *self.along(q.dim()), self.dtype is _QINT32)
        return made


class QuantizedTensor(Tensor):
    """A tensor of `qint8`, `quint8` or `qint32`. Made by `torch.quantize_per_tensor` and others."""

    __slots__ = ("_quantizer",)
    _quantizer: Quantizer
    is_quantized = True

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        from ._quantized_calls import handle

        return handle(func, args, kwargs or {})

    @property
    def dtype(self) -> DType:
        return self._quantizer.dtype

    def detach(self) -> QuantizedTensor:
        """The same memory."""
        with DisableSubclasses():
            return wrap(plain(self).detach(), self._quantizer)

    def requires_grad_(self, requires_grad: bool = True) -> QuantizedTensor:
        """Raises RuntimeError: integers have no gradients."""
        if requires_grad:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        made = self._quantizer
        settings = (made.scheme, made.scale, made.zero_point, *(() if made.uniform
                                                                else (made.axis,)))
        typed = access.TypedBytes(self._storage, made.dtype)
        return _rebuild_qtensor, (typed, self._offset, tuple(self._spec.shape),
                                  tuple(n for n in self._spec.strides), settings, False,
                                  OrderedDict())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            from ._access import deep_copy

            own = plain(self)
            copied = deep_copy(own, memo)
            del memo[id(own)]  # the object ends with this call
            memo[id(self)] = wrap(copied, self._quantizer)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from ._printing import quantized_repr

        made = self._quantizer
        notes = [f"scale={made.scale}", f"zero_point={made.zero_point}"]
        if not made.uniform:
            notes.append(f"axis={made.axis}")
        text = quantized_repr(made.dequantize(plain(self)), made.dtype,
                              [f"quantization_scheme={made.scheme}", *notes])
        return f"Parameter containing:\n{text}" if self._is_param else text


def plain(x: Any) -> Any:
    """The integers of a quantized tensor: the same memory as a plain tensor."""
    if not isinstance(x, QuantizedTensor):
        return x
    return Tensor._make_subclass(Tensor, x)


def wrap(q: Tensor, quantizer: Quantizer) -> QuantizedTensor:
    """Plain integers as a quantized tensor over the same memory."""
    made: QuantizedTensor = Tensor._make_subclass(QuantizedTensor, q)
    made._quantizer = quantizer
    return made


# ---- making them -------------------------------------------------------------------------------

def _stored(dtype: Any) -> tuple[DType, int, int]:
    if dtype not in STORED:
        raise RuntimeError(f"ScalarType {SCALAR_NAMES.get(dtype, dtype)} is not supported in "
                           "new_qtensor; quantized dtypes are torch.qint8, torch.quint8 and "
                           "torch.qint32")
    warn_once("torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor "
              "creation functions that produce tensors with dtype torch.quint8, torch.qint8, and "
              "torch.qint32 are deprecated and will be removed in a future PyTorch release. Please "
              "see https://github.com/pytorch/pytorch/issues/184982 for more information.")
    return STORED[dtype]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _check_float(x: Any, function: str) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{function}(): argument 'input' (position 1) must be Tensor, not "
                        f"{type(x).__name__}")
    if x.dtype is not dtypes.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {SCALAR_NAMES[x.dtype]}")


def _check_zero_points(function: str, values: Iterable[int], low: int, high: int) -> None:
    for value in values:
        if not low <= value <= high:
            side = "below lower" if value < low else "above upper"
            raise RuntimeError(f"{function} zero_point {value} is {side} bound.")


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: DType) -> Any:
    """Integers round(input / scale + zero_point) that stand for the elements of `input`.

    Args:
        input: a tensor of float32 of any shape, or a list of such.
        scale, zero_point: a float and an int, or tensors of one element; with a list of inputs
            tensors of one element for each of them.
        dtype: `qint8`, `quint8` or `qint32`.

    Raises RuntimeError for an input of another dtype, and for a zero point that `dtype` has not
    got. PyTorch announces the end of these dtypes with a warning, once.

    >>> import yesca as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.quantize_per_tensor(torch.tensor([-1., 0., 2.]), 0.5, 3, torch.quint8).int_repr()
    tensor([1, 3, 7], dtype=torch.uint8)
    """
    if isinstance(input, (list, tuple)):
        return tuple(quantize_per_tensor(x, scale[k], zero_point[k], dtype)
                     for k, x in enumerate(input))
    _check_float(input, "quantize_per_tensor")
    _, low, high = _stored(dtype)
    if not isinstance(zero_point, (Integral, Tensor)) or isinstance(zero_point, bool):
        raise TypeError("quantize_per_tensor(): argument 'zero_point' (position 3) must be int, "
                        f"not {type(zero_point).__name__}")
    scale, zero_point = float(_number(scale)), int(_number(zero_point))
    _check_zero_points("quantize_tensor_per_tensor_affine", [zero_point], low, high)
    made = Quantizer(dtype, layouts.per_tensor_affine, scale, zero_point)
    return wrap(made.quantize(input), made)


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int,
                         dtype: DType) -> Tensor:
    """As `quantize_per_tensor`, with a scale and zero point for each index of `axis`.

    Args:
        input: a tensor of float32.
        scales, zero_points: (input.shape[axis],); zero points that are floats are kept so.

    Raises RuntimeError for an axis or lengths that do not fit.

    >>> import yesca as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> q = torch.quantize_per_channel(torch.tensor([[1., 2.], [3., 4.]]),
    ...                                torch.tensor([1., 0.5]), torch.tensor([0, 0]), 0,
    ...                                torch.qint8)
    >>> q.int_repr()
    tensor([[1, 2],
            [6, 8]], dtype=torch.int8)
    """
    _check_float(input, "quantize_per_channel")
    if not 0 <= axis < input.dim():
        raise RuntimeError("Channel axis out of range in per channel affine quantization. Got: "
                           f"{axis}Expected: [0, {input.dim()})")
    if scales.numel() != input.shape[axis]:
        raise RuntimeError(f"length of scales must equal to channel, expected {input.shape[axis]} "
                           f"got, {scales.numel()}")
    if zero_points.numel() != scales.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    _, low, high = _stored(dtype)
    if zero_points.is_floating_point():
        scheme, wide, whole = layouts.per_channel_affine_float_qparams, dtypes.float32, \
            dtypes.float32
    else:
        scheme, wide, whole = layouts.per_channel_affine, dtypes.float64, dtypes.int64
        _check_zero_points("quantize_tensor_per_channel_affine", zero_points.tolist(), low, high)
    scales, zero_points = (ops.clone(ops.detach(v).to(d))
                           for v, d in ((scales, wide), (zero_points, whole)))
    made = Quantizer(dtype, scheme, scales, zero_points, axis)
    return wrap(made.quantize(input), made)


def quantize_per_tensor_dynamic(input: Tensor, dtype: DType, reduce_range: bool) -> Tensor:
    """As `quantize_per_tensor`, with scale and zero point found from the range of `input`.

    Args:
        input: a tensor of float32.
        dtype: `qint8` or `quint8`; with `float16` the result is a plain tensor of that.
        reduce_range: use half of the integers, so that products of two fit into 16 bits.

    >>> import yesca as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.quantize_per_tensor_dynamic(torch.tensor([0., 255.]), torch.quint8, False).q_scale()
    1.0
    """
    if dtype is dtypes.float16:
        return input.to(dtype)
    if dtype not in STORED or dtype is _QINT32:
        raise RuntimeError(f"dtype {SCALAR_NAMES.get(dtype, dtype)}not supported")
    _check_float(input, "quantize_per_tensor_dynamic")
    _, low, high = STORED[dtype]
    if reduce_range:
        low, high = math.trunc(low / 2), high // 2
    scale, zero = ops._affine_range(ops.detach(input), low, high)
    return quantize_per_tensor(input, scale, zero, dtype)  # type: ignore[no-any-return]


def dequantize(input: Any) -> Any:
    """The numbers in float32 that a quantized tensor stands for; also of each of a list.

    >>> import yesca as torch
    >>> torch.dequantize(torch.tensor([1.5]))
    tensor([1.5000])
    """
    if isinstance(input, (list, tuple)):
        return tuple(dequantize(x) for x in input)
    if isinstance(input, QuantizedTensor):
        return input._quantizer.dequantize(plain(input))
    return input.to(dtypes.float32)


def _rebuild_qtensor(storage: Any, storage_offset: int, size: tuple[int, ...],
                     stride: tuple[int, ...], quantizer_params: Any, requires_grad: bool,
                     backward_hooks: Any) -> Tensor:
    """A quantized tensor as a file holds it."""
    from ._rebuild import _view

    holder = access.as_typed_bytes(storage)
    if holder is None or holder.dtype not in STORED:
        raise RuntimeError("a saved quantized tensor needs a storage of a quantized dtype; the "
                           "file is corrupt")
    stored = STORED[holder.dtype][0]
    made = _view(access.TypedBytes(holder.untyped(), stored), stored, storage_offset, size, stride,
                 False)
    return wrap(made, _checked_quantizer(holder.dtype, tuple(made.shape), *quantizer_params))


def _checked_quantizer(dtype: DType, shape: tuple[int, ...], scheme: Any, scale: Any = None,
                       zero_point: Any = None, axis: Any = None) -> Quantizer:
    """The quantizer of a tensor that comes from a file."""
    if scheme is layouts.per_tensor_affine:
        if type(scale) in (int, float) and type(zero_point) is int and axis is None:
            return Quantizer(dtype, scheme, float(scale), zero_point)
    elif scheme in (layouts.per_channel_affine, layouts.per_channel_affine_float_qparams):
        fits = type(axis) is int and 0 <= axis < len(shape) and all(
            isinstance(v, Tensor) and tuple(v.shape) == (shape[axis],)
            for v in (scale, zero_point))
        if fits:
            return Quantizer(dtype, scheme, scale, zero_point, axis)
    else:
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")
    raise RuntimeError(f"a saved tensor of scheme {scheme} and shape {shape} has a scale, a zero "
                       "point or an axis that do not fit; the file is corrupt")


# ---- asking them -------------------------------------------------------------------------------

def _quantizer_of(x: Any, name: str, uniform: bool | None = None) -> Quantizer:
    if not isinstance(x, QuantizedTensor):
        raise refusal(name, "CPU", "The tensor is not quantized; torch.quantize_per_tensor "
                                   "quantizes it.")
    if uniform is not None and x._quantizer.uniform is not uniform:
        wanted = "quantizer->qscheme() == kPerTensorAffine" if uniform else \
            "quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == " \
            "kPerChannelAffineFloatQParams"
        raise RuntimeError(f"Expected {wanted} to be true, but got false.  The tensor's scheme is "
                           f"{x._quantizer.scheme}")
    return x._quantizer


def q_scale(input: Tensor) -> float:
    """The scale of a tensor that was quantized by `quantize_per_tensor`."""
    return float(_quantizer_of(input, "q_scale", True).scale)


def q_zero_point(input: Tensor) -> int:
    """The zero point of a tensor that was quantized by `quantize_per_tensor`."""
    return int(_quantizer_of(input, "q_zero_point", True).zero_point)


def q_per_channel_scales(input: Tensor) -> Tensor:
    """The scales of a tensor that was quantized by `quantize_per_channel`, in float64."""
    found: Tensor = _quantizer_of(input, "q_per_channel_scales", False).scale
    return found


def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """The zero points of a tensor that was quantized by `quantize_per_channel`, in int64."""
    found: Tensor = _quantizer_of(input, "q_per_channel_zero_points", False).zero_point
    return found


def q_per_channel_axis(input: Tensor) -> int:
    """The dimension whose indices have a scale each."""
    return _quantizer_of(input, "q_per_channel_axis", False).axis


def int_repr(input: Tensor) -> Tensor:
    """A copy of the integers of a quantized tensor: int8 for `qint8`, uint8, int32."""
    _quantizer_of(input, "int_repr")
    return ops.clone(plain(input))  # type: ignore[no-any-return]


def qscheme(self: Tensor) -> QScheme:
    """How the integers stand for numbers: `torch.per_tensor_affine` and its like."""
    return _quantizer_of(self, "qscheme").scheme

