"""Quantisation: real numbers as integers, x = (q - zero_point) * scale, and back again.

The records here see plain integers; what makes a quantized tensor of them is `yesca._quantized`.
Scales and zero points are numbers, or tensors that broadcast against what they are for.

`_quantized_linear` quantises its input as it comes: from the range of all its elements, which
contains 0, as bytes. Its weights are packed: int8 as (panels, groups, rows of a panel, steps of K
of a group), zeros where a row or step is missing; the bytes of the last groups are the sum (int32)
and the scale (float32) of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import SCALAR_NAMES, float32, float64, int8, int32, int64, uint8
from ..core.spec import spec
from ..core.views import wrap_dim
from ..loops.ir import Expr
from ..loops.scalar import (
    absolute, bitcast, cast, const, fma, fold, maximum, minimum, round_half_even, where,
)
from .kinds import composite, elementwise, refuse_gradient, rows

_BYTES = {-128: int8, 0: uint8}
AT_ONCE = 1 << 14  # elements that one thread quantises sooner than two stages do
EXTRAS = 2  # groups of packed weights that hold sums and scales
WHOLE = 1.5 * 2.0 ** 23
NO_INVERSE = 2.0 ** -128  # the largest float32 whose inverse is infinite
LARGEST_BITS = 0x7F800000  # infinity's; what lies beyond is NaN
SMALLEST_SCALE = 6.0999998822808266e-05  # float32's 6.1e-5: narrower ranges are widened
#: Bounds an activation, as in PyTorch: the end of a range may be rounded to its top + 1.
BYTE = 255


# ---- each element by itself --------------------------------------------------------------------

def _between(x: Expr, low: float, high: float, missing_low: bool) -> Expr:
    """x within [low, high]; what is no number becomes one of the two."""
    if missing_low:
        x = where(x > low, x, const(low, x.dtype))
        return where(x < high, x, const(high, x.dtype))
    x = where(x < high, x, const(high, x.dtype))
    return where(x > low, x, const(low, x.dtype))


def _quantized(x: Expr, scale: Expr, zero: Expr, low: int, high: int, fused: bool) -> Expr:
    return _in_steps(x, const(1, float32) / scale, zero, low, high, fused)


def _in_steps(x: Expr, inverse: Expr, zero: Expr, low: int, high: int, fused: bool) -> Expr:
    """The nearest integer step, ties to even; `fused`: zero point and product rounded together."""
    steps = fma(x, inverse, zero) if fused else x * inverse + zero
    if low not in _BYTES:  # its bounds are no float32
        return _between(round_half_even(cast(steps, float64)), low, high, missing_low=not fused)
    # Beside so large a number a float has no fraction: the sum is rounded to even, and the last
    # bits are the integer. Instructions that round and convert take longer.
    whole = _between(steps, low, high, missing_low=not fused) + const(WHOLE, float32)
    return cast(bitcast(whole, int32), _BYTES[low])


elementwise("_quantize_affine(Tensor self, Tensor scale, Tensor zero_point, int low, int high, "
            "bool fused) -> Tensor", _quantized, method=False, inplace=False, out=False,
            numbers=("scale", "zero_point"), backward=None,
            dtype=lambda promoted, values: (float32, _BYTES.get(values[3], int32)),
            samples=lambda make: [(make(3, 4), 0.05, 3, -128, 127, True),
                                  (make(3, 4), 0.1, 10, 0, 255, True),
                                  (make(3, 4), 0.25, 0, -2**31, 2**31 - 1, False)],
            doc="clamp(round(self / scale + zero_point), low, high) as integers.")


def _dequantized(q: Expr, scale: Expr, zero: Expr, wide: bool) -> Expr:
    return cast(q - zero, float32) * cast(scale, float32)


elementwise("_dequantize_affine(Tensor self, Tensor scale, Tensor zero_point, bool wide) -> Tensor",
            _dequantized, method=False, inplace=False, out=False,
            numbers=("scale", "zero_point"), backward=None,
            dtype=lambda promoted, values: (float64 if values[3] else float32, float32),
            samples=lambda make: [(make.integers(3, 4, low=-9, high=9), 0.05, 3, False),
                                  (make.integers(3, 4, low=-9, high=9), 0.05, 3, True)],
            doc="(self - zero_point) * scale; `wide`: integers that float32 does not hold.")


elementwise("_fused_scale(Tensor self, Tensor scale, Tensor shift) -> Tensor",
            lambda q, scale, shift: fma(q, scale, shift), method=False, inplace=False, out=False,
            backward=None, dtype=lambda promoted, values: (float32, float32),
            samples=lambda make: [(make.integers(3, 4, low=0, high=9), make(3, 1), make(3, 1))],
            doc="self * scale + shift, rounded once: rows of an embedding.")


# ---- what is quantised and brought back at once -------------------------------------------------

def _steps(x: Expr, scale: Expr, zero: Expr) -> Expr:
    return round_half_even(x * (const(1, scale.dtype) / scale)) + zero


def _fake(x: Expr, scale: Expr, zero: Expr, quant_min: int, quant_max: int) -> Expr:
    return (_between(_steps(x, scale, zero), quant_min, quant_max, missing_low=True) - zero) * scale


def _fake_back(grad: Expr, self: Expr, scale: Expr, zero_point: Expr, quant_min: int,
               quant_max: int) -> Expr:
    """Straight through, where nothing was cut off."""
    steps = _steps(self, scale, zero_point)
    inside = (steps >= quant_min) & (steps <= quant_max)
    return where(inside, grad, const(0, grad.dtype))


def _zero_inside(x: Expr, scale: Expr, zero: Expr, quant_min: int, quant_max: int) -> Expr:
    return (zero >= quant_min) & (zero <= quant_max)


def _outside(value: int) -> None:
    raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def _faked(promoted: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
    dtype = values[0].spec.dtype
    if not dtype.is_floating_point:
        raise NotImplementedError('"fake_quantize_tensor_cachemask_kernel_type_handling" not '
                                  f"implemented for '{SCALAR_NAMES[dtype]}'")
    return dtype, dtype


def _fake_name(plan: Any) -> str:
    kind = "" if getattr(plan.values[1], "spec", None) is None else "TensorQparams"
    return f"FakeQuantizePerTensorAffineCachemask{kind}Backward0"


_FAKE: dict[str, Any] = {
    "method": False, "inplace": False, "out": False, "numbers": ("scale", "zero_point"),
    "backward": {"self": _fake_back}, "dtype": _faked, "holds": _zero_inside, "fail": _outside}

elementwise("_fake_quantize(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
            "int quant_max) -> Tensor", _fake, node_name=_fake_name, **_FAKE,
            samples=lambda make: [(make(3, 4), 0.05, 3, 0, 255)])
elementwise("_fake_quantize_channels(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
            "int quant_max) -> Tensor", _fake, **_FAKE,
            node_name="FakeQuantizePerChannelAffineCachemaskBackward0",
            samples=lambda make: [(make(3, 4), make.integers(3, 1, low=1, high=4),
                                   make.integers(3, 1, low=0, high=9), 0, 255)])


def _check_bounds(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def _per_tensor(ops: Any, self: Any, scale: Any, zero_point: Any, quant_min: int,
                quant_max: int) -> Any:
    _check_bounds(quant_min, quant_max)
    refuse_gradient(scale, "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "scale")
    return ops._fake_quantize(self, scale, zero_point, quant_min, quant_max)


def _per_channel(ops: Any, self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int,
                 quant_max: int) -> Any:
    if scale.dtype.name not in ("float32", "bfloat16"):
        raise RuntimeError("Scale must be Float or BFloat16, found "
                           f"{SCALAR_NAMES[scale.dtype]}")
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError("Zero-point must be Int32, Float or Half, found "
                           f"{SCALAR_NAMES[zero_point.dtype]}")
    for value, name in ((scale, "scale"), (zero_point, "zero point")):
        if value.dim() != 1:
            raise RuntimeError(f"{name} should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    _check_bounds(quant_min, quant_max)
    refuse_gradient(scale, "fake_quantize_per_channel_affine_cachemask", "scale")
    shape = [1] * self.dim()
    axis = wrap_dim(axis, self.dim())
    shape[axis] = self.shape[axis]
    if scale.numel() != self.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input "
                           "tensor")
    return ops._fake_quantize_channels(self, ops.reshape(scale, shape),
                                       ops.reshape(zero_point, shape), quant_min, quant_max)


composite("fake_quantize_per_tensor_affine(Tensor self, Tensor|float scale, Tensor|int zero_point, "
          "int quant_min, int quant_max) -> Tensor", _per_tensor, method=False,
          autocast="float32", samples=lambda make: [(make(3, 4), 0.05, 3, 0, 255)],
          doc="(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * "
              "scale; its derivative is 1 where nothing was clamped, else 0.")
composite("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
          "int axis, int quant_min, int quant_max) -> Tensor", _per_channel, method=False,
          doc="As fake_quantize_per_tensor_affine, with a scale and zero point for each index of "
              "`axis`.")


# ---- a linear layer ------------------------------------------------------------------------------

def _choose_affine(least: Expr, most: Expr, low: int, high: int) -> tuple[Expr, Expr]:
    """(scale in float64, zero point) that make integers in [low, high] of a range with 0 in it.

    fbgemm's rule: the zero point is found from the end of the range where it errs less.
    """
    least, most = minimum(least, const(0, float32)), maximum(most, const(0, float32))
    first, last = cast(least, float64), cast(most, float64)
    scale = (last - first) / const(high - low, float64)
    single = cast(scale, float32)
    usable = single > NO_INVERSE
    scale = where(usable, scale, const(0.1, float64))
    small = cast(scale, float32) < SMALLEST_SCALE
    wider = const(SMALLEST_SCALE, float32) / cast(scale, float32)
    span = const(SMALLEST_SCALE, float32) * float(high - low)
    stretched_low = where(least.eq(0), least, where(most.eq(0), -span, least * wider))
    stretched_high = where(least.eq(0), span, where(most.eq(0), most, most * wider))
    first = where(small, cast(stretched_low, float64), first)
    last = where(small, cast(stretched_high, float64), last)
    scale = where(small, cast(const(SMALLEST_SCALE, float32), float64), scale)
    below, above = first / scale, last / scale
    nearer = abs(low) - absolute(below) < abs(high) - absolute(above)
    zero = where(nearer, low - below, high - above)
    return scale, cast(_between(round_half_even(zero), low, high, missing_low=True), float32)


def _unordered(value: int) -> None:
    raise RuntimeError("In ChooseQuantizationParams, min should be less than or equal to max; the "
                       "tensor holds NaN")


def _place(x: Expr) -> Expr:
    """An integer that is ordered as floats are, NaN beyond both infinities.

    The least and the largest of integers take one instruction each, of floats with NaN four.
    """
    return _flipped(bitcast(cast(x, float32), int32))


def _flipped(bits: Expr) -> Expr:
    """Bits of a float as its place in the order, and back again: negative ones in reverse."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


