"""Arithmetic: sums, products, quotients, remainders, signs, roots, extremes."""

from __future__ import annotations

from typing import Any

from ..base.errors import underived
from ..core.dtypes import BOOL, FLOATING, SCALAR_NAMES, DType, bool_, int64
from ..loops.complexes import Complex
from ..loops.ir import Expr, const
from ..loops.scalar import (
    absolute, cast, conj, copysign, floor, fma, fmod, idiv, irem, is_complex, isnan, maximum,
    minimum, real, sqrt, trunc, where,
)
from .kinds import composite, elementwise, is_number


def floating(x: Expr) -> bool:
    """Whether an expression is of a floating-point dtype."""
    return x.dtype.category == FLOATING


def unrounded(x: Expr) -> Expr:
    """What `narrow` is for the dtypes that are computed as they are (see `Record.steps`)."""
    return x


def _plus(x: Expr, y: Any, alpha: Any) -> Expr:
    return x | y if x.dtype is bool_ else fma(y, _factor(alpha, x), x)


def _factor(alpha: Any, x: Expr) -> Any:
    """alpha in the dtype of x: as PyTorch, a complex sum multiplies by a complex number."""
    if not is_complex(x) or is_complex(alpha):
        return alpha
    return Complex(alpha, const(0, alpha.dtype), x.dtype)


def _sum_rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    """What alpha may be, which is the last argument."""
    alpha = values[-1]
    if isinstance(alpha, bool) and promoted is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if promoted.category < FLOATING and isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating "
                           "point number.")
    return promoted, promoted


def _no_bool(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    _sum_rule(promoted, values)
    if promoted is bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
            "or `logical_xor()` operator instead.")
    if any(isinstance(v, bool) or getattr(v, "spec", None) and v.spec.dtype is bool_
           for v in values[:2]):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    return promoted, promoted


#: Operators whose tensors may both be numbers, in functions too.
_BOTH = ("self", "other")

add = elementwise(
    "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", _plus, dtype=_sum_rule,
    takes="bifc", numbers=_BOTH,
    backward={"self": lambda grad: grad, "other": lambda grad, alpha: grad * alpha},
    doc="self + alpha * other.")
sub = elementwise(
    "sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    lambda x, y, alpha: fma(-y, _factor(alpha, x), x), dtype=_no_bool, aliases=("subtract",),
    takes="bifc", numbers=_BOTH,
    backward={"self": lambda grad: grad, "other": lambda grad, alpha: -grad * alpha},
    doc="self - alpha * other.", twice="NegBackward0")
rsub = elementwise(
    "rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    lambda x, y, alpha: fma(-x, alpha, y), dtype=_no_bool, inplace=False, out=False,
    node_name=lambda plan: f"RsubBackward{int(plan.operands < 2)}",
    takes="bifc", backward={"self": lambda grad, alpha: -grad * alpha, "other": lambda grad: grad},
    doc="other - alpha * self.", twice="NegBackward0")
mul = elementwise(
    "mul(Tensor self, Tensor other) -> Tensor", lambda x, y: x * y, aliases=("multiply",),
    takes="bifc", numbers=_BOTH, exact=("other",),
    backward={"self": lambda grad, other: grad * other, "other": lambda grad, self: grad * self},
    doc="self * other.")


def _quotient_rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    from ..core.dtypes import default_for

    if values[2] is None and promoted.category < FLOATING:
        promoted = default_for(FLOATING)
    if promoted is bool_:
        raise NotImplementedError(f'"div_{values[2]}_cpu" not implemented for \'Bool\'')
    if values[2] not in (None, "trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
                           f"found '{values[2]}'")
    return promoted, promoted


def _quotient(x: Expr, y: Any, rounding_mode: str | None) -> Expr:
    if rounding_mode is None:
        return x / y
    if is_complex(x):
        raise NotImplementedError(f'"div_{rounding_mode}_cpu" not implemented for '
                                  f"'{SCALAR_NAMES[x.dtype]}'")
    if not floating(x):
        return idiv(x, y) if rounding_mode == "trunc" else floor_quotient(x, y)
    return trunc(x / y) if rounding_mode == "trunc" else floor_quotient(x, y)


