"""Powers, by tensors, numbers and fixed exponents; rounding."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, INTEGRAL, bool_
from ..loops.ir import Expr, const
from ..loops.scalar import (
    ceil, floor, imag, is_complex, log, power, real, round_half_even, sqrt, trunc, where,
)
from .arithmetic import floating
from .kinds import composite, elementwise, is_number


def _power(x: Expr, y: Expr) -> Expr:
    return (x | ~y) if x.dtype is bool_ else power(x, y)


def _power_base_grad(grad: Expr, self: Expr, exponent: Expr) -> Expr:
    return where(exponent.eq(0), 0.0, grad * (exponent * power(self, exponent - 1.0)))


def _power_exponent_grad(grad: Expr, self: Expr, exponent: Expr, result: Expr) -> Expr:
    flat = self.eq(0) & (real(exponent) >= 0)
    if is_complex(exponent):
        flat = flat & imag(exponent).eq(0)
    return where(flat, 0.0, grad * (result * log(self)))


pow_tensor = elementwise(
    "pow_general(Tensor self, Tensor exponent) -> Tensor", _power, takes="ifc", kernel="pow",
    node_name=lambda plan: f"PowBackward{1 if plan.operands > 1 else 2 * is_number(plan, 0)}",
    backward={"self": _power_base_grad, "exponent": _power_exponent_grad}, method=False,
    out=False, domain={"self": (0.3, 3.0), "exponent": (0.0, 3.0)},
    numbers=("self", "exponent"))


def _fixed_power(x: Expr, exponent: float) -> Expr:
    if exponent == 0:
        return const(1, x.dtype)
    if exponent == 1:
        return x
    if exponent == 2:
        return x * x
    if exponent == 3:
        return x * x * x
    if exponent == 0.5:
        return sqrt(x)
    if exponent == -0.5:
        return 1.0 / sqrt(x)
    return 1.0 / x if exponent == -1 else 1.0 / (x * x)


def _fixed_power_grad(grad: Expr, self: Expr, exponent: float) -> Any:
    if exponent == 0:
        return 0
    return grad * (_fixed_power_any(self, exponent - 1) * exponent)


def _fixed_power_any(x: Expr, exponent: float) -> Expr:
    if exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2):
        return _fixed_power(x, exponent)
    return power(x, const(exponent, x.dtype))


pow_fixed = elementwise(
    "pow_fixed(Tensor self, any exponent) -> Tensor", _fixed_power, node_name="PowBackward0",
    takes="bifc", backward={"self": _fixed_power_grad}, method=False, out=False,
    samples=lambda make: [(make(3, 4), 2), (make(2, 3), 3), (make(5, low=0.5, high=3), 1),
                          (make(), 0)])

_PLAIN_EXPONENTS = (0, 1, 2, 3, 0.5, -0.5, -1, -2)


def _wrapped(number: int, dtype: Any) -> int:
    """An int as the integer dtype that it meets has it."""
    if dtype.category != INTEGRAL:
        return number
    bits = 8 * dtype.itemsize
    rest = number % (1 << bits)
    return rest - (1 << bits) if dtype.is_signed and rest >> (bits - 1) else rest


def _power_of(inplace: bool) -> Any:
    general, fixed = ("pow_general_", "pow_fixed_") if inplace else ("pow_general", "pow_fixed")

    def body(ops: Any, self: Any, exponent: Any) -> Any:
        if not ops.is_tensor(self):
            if not ops.is_tensor(exponent):
                raise TypeError(
                    "pow() received an invalid combination of arguments - got "
                    f"({type(self).__name__}, {type(exponent).__name__}); at least one of them "
                    "must be a Tensor")
            base = _wrapped(self, exponent.dtype) if isinstance(self, int) else self
            exponent = ops.contiguous(exponent)  # as the powers of a number are
            return ops.pow_general(base, exponent)
        if isinstance(exponent, bool) and self.dtype is bool_:
            return getattr(ops, fixed)(self, int(exponent))
        if isinstance(exponent, (int, float)) and exponent in _PLAIN_EXPONENTS:
            floats = self.dtype.category >= FLOATING
            if floats or (isinstance(exponent, int) and exponent >= 0 and self.dtype is not bool_):
                return getattr(ops, fixed)(self, exponent)
        if isinstance(exponent, int) and exponent < 0 and self.dtype.category < FLOATING:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return getattr(ops, general)(self, exponent)
    return body


pow_ = composite("pow(Tensor self, Tensor exponent) -> Tensor", _power_of(False), out=True,
                 numbers=("self", "exponent"),
                 samples=lambda make: [(make(3, 4), 2), (make(2, 3, low=0.3), 0.7 if
                                       make.dtype.startswith(("f", "b")) else 5),
                                       (make(2, 3, low=0.3), make(3, low=0.2)),
                                       (make(low=0.5), make(2, low=0.2))],
                 doc="self ** exponent.")
composite("pow_(Tensor self, Tensor exponent) -> Tensor", _power_of(True), function=False,
          numbers=("exponent",),
          samples=lambda make: [(make(3, 4), 2), (make(2, 3, low=0.3), make(3, low=0.2))],
          doc="self ** exponent, in place.")


# ---- rounding --------------------------------------------------------------------------------

def _rounding(function: Any) -> Any:
    return lambda x, *rest: function(x) if floating(x) else x


def _rounded_by(name: str, function: Any, doc: str, **options: Any) -> Any:
    return elementwise(f"{name}(Tensor self) -> Tensor", _rounding(function), takes="if",
                       kernel=f"{name}_vml_cpu", backward={"self": lambda grad: 0}, doc=doc,
                       no_complex=f"{name} is not supported for complex inputs", **options)


floor_ = _rounded_by("floor", floor, "Rounded down.")
ceil_ = _rounded_by("ceil", ceil, "Rounded up.")
trunc_ = _rounded_by("trunc", trunc, "Rounded to zero.", aliases=("fix",))


def _round(x: Expr, decimals: int) -> Expr:
    if not floating(x):
        return x
    if decimals == 0:
        return round_half_even(x)
    scale = 10.0 ** abs(decimals)
    return round_half_even(x * scale) / scale if decimals > 0 \
        else round_half_even(x / scale) * scale


round_ = elementwise("round(Tensor self, *, int decimals=0) -> Tensor", _round,
                     node_name=lambda plan: f"RoundBackward{int(plan.values[1] != 0)}",
                     takes="if",
                     kernel="round_vml_cpu",
                     no_complex="round is not supported for complex inputs",
                     backward={"self": lambda grad: 0}, doc="Rounded to nearest, ties to even.")
frac = elementwise("frac(Tensor self) -> Tensor", lambda x: x - trunc(x),
                   takes="f",
                   backward={"self": lambda grad: grad}, doc="self - trunc(self).")