def _range(p: Any, x: Any, low: int, high: int, final: Callable[..., Any], outs: list[Any]
           ) -> None:
    """outs = final(scale in float64, zero point) of the range of all elements of x."""
    p.reduce(("min", "max"), lambda v: (_place(v),) * 2,
             lambda least, most: final(*_chosen(p, least, most, low, high)), x,
             range(x.spec.ndim), outs)


def _chosen(p: Any, least: Expr, most: Expr, low: int, high: int) -> tuple[Expr, Expr]:
    """Scale and zero point of a range between two places; the call fails where one is NaN's."""
    p.check((least >= ~LARGEST_BITS) & (most <= LARGEST_BITS), const(0, int64), _unordered)
    return _choose_affine(*(bitcast(_flipped(end), float32) for end in (least, most)), low, high)


def _affine_range(p: Any, self: Any, low: int, high: int) -> None:
    if self.spec.numel == 0:
        raise RuntimeError("min(): Expected reduction dim to be specified for input.numel() == 0. "
                           "An empty tensor has no range.")
    outs = [p.result(spec(dtype, (), None, p.device)) for dtype in (float64, float32)]
    _range(p, self, low, high, lambda scale, zero: (scale, zero), outs)


rows("_affine_range(Tensor self, int low, int high) -> (Tensor, Tensor)", _affine_range,
     method=False, samples=lambda make: [(make(3, 4), 0, 15), (make(5), -8, 7)],
     doc="Scale (float64) and zero point (float32) of a tensor's range, 0 included.")