def floor_quotient(x: Expr, y: Expr) -> Expr:
    """Division rounded down; for floats exactly rounded from the remainder, as Python's."""
    if not floating(x):
        q, r = idiv(x, y), irem(x, y)
        if not x.dtype.is_signed:
            return q
        return q - cast(r.ne(0) & ((r < 0) ^ (y < 0)), x.dtype)
    r = fmod(x, y)
    q = (x - r) / y
    q = where(r.ne(0) & ((y < 0) ^ (r < 0)), q - 1.0, q)
    down = floor(q)
    down = where(q - down > 0.5, down + 1.0, down)
    down = where(q.eq(0), copysign(const(0, x.dtype), x / y), down)
    return where(y.eq(0), x / y, down)


def _whole_by_zero(x: Expr, y: Expr, *rest: Any) -> Any:
    """Integers divided by zero: refused, where floats give an infinity or NaN."""
    if floating(x) or rest and rest[0] is None:
        return None
    return y.ne(0)


def _zero_division(value: int) -> None:
    raise RuntimeError("ZeroDivisionError")


div = elementwise(
    "div(Tensor self, Tensor other, *, str? rounding_mode=None) -> Tensor", _quotient,
    node_name=lambda plan: f"DivBackward{0 if plan.values[-1] is None else 2}",
    dtype=_quotient_rule, domain={"other": (0.5, 3.0)}, holds=_whole_by_zero, fail=_zero_division,
    aliases=("divide", "true_divide"), takes="bifc", numbers=_BOTH,
    exact=("other",),
    backward={
        "self": lambda grad, other, rounding_mode:
            grad / other if rounding_mode is None else 0,
        "other": lambda grad, self, other, rounding_mode:
            -grad * ((self / other) / other) if rounding_mode is None else 0},
    doc="self / other; rounding_mode 'trunc' or 'floor' rounds the quotient.", twice="DivBackward0")


def no_derivative(name: str) -> Any:
    """The formula of an operator that PyTorch refuses to differentiate, when it is asked to."""
    def formula(grad: Expr) -> Expr:
        raise underived(name)
    return formula


floor_divide = elementwise(
    "floor_divide(Tensor self, Tensor other) -> Tensor", floor_quotient, takes="if",
    numbers=_BOTH, kernel="div_floor_cpu",
    backward=dict.fromkeys(("self", "other"), no_derivative("floor_divide")),
    node_name="NotImplemented",
    domain={"other": (0.5, 3.0)}, holds=_whole_by_zero, fail=_zero_division,
    doc="self / other rounded down.")


def floor_remainder(x: Expr, y: Expr) -> Expr:
    """The remainder with the divisor's sign."""
    r = fmod(x, y) if floating(x) else irem(x, y)
    if not x.dtype.is_signed:
        return r
    return where(r.ne(0) & ((r < 0) ^ (y < 0)), r + y, r)


remainder = elementwise(
    "remainder(Tensor self, Tensor other) -> Tensor", floor_remainder,
    node_name=lambda plan: f"RemainderBackward{int(plan.operands > 1)}",
    takes="if", numbers=_BOTH, domain={"other": (0.7, 3.0)},
    holds=_whole_by_zero, fail=_zero_division,
    backward={"self": lambda grad: grad,
              "other": lambda grad, self, other: -grad * floor_quotient(self, other)},
    doc="self modulo other, with the sign of other.")
fmod_ = elementwise(
    "fmod(Tensor self, Tensor other) -> Tensor",
    lambda x, y: fmod(x, y) if floating(x) else irem(x, y), domain={"other": (0.7, 3.0)},
    node_name=lambda plan: f"FmodBackward{int(plan.operands > 1)}",
    takes="if", holds=_whole_by_zero, fail=_zero_division,
    backward={"self": lambda grad: grad,
              "other": lambda grad, self, other: -grad * trunc(self / other)},
    doc="The remainder of the division rounded to zero; it has the sign of self.")


def _negated(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    if promoted is bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you "
                           "are trying to invert a mask, use the `~` or `logical_not()` operator "
                           "instead.")
    return promoted, promoted


