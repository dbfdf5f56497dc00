"""Parts of floating point numbers: neighbours, mantissa and exponent, steps, wide powers."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import (
    FLOATING, INTEGRAL, SCALAR_NAMES, DType, bfloat16, bool_, complex128, float16, float32, float64,
    int16, int32, int64,
)
from ..core.memory_formats import pointwise
from ..core.spec import spec
from ..loops.ir import Expr, bitcast, cast, const
from ..loops.scalar import absolute, exp2, trunc, where
from .arithmetic import no_derivative
from .kinds import composite, compute_dtype, elementwise, rows

# ---- neighbours ------------------------------------------------------------------------------

#: dtype -> (integers of its size, the bits of its infinity)
_BITS = {float16: (int16, 0x7C00), bfloat16: (int16, 0x7F80), float32: (int32, 0x7F800000),
         float64: (int64, 0x7FF0000000000000)}


def _magnitude(x: Expr) -> Expr:
    return x & ((1 << (8 * x.dtype.itemsize - 1)) - 1)


def _next_bits(x: Expr, y: Expr, infinity: int) -> Expr:
    """The neighbour's bits; without their sign, bits of floats are ordered as the floats are."""
    size, other = _magnitude(x), _magnitude(y)
    mine, theirs = where(x < 0, -size, size), where(y < 0, -other, other)
    sign = y & -(1 << (8 * x.dtype.itemsize - 1))
    step = where((theirs > mine) ^ (x < 0), x + 1, x - 1)
    made = where(size.eq(0), sign | 1, step)
    made = where(mine.eq(theirs), y, made)
    return where(size > infinity, x, where(other > infinity, y, made))


elementwise("next_bits(Tensor self, Tensor other, int infinity) -> Tensor", _next_bits,
            takes="i", method=False, inplace=False, out=False, numbers=(),
            samples=lambda make: [(make.integers(5, low=-90, high=90).to(int32),
                                   make.integers(5, low=-90, high=90).to(int32), 0x7F800000)],
            doc="The next float's bits on the way from self to other, both given as bits.")


def _check_tensors(ops: Any, name: str, *values: Any) -> None:
    for position, value in enumerate(values):
        if not ops.is_tensor(value):
            raise TypeError(f"{name}(): argument '{('input', 'other')[position]}' (position "
                            f"{position + 1}) must be Tensor, not {type(value).__name__}")


def _nextafter(ops: Any, self: Any, other: Any) -> Any:
    _check_tensors(ops, "nextafter", self, other)
    dtype = ops.result_type(self, other)
    if dtype not in _BITS:
        raise NotImplementedError(
            f"\"nextafter_cpu\" not implemented for '{SCALAR_NAMES[dtype]}'")
    bits, infinity = _BITS[dtype]
    mine, theirs = (ops.view(ops.to_dtype(v.detach(), dtype) if v.dtype is not dtype
                             else v.detach(), (bits,)) for v in (self, other))
    made = ops.view(ops.next_bits(mine, theirs, infinity), (dtype,))
    if ops.has_derivative(self, other):
        return ops.stepped(self, other, made)
    return made


elementwise("stepped(Tensor self, Tensor other, Tensor made) -> Tensor", lambda x, y, made: made,
            takes="f", numbers=(), method=False, inplace=False, out=False,
            node_name="NextafterBackward0",
            backward={"self": lambda grad, self, other: where(self.eq(other), 0.0, grad),
                      "other": lambda grad: 0, "made": lambda grad: 0},
            doc="The neighbours `made` with their slopes: 1 where they differ from other.")


composite("nextafter(Tensor self, Tensor other) -> Tensor", _nextafter, inplace=True, out=True,
          samples=lambda make: [(make(5), make(5)), (make(3, 1), make(4))],
          doc="The next representable number after self in the direction of other.")

# ---- mantissa and exponent -------------------------------------------------------------------

#: dtype -> (integers of its size, bits of its fraction, bias that puts mantissas into [0.5, 1))
_LAYOUTS = {float32: (int32, 23, 126), float64: (int64, 52, 1022)}


def _halves(x: Expr) -> tuple[Expr, Expr]:
    """x = mantissa * 2 ** exponent with 0.5 <= |mantissa| < 1."""
    whole, fraction, bias = _LAYOUTS[x.dtype]
    ones = (1 << 8 * x.dtype.itemsize - 1 - fraction) - 1
    # A subnormal number has no exponent of its own: it is made a normal one first.
    tiny = ((bitcast(x, whole) >> fraction) & ones).eq(0)
    bits = bitcast(where(tiny, x * 2.0 ** (fraction + 1), x), whole)
    field = (bits >> fraction) & ones
    odd = x.eq(0) | field.eq(ones)  # zero, infinite or NaN: itself
    kept = (bits & ~(ones << fraction)) | (bias << fraction)
    exponent = field - bias - where(tiny, const(fraction + 1, whole), const(0, whole))
    return where(odd, x, bitcast(kept, x.dtype)), where(odd, const(0, whole), exponent)