def _check_linear(x: Any, features: int) -> None:
    if x.spec.ndim < 2:
        raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
    if x.spec.dtype is not float32:
        raise RuntimeError(f"expected scalar type Float but found {SCALAR_NAMES[x.spec.dtype]}")
    if x.spec.shape[-1] != features:
        raise RuntimeError("The number of rows in the packB should be equal to K: "
                           f"{x.spec.shape[-1]}; the layer takes {features} features")


def _quantized_linear(p: Any, self: Any, weight: Any, bias: Any, inputs: int, outputs: int,
                      top: int) -> None:
    """The range of the input, the input as bytes, the product: two or three stages, one launch."""
    _check_linear(self, inputs)
    *lead, _ = self.spec.shape
    out = p.result(spec(float32, (*lead, outputs), None, p.device))
    added = [bias] if p.is_ref(bias) else []
    if 0 in out.spec.shape:
        return
    if not inputs:
        p.flat(lambda *given: given[0] if given else const(0, float32), added, [out])
        return
    lines, found = bytes_of(p, tuple(self.spec.shape), weight)
    fill_bytes(p, self, lines, found, top)
    p.product_int8(lines, weight, added, found, out)


def check_packed(weight: Any, inputs: int, outputs: int) -> None:
    """Packed weights that have room for so many inputs and outputs; RuntimeError otherwise."""
    panels, groups, lanes, depth = weight.spec.shape
    if (panels, groups - EXTRAS) != (-(-outputs // lanes), -(-inputs // depth)):
        raise RuntimeError("The number of rows in the packB should be equal to K: "
                           f"{inputs}; the packed weights are {list(weight.spec.shape)}")


def bytes_of(p: Any, shape: tuple[int, ...], weight: Any) -> tuple[Any, Any]:
    """Memory for an activation as bytes, as long as the packed weight asks, and for its range."""
    _, groups, _, depth = weight.spec.shape
    # Weights are 0 beyond the inputs, so a line may hold anything there.
    return p.temporary((*shape[:-1], (groups - EXTRAS) * depth), uint8), p.temporary((2,), float32)


def fill_bytes(p: Any, x: Any, lines: Any, found: Any, top: int) -> None:
    """An activation as bytes, by the range of all its elements, and their scale and zero point."""
    one_line = x.spec.numel == x.spec.shape[-1]
    if x.spec.numel <= AT_ONCE and (one_line or x.spec.numel == lines.spec.numel):
        _bytes_at_once(p, x, lines, found, top)
    else:
        _bytes(p, x, lines, found, top)


def _bytes_at_once(p: Any, x: Any, lines: Any, found: Any, top: int) -> None:
    """A few elements quantised by one thread that has just found their range: one stage."""
    flat, size = p.joined(x, x.spec.ndim)

    def body(v: Expr) -> tuple[Expr, ...]:
        scale, zero = _chosen(p, fold("min", _place(v)), fold("max", _place(v)), 0, top)
        single = cast(scale, float32)
        return _in_steps(v, const(1, float32) / single, zero, 0, BYTE, True), single, zero

    goal = lines.seen(((size,), (1,), 0))
    p.rows(body, [flat], [goal, *(part.as_rows() for part in _parts(found))], (), size)


def _bytes(p: Any, x: Any, lines: Any, found: Any, top: int) -> None:
    """The range by all threads, then the bytes row by row."""
    shape = tuple(x.spec.shape)
    parts = _parts(found)
    _range(p, x, 0, top, lambda scale, zero: (cast(scale, float32), zero), parts)
    outer = shape[:-1]
    p.rows(lambda v, scale, zero: _in_steps(v, const(1, float32) / scale, zero, 0, BYTE, True),
           [x, *(part.seen((outer, (0,) * len(outer), 0)).as_rows() for part in parts)],
           [lines.seen((shape, lines.spec.strides, 0))], outer, shape[-1])


def _parts(found: Any) -> list[Any]:
    """Scale and zero point, as the product reads them."""
    return [found.seen(((), (), k)) for k in range(2)]


rows("_quantized_linear(Tensor self, Tensor weight, Tensor? bias, int inputs, int outputs, "
     "int top) -> Tensor", _quantized_linear, kind="contraction", method=False,
     node_name="WarnNotImplemented",
     doc="self @ weights.T + bias, self taken as bytes by the range [0, top], the weights packed.")
