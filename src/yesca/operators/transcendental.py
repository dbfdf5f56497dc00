"""Exponentials, logarithms, trigonometric and hyperbolic functions, error and gamma functions."""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING
from ..core.spec import spec
from ..core.memory_formats import kept
from ..loops.complexes import Complex
from ..loops.ir import Expr, cast
from ..loops.scalar import (
    absolute, acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, digamma, erf, erfc, erfinv,
    exp, exp2, expm1, isnan, lgamma, log, log1p, log2, log10, sin, sinh, sqrt, tan, tanh, where,
)
from .arithmetic import unrounded
from .kinds import compute_dtype, elementwise, is_number, rows


def _float(name: str, body: Any, grad: Any, doc: str, **options: Any) -> Any:
    """A function of one float; integers are computed in the default dtype."""
    return elementwise(f"{name}(Tensor self) -> Tensor", body, dtype="float",
                       backward={"self": grad}, doc=doc, **options)


def _analytic(name: str, body: Any, grad: Any, doc: str, **options: Any) -> Any:
    """One that complex numbers have as well."""
    return _float(name, body, grad, doc, takes="bifc", **options)


def _by_place(name: str) -> Any:
    """Nodes of calls in place have a name of their own."""
    return lambda plan: f"{name.title()}Backward{int(plan.inplace)}"


exp_ = _analytic("exp", exp, lambda grad, result: grad * result, "e ** self.")
exp2_ = _analytic("exp2", exp2, lambda grad, result: grad * result * math.log(2), "2 ** self.",
    twice="MulBackward1")
expm1_ = _analytic("expm1", expm1, lambda grad, result: grad * (result + 1.0),
                "e ** self - 1, exact near 0.")
log_ = _analytic("log", log, lambda grad, self: grad / self, "The natural logarithm.",
              domain=(0.2, 4.0), twice="DivBackward0")
log2_ = _analytic("log2", log2, lambda grad, self: grad / (self * math.log(2)),
               "The logarithm to base 2.", domain=(0.2, 4.0), twice="DivBackward0")
log10_ = _analytic("log10", log10, lambda grad, self: grad / (self * math.log(10)),
                "The logarithm to base 10.", domain=(0.2, 4.0), twice="DivBackward0")
log1p_ = _analytic("log1p", log1p, lambda grad, self: grad / (self + 1.0),
                "log(1 + self), exact near 0.", domain=(-0.8, 4.0), twice="DivBackward0")
sin_ = _analytic("sin", sin, lambda grad, self: grad * cos(self), "The sine, of radians.")
cos_ = _analytic("cos", cos, lambda grad, self: -grad * sin(self), "The cosine, of radians.")
tan_ = _analytic("tan", tan, lambda grad, result: grad * (result * result + 1.0),
              "The tangent, of radians.", domain=(-1.2, 1.2))
asin_ = _analytic("asin", asin, lambda grad, self: grad / sqrt(1.0 - self * self),
               "The inverse sine.", aliases=("arcsin",), domain=(-0.9, 0.9))
acos_ = _analytic("acos", acos, lambda grad, self: -grad / sqrt(1.0 - self * self),
               "The inverse cosine.", aliases=("arccos",), domain=(-0.9, 0.9))
atan_ = _analytic("atan", atan, lambda grad, self: grad / (self * self + 1.0),
               "The inverse tangent.", aliases=("arctan",), twice="DivBackward0")
sinh_ = _analytic("sinh", sinh, lambda grad, self: grad * cosh(self), "The hyperbolic sine.")
cosh_ = _analytic("cosh", cosh, lambda grad, self: grad * sinh(self), "The hyperbolic cosine.")
tanh_ = _analytic("tanh", tanh, lambda grad, result: grad * (1.0 - result * result),
               "The hyperbolic tangent.", twice="TanhBackwardBackward0")
asinh_ = _analytic("asinh", asinh, lambda grad, self: grad / sqrt(self * self + 1.0),
                "The inverse hyperbolic sine.",
                node_name=_by_place("asinh"), aliases=("arcsinh",))
acosh_ = _analytic("acosh", acosh, lambda grad, self: grad / sqrt(self * self - 1.0),
                "The inverse hyperbolic cosine.",
                node_name=_by_place("acosh"), aliases=("arccosh",), domain=(1.2, 4.0))