neg = elementwise("neg(Tensor self) -> Tensor", lambda x: -x, dtype=_negated,
                  aliases=("negative",), takes="bifc", backward={"self": lambda grad: -grad},
                  doc="-self.", twice="NegBackward0")


def _positive(ops: Any, self: Any) -> Any:
    if self.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


positive = composite("positive(Tensor self) -> Tensor", _positive, doc="self.")


def sign_of(x: Expr) -> Expr:
    """-1, 0 or 1; NaN stays NaN as 0 does."""
    one = const(1, x.dtype)
    if is_complex(x):
        return where(x.eq(0), 0.0, x / absolute(x))
    if x.dtype is bool_:
        return x
    if not x.dtype.is_signed:
        return where(x > 0, one, const(0, x.dtype))
    made = where(x > 0, one, where(x < 0, const(-1, x.dtype), const(0, x.dtype)))
    return made


def _size_dtype(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    return promoted, promoted.to_real()


abs_ = elementwise("abs(Tensor self) -> Tensor", absolute, aliases=("absolute",),
                   takes="ifc", dtype=_size_dtype, holomorphic=False,
                   backward={"self": lambda grad, self: grad * sign_of(self)}, doc="|self|.")


def _real_sign(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    if promoted.is_complex:
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex "
                                  "numbers. Please use torch.sgn instead.")
    return promoted, promoted


sign = elementwise("sign(Tensor self) -> Tensor", sign_of, dtype=_real_sign, takes="bifc",
                   backward={"self": lambda grad: 0}, doc="-1, 0 or 1.")


def _sgn_grad(grad: Expr, self: Expr, result: Expr) -> Any:
    """Of real numbers 0; the result is kept because PyTorch's formula names it."""
    if not is_complex(self):
        return 0
    size = absolute(self)
    along = real(conj(grad) * self) / (size * size)
    return where(self.eq(0), 0.0, (grad - self * along) / size)


sgn = elementwise("sgn(Tensor self) -> Tensor", sign_of, takes="bifc", holomorphic=False,
                  backward={"self": _sgn_grad},
                  doc="self / |self|, 0 at 0: the sign of real numbers.")
signbit = elementwise("signbit(Tensor self) -> Tensor",
                      lambda x: copysign(const(1, x.dtype), x) < 0 if floating(x) else x < 0,
                      dtype="compare", inplace=False, doc="Whether the sign bit is set.")
copysign_ = elementwise("copysign(Tensor self, Tensor other) -> Tensor", copysign, dtype="float",
                        node_name=lambda plan: f"CopysignBackward{int(is_number(plan, 1))}",
                        backward={"self": lambda grad, self, result:
                                  where(self.eq(0), 0.0, grad * (result / self)),
                                  "other": lambda grad: 0},
                        doc="self with the sign of other.")
square = elementwise("square(Tensor self) -> Tensor", lambda x: x * x, node_name="PowBackward0",
                     dtype=lambda promoted, values: (int64, int64) if promoted is bool_
                     else (promoted, promoted),
                     takes="bifc", backward={"self": lambda grad, self: grad * (self * 2)},
                     doc="self ** 2.")
sqrt_ = elementwise("sqrt(Tensor self) -> Tensor", sqrt, dtype="float", domain=(0.2, 4.0),
                    takes="bifc", backward={"self": lambda grad, result: grad / (result * 2.0)},
                    doc="The square root.", twice="DivBackward0")
rsqrt = elementwise("rsqrt(Tensor self) -> Tensor",
                    lambda x, narrow=unrounded: 1.0 / narrow(sqrt(x)), dtype="float", steps=True,
                    domain=(0.2, 4.0),
                    takes="bifc", backward={"self": lambda grad, result:
                              grad * -0.5 * result * result * result},
                    doc="1 / sqrt(self).")
reciprocal = elementwise("reciprocal(Tensor self) -> Tensor", lambda x: 1.0 / x, dtype="float",
                         domain=(0.5, 3.0),
                         takes="bifc", doc="1 / self.",
                         backward={"self": lambda grad, result: -grad * (result * result)})


# ---- extremes --------------------------------------------------------------------------------

def _half_ties(beats: str) -> Any:
    def of(grad: Expr, mine: Expr, other: Expr) -> Expr:
        loses = mine < other if beats == "gt" else mine > other  # beside a NaN neither does
        return where(mine.eq(other), grad * 0.5, where(loses, 0.0, grad))
    return of


_larger, _smaller = _half_ties("gt"), _half_ties("lt")
maximum_ = elementwise(
    "maximum(Tensor self, Tensor other) -> Tensor", maximum, inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: _larger(grad, self, other),
              "other": lambda grad, self, other: _larger(grad, other, self)},
    twice="MaskedFillBackward0", doc="The larger of two; a NaN wins.")
