"""Powers: of tensors and numbers, and the fixed ones that need no logarithm."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, bool_
from ..loops.ir import Expr, const
from ..loops.scalar import imag, is_complex, log, power, real, sqrt, where
from .kinds import composite, elementwise


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
    node_name="PowBackward0",
    backward={"self": _power_base_grad, "exponent": _power_exponent_grad}, method=False,
    out=False, domain={"self": (0.3, 3.0), "exponent": (0.0, 3.0)},
    numbers=("exponent",))


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


def _pow(ops: Any, self: Any, exponent: Any) -> Any:
    if not ops.is_tensor(self):
        return ops.pow_general(ops.scalar_tensor(self, exponent), exponent)
    if isinstance(exponent, (int, float)) and exponent in _PLAIN_EXPONENTS:
        floats = self.dtype.category >= FLOATING
        if floats or (isinstance(exponent, int) and exponent >= 0 and self.dtype is not bool_):
            return ops.pow_fixed(self, exponent)
    if isinstance(exponent, int) and exponent < 0 and self.dtype.category < FLOATING:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return ops.pow_general(self, exponent)


pow_ = composite("pow(Tensor self, Tensor exponent) -> Tensor", _pow, inplace=True, out=True,
                 samples=lambda make: [(make(3, 4), 2), (make(2, 3, low=0.3), 0.7 if
                                       make.dtype.startswith(("f", "b")) else 5),
                                       (make(2, 3, low=0.3), make(3, low=0.2)),
                                       (make(low=0.5), make(2, low=0.2))],
                 doc="self ** exponent.")