atanh_ = _analytic("atanh", atanh, lambda grad, self: grad / (1.0 - self * self),
                "The inverse hyperbolic tangent.",
                node_name=_by_place("atanh"), aliases=("arctanh",), domain=(-0.9, 0.9),
                twice="DivBackward0")
erf_ = _float("erf", erf, lambda grad, self:
              grad * (2.0 / math.sqrt(math.pi)) * exp(-(self * self)), "The error function.")
erfc_ = _float("erfc", erfc, lambda grad, self:
               -grad * (2.0 / math.sqrt(math.pi)) * exp(-(self * self)), "1 - erf(self).")
erfinv_ = _float("erfinv", erfinv, lambda grad, self:
                 grad * (math.sqrt(math.pi) / 2.0) * exp(erfinv(self) * erfinv(self)),
                 "The inverse of the error function.", domain=(-0.9, 0.9))
lgamma_ = _float("lgamma", lgamma, lambda grad, self: grad * digamma(self),
                 "log |gamma(self)|.", domain=(0.5, 4.0))
digamma_ = elementwise("digamma(Tensor self) -> Tensor", digamma, dtype="float",
                       aliases=("psi",), domain=(0.5, 4.0), backward="derive",
                       doc="The derivative of lgamma.")
sinc = _analytic("sinc", lambda x: where(x.eq(0), 1.0, sin(x * math.pi) / (x * math.pi)),
              lambda grad, self: where(self.eq(0), 0.0, grad * (
                  (math.pi * self * cos(math.pi * self) - sin(math.pi * self))
                  / (math.pi * (self * self)))), "sin(pi x) / (pi x), 1 at 0.",
                twice="WhereBackward0")


def _turn(x: Expr, a: Expr, b: Expr) -> Expr:
    """x / (a ** 2 + b ** 2), 0 at the origin."""
    square = a * a + b * b
    return where(square.eq(0), 0.0, x / square)


atan2_ = elementwise(
    "atan2(Tensor self, Tensor other) -> Tensor", atan2, dtype="float", aliases=("arctan2",),
    numbers=(),
    backward={"self": lambda grad, self, other: grad * _turn(other, self, other),
              "other": lambda grad, self, other: grad * -_turn(self, self, other)},
    doc="The angle of the point (other, self).")
hypot = elementwise(
    "hypot(Tensor self, Tensor other) -> Tensor", lambda x, y: _hypot(x, y), takes="f", numbers=(),
    backward={"self": lambda grad, self, result: grad * (self / result),
              "other": lambda grad, other, result: grad * (other / result)},
    doc="sqrt(self ** 2 + other ** 2) without overflow.", twice="DivBackward0")


def _hypot(x: Expr, y: Expr) -> Expr:
    from ..loops.scalar import absolute, maximum, minimum

    a, b = absolute(x), absolute(y)
    big, small = maximum(a, b), minimum(a, b)
    ratio = where(big.eq(0), 0.0, small / big)
    made = big * sqrt(ratio * ratio + 1.0)
    infinite = a.eq(float("inf")) | b.eq(float("inf"))
    return where(infinite, float("inf"), made)


def sigmoid_of(x: Expr) -> Expr:
    """1 / (1 + e ** -x)."""
    return 1.0 / (exp(-x) + 1.0)


sigmoid = _analytic("sigmoid", sigmoid_of, lambda grad, result: grad * (1.0 - result) * result,
                 "1 / (1 + e ** -self).", aliases=("expit",), twice="SigmoidBackwardBackward0")


def _logit(x: Expr, eps: Any) -> Expr:
    if eps is None:
        return log(x / (1.0 - x))
    low, high = eps, 1.0 - eps
    z = where(x < low, low, where(x > high, high, x))
    return log(z / (1.0 - z))


def _logit_grad(grad: Expr, self: Expr, eps: Any) -> Expr:
    made = grad / absolute(self * (1.0 - self))  # infinite at -0 too as it is at 0
    if eps is None:
        return where((self < 0.0) | (self > 1.0), float("nan"), made)
    return where((self < eps) | (self > 1.0 - eps), 0.0, made)