minimum_ = elementwise(
    "minimum(Tensor self, Tensor other) -> Tensor", minimum, inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: _smaller(grad, self, other),
              "other": lambda grad, self, other: _smaller(grad, other, self)},
    twice="MaskedFillBackward0", doc="The smaller of two; a NaN wins.")
fmax = elementwise(
    "fmax(Tensor self, Tensor other) -> Tensor",
    lambda x, y: where(isnan(x), y, where(isnan(y), x, maximum(x, y))) if floating(x)
    else maximum(x, y), inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: where((self >= other) | isnan(other), grad, 0.0),
              "other": lambda grad, self, other: where((self >= other) | isnan(other), 0.0, grad)},
    twice="MaskedFillBackward0", doc="The larger of two; a number wins over NaN.")
fmin = elementwise(
    "fmin(Tensor self, Tensor other) -> Tensor",
    lambda x, y: where(isnan(x), y, where(isnan(y), x, minimum(x, y))) if floating(x)
    else minimum(x, y), inplace=False, numbers=(),
    backward={"self": lambda grad, self, other: where((self <= other) | isnan(other), grad, 0.0),
              "other": lambda grad, self, other: where((self <= other) | isnan(other), 0.0, grad)},
    twice="MaskedFillBackward0", doc="The smaller of two; a number wins over NaN.")


def _clamped(x: Expr, low: Any, high: Any) -> Expr:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if low is not None:
        x = where(x < low, low, x)
        x = where(isnan(low), low, x) if floating(x) else x
    if high is not None:
        x = where(x > high, high, x)
        x = where(isnan(high), high, x) if floating(x) else x
    return x


def _inside(self: Expr, low: Any, high: Any) -> Expr | None:
    held = None
    if low is not None:
        held = self >= low
    if high is not None:
        held = (self <= high) if held is None else held & (self <= high)
    return held


def _clamp_rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    if promoted is bool_ and None not in values:
        raise NotImplementedError('"clamp_cpu" not implemented for \'Bool\'')
    return promoted, promoted


clamp = elementwise(
    "clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", _clamped,
    numbers=("min", "max"), in_range=True, dtype=_clamp_rule, takes="bif",
    kernel="clamp_scalar_cpu",
    node_name=lambda plan: f"ClampBackward{int(plan.operands < 2)}",
    no_complex="clamp is not supported for complex types",
    samples=lambda make: [(make(3, 4), -1, 1), (make(3, 4), None, 1), (make(3), make(3)),
                          (make(2, 3), make(3, high=0), make(2, 1, low=0)), (make(0, 2), 1)],
    aliases=("clip",),
    backward={"self": lambda grad, self, min, max: where(_inside(self, min, max), grad, 0.0),
              "min": lambda grad, self, min, max: where(
                  self < min if max is None else (self < min) & (min < max), grad, 0.0),
              "max": lambda grad, self, min, max: where(
                  self > max if min is None else (self > max) | (max < min), grad, 0.0)},
    doc="Limited to [min, max]; NaN stays.", twice="WhereBackward0")