def _frexp(p: Any, self: Any) -> None:
    dtype = self.spec.dtype
    if dtype.category != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    shape = tuple(self.spec.shape)
    strides = pointwise([self.spec], shape)
    made = [p.result(spec(d, shape, strides, p.device)) for d in (dtype, int32)]
    p.flat(lambda x: _halves(cast(x, compute_dtype(dtype))), [self], made)


rows("frexp_parts(Tensor self) -> (Tensor, Tensor)", _frexp, method=False, carriers=1,
     node_name="FrexpBackward0", backward={"self": lambda ops, grads, result1: ops.ldexp_whole(
         grads[0], ops.neg(result1))})
composite("frexp(Tensor self) -> (Tensor, Tensor)",
          lambda ops, self: ops.named("frexp", ops.frexp_parts(self)), out=True,
          doc="mantissa and exponent: self = mantissa * 2 ** exponent.")


def _scaled(x: Expr, power: Expr) -> Expr:
    """In three steps, so that no power of two overflows where the result does not."""
    third = trunc(power * (1.0 / 3.0))
    step = exp2(third)
    made = x * step * step * exp2(power - third * 2.0)
    return where(x.eq(0) | ~(absolute(x) < float("inf")), x, made)


elementwise("ldexp_whole(Tensor self, Tensor other) -> Tensor", _scaled, takes="f", method=False,
            inplace=False, out=False, numbers=(), node_name="LdexpBackward0",
            samples=lambda make: [(make(5), make.integers(5, low=-3, high=4))],
            backward={"self": lambda grad, other: _scaled(grad, other)},
            doc="self * 2 ** other for integers `other`, exactly rounded once.")


def _ldexp(ops: Any, self: Any, other: Any) -> Any:
    _check_tensors(ops, "ldexp", self, other)
    if other.dtype.category <= INTEGRAL and self.dtype.is_floating_point:
        return ops.ldexp_whole(self, other)
    return ops.mul(self, ops.pow(2.0, other))


composite("ldexp(Tensor self, Tensor other) -> Tensor", _ldexp, inplace=True, out=True,
          overlap="any", samples=lambda make: [(make(5), make.integers(5, low=-3, high=4))],
          doc="self * 2 ** other.")

# ---- powers and steps ------------------------------------------------------------------------


def _wide_operands(ops: Any, self: Any, exponent: Any) -> Any:
    """Base and exponent in double precision."""
    both = (self, exponent)
    if not (ops.is_tensor(self) or ops.is_tensor(exponent)):
        raise TypeError("float_power(): argument 'exponent' (position 2) must be Tensor, not "
                        f"{type(exponent).__name__}")
    wide = complex128 if any(v.dtype.is_complex if ops.is_tensor(v) else isinstance(v, complex)
                             for v in both) else float64
    return wide, *(v if not ops.is_tensor(v) or v.dtype is wide else ops.to_dtype(v, wide)
                   for v in both)


def _float_power(ops: Any, self: Any, exponent: Any) -> Any:
    _, base, power = _wide_operands(ops, self, exponent)
    return ops.pow(base, power)


def _float_power_(ops: Any, self: Any, exponent: Any) -> Any:
    wide, base, power = _wide_operands(ops, self, exponent)
    if wide is not self.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {SCALAR_NAMES[self.dtype]} but the "
            f"operation's result requires dtype {SCALAR_NAMES[wide]}")
    return ops.pow_(base, power)


composite("float_power(Tensor self, Tensor exponent) -> Tensor", _float_power, out=True,
          numbers=("self", "exponent"),
          autocast="float32", samples=lambda make: [
              (make(3, 4, low=0.2, high=3.0), 2), (make(3, low=0.2, high=3.0), make(3))],
          doc="self ** exponent in float64 (complex128 where one is complex).")
composite("float_power_(Tensor self, Tensor exponent) -> Tensor", _float_power_, function=False,
          numbers=("exponent",),
          samples=lambda make: [(make(3, 4, low=0.2, high=3.0).to(float64), 2)],
          doc="float_power in place, for float64 and complex128.")


def _step_dtypes(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    first, second = (v.spec.dtype for v in values)
    if first.is_complex or second.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if first is not second:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return promoted, promoted


def _step(x: Expr, values: Expr) -> Expr:
    if x.dtype is bool_:
        return x | values
    return where(x.eq(0), values, cast(x > 0, x.dtype))


elementwise("heaviside(Tensor self, Tensor values) -> Tensor", _step, dtype=_step_dtypes,
            numbers=(), takes="bifc", node_name="NotImplemented",
            backward=dict.fromkeys(("self", "values"), no_derivative("heaviside")),
            doc="0 below zero, 1 above, `values` at zero.")