logit = elementwise("logit(Tensor self, float? eps=None) -> Tensor", _logit, dtype="float",
                    backward={"self": _logit_grad}, domain=(0.1, 0.9),
                    doc="log(self / (1 - self)).", twice="WhereBackward0")


def _soft_sum(x: Expr, y: Expr, base: Any, inverse: Any) -> Expr:
    from ..loops.scalar import absolute, is_complex, maximum, minimum, real

    if is_complex(x):
        first = real(x) >= real(y)
        big, small = where(first, x, y), where(first, y, x)
        return where(big.eq(small) & absolute(real(big)).eq(float("inf")), big,
                     big + inverse(base(small - big)))
    big, small = maximum(x, y), minimum(x, y)
    same = big.eq(small) & absolute(big).eq(float("inf"))
    return where(same, big, big + inverse(base(small - big)))


def _share(mine: str) -> Any:
    def formula(grad: Expr, self: Expr, other: Expr) -> Expr:
        apart = other - self if mine == "self" else self - other
        return grad / (exp(apart) + 1.0)
    return formula


logaddexp = elementwise(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    lambda x, y: _soft_sum(x, y, exp, log1p), takes="fc", inplace=False, numbers=(),
    backward={"self": _share("self"), "other": _share("other")},
    doc="log(e ** self + e ** other).", twice="DivBackward0")
logaddexp2 = elementwise(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    lambda x, y: _soft_sum(x, y, exp2, lambda t: log1p(t) * (1.0 / math.log(2))), inplace=False,
    takes="f",
    numbers=(),
    backward={"self": lambda grad, self, other: grad / (exp2(other - self) + 1.0),
              "other": lambda grad, self, other: grad / (exp2(self - other) + 1.0)},
    doc="log2(2 ** self + 2 ** other).", twice="DivBackward0")


def _x_log(function: Any) -> Any:
    def body(x: Expr, y: Expr, narrow: Any = unrounded) -> Expr:
        made = where(x.eq(0), 0.0, x * narrow(function(y)))
        return where(isnan(y), float("nan"), made)
    return body


xlogy = elementwise(
    "xlogy(Tensor self, Tensor other) -> Tensor", _x_log(log), dtype="float", steps=True,
    numbers=("self", "other"), domain={"other": (0.2, 3.0)},
    node_name=lambda plan: f"XlogyBackward{is_number(plan, 0) + 2 * is_number(plan, 1)}",
    backward={"self": lambda grad, self, other: where(
        self.eq(0) & (other <= 0), 0.0, grad * log(other)),
        "other": lambda grad, self, other: grad * self / other},
    doc="self * log(other), 0 where self is 0.", twice="MaskedFillBackward0")
deg2rad = _float("deg2rad", lambda x: x * (math.pi / 180), lambda grad: grad * (math.pi / 180),
                 "Degrees to radians.", strides=kept, twice="MulBackward1")
rad2deg = _float("rad2deg", lambda x: x * (180 / math.pi), lambda grad: grad * (180 / math.pi),
                 "Radians to degrees.", strides=kept, twice="MulBackward1")


_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38,
            "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


def _nan_to_num(p: Any, self: Any, nan: Any, posinf: Any, neginf: Any) -> None:
    dtype = self.spec.dtype
    made = p.result(spec(dtype, self.spec.shape, kept(self.spec),
                         p.device))
    wide = compute_dtype(dtype)

    def body(load: Any) -> Any:
        x = cast(load, wide)
        if dtype.category < FLOATING:
            return x
        if dtype.category > FLOATING:
            return Complex(finite(x.re), finite(x.im), dtype)
        return finite(x)

    def finite(x: Expr) -> Expr:
        top = _LARGEST[dtype.to_real().name]
        inf = float("inf")
        x = where(isnan(x), 0.0 if nan is None else p.argument(1, x.dtype), x)
        x = where(x.eq(inf), top if posinf is None else p.argument(2, x.dtype), x)
        return where(x.eq(-inf), -top if neginf is None else p.argument(3, x.dtype), x)

    p.flat(body, [self], [made])


rows("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
     _nan_to_num, kind="map", takes="bifc", out=True, inplace=True,
     backward={"self": lambda ops, grad, self: ops.select_where(ops.isfinite(self), grad, 0.0)},
     doc="NaN and infinities replaced by numbers.")

__all__ = ["sigmoid_of"]