def _one_sided(name: str, limited: Any, inside: Any) -> Any:
    """clamp with one bound: by a number or a tensor, each with a node of its own."""
    bound = name[-3:]

    def rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
        if promoted is bool_ and isinstance(values[1], (int, float)):
            raise NotImplementedError(f'"{name}_scalar_cpu" not implemented for \'Bool\'')
        return promoted, promoted

    def held(grad: Any, self: Any, other: Any) -> Any:
        return where(inside(self, other), grad, 0.0)

    def passed(grad: Any, self: Any, other: Any) -> Any:
        return where(inside(self, other), 0.0, grad)

    formulas = {"min": (lambda grad, self, min: held(grad, self, min),
                        lambda grad, self, min: passed(grad, self, min)),
                "max": (lambda grad, self, max: held(grad, self, max),
                        lambda grad, self, max: passed(grad, self, max))}[bound]
    return elementwise(
        f"{name}(Tensor self, Tensor {bound}) -> Tensor", limited, numbers=(bound,), dtype=rule,
        takes="bif", in_range=True, kernel=f"{name}_scalar_cpu",
        no_complex="clamp is not supported for complex types",
        node_name=lambda plan: f"Clamp{bound.title()}Backward{int(plan.operands > 1)}",
        samples=lambda make: [(make(3, 4), 0), (make(3), make(3))],
        backward={"self": formulas[0], bound: formulas[1]}, twice="WhereBackward0",
        doc=f"self, but {bound} where it would be {'less' if bound == 'min' else 'more'}.")


clamp_min = _one_sided("clamp_min", lambda x, low: _clamped(x, low, None),
                       lambda x, low: x >= low)
clamp_max = _one_sided("clamp_max", lambda x, high: _clamped(x, None, high),
                       lambda x, high: x <= high)


# ---- combinations ----------------------------------------------------------------------------

addcmul = elementwise(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    lambda x, a, b, value: x + value * a * b, takes="ifc", kernel="addcmul_cpu_out", numbers=(),
    backward={"self": lambda grad: grad,
              "tensor1": lambda grad, tensor2, value: grad * (tensor2 * value),
              "tensor2": lambda grad, tensor1, value: grad * (tensor1 * value)},
    doc="self + value * tensor1 * tensor2.")


def _no_integer_quotient(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    if all(v.spec.dtype.category < FLOATING for v in values[1:3]):
        raise RuntimeError("Integer division with addcdiv is no longer supported; divide with "
                           "torch.div and add, or convert tensor1 and tensor2 to a float dtype")
    return promoted, promoted


addcdiv = elementwise(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    lambda x, a, b, value: x + value * (a / b), domain={"tensor2": (0.5, 3.0)},
    numbers=(), dtype=_no_integer_quotient,
    takes="bifc", backward={"self": lambda grad: grad,
              "tensor1": lambda grad, tensor2, value: grad * (value / tensor2),
              "tensor2": lambda grad, tensor1, tensor2, value:
                  -grad * (value * tensor1 / (tensor2 * tensor2))},
    doc="self + value * tensor1 / tensor2.")

#: How PyTorch's messages about unequal dtypes call them.
_C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half",
            "bfloat16": "c10::BFloat16", "int64": "long int", "int32": "int", "bool": "bool"}


def _equal_dtypes(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    """lerp promotes nothing: the dtypes of all its tensors must be equal."""
    own = values[0].spec.dtype
    if own.category < FLOATING:
        weight = "scalar" if isinstance(values[2], (int, float, complex)) else "tensor"
        raise NotImplementedError(
            f"\"lerp_kernel_{weight}\" not implemented for '{SCALAR_NAMES[own]}'")
    for name, value in zip(("end", "weight"), values[1:], strict=True):
        given = None if isinstance(value, (int, float, complex)) else value.spec.dtype
        if given is not None and given is not own:
            mine, other = (_C_NAMES.get(d.name, d.name) for d in (own, given))
            raise RuntimeError(f"expected dtype {mine} for `{name}` but got dtype {other}")
    return own, own


lerp = elementwise(
    "lerp(Tensor self, Tensor end, Tensor weight) -> Tensor",
    lambda x, y, w: where(absolute(w) < 0.5, fma(w, y - x, x), fma(y - x, w - 1.0, y)),
    node_name=lambda plan: f"LerpBackward{int(plan.operands > 2)}",
    takes="fc", kernel="lerp_kernel_tensor", numbers=("weight",), dtype=_equal_dtypes,
    backward={"self": lambda grad, weight: grad * (1.0 - weight),
              "end": lambda grad, weight: grad * weight,
              "weight": lambda grad, self, end: grad * (end - self)},
    doc="self + weight * (end - self).")


__all__ = ["BOOL", "add", "div", "mul", "sub"]
