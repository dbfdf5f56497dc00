"""Functions around the normal distribution, entropy, polygamma: `torch.special`.

The start of `ndtri` is Abramowitz and Stegun 26.2.23.
"""

# Names: special_entr special_erfcx special_log_ndtr special_ndtr special_ndtri

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, bfloat16, default_for, float16, float32
from ..loops.elementary.gamma import trigamma
from ..loops.ir import Expr, const
from ..loops.scalar import (
    absolute, erf, erfc, exp, isnan, log, log1p, sqrt, where,
)
from . import bessel_tables as tables
from .bessel import series, special, widened
from .kinds import composite, elementwise, is_number

_HALF_ROOT = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)

# ---- the normal distribution -------------------------------------------------------------------


@widened
def erfcx(x: Expr) -> Expr:
    """exp(x^2) erfc(x)."""
    u = 1.0 / (absolute(x) * 0.3125 + 1.0)
    made = series(tables.ERFCX, u + u - 1.0) * u
    made = where(x < 0, 2.0 * exp(x * x) - made, made)
    return where(isnan(x), x, made)


@widened
def ndtr(x: Expr) -> Expr:
    """The share of a normal distribution below x."""
    t = x * _HALF_ROOT
    return where(absolute(t) < _HALF_ROOT, 0.5 + 0.5 * erf(t), where(
        t > 0, 1.0 - 0.5 * erfc(absolute(t)), 0.5 * erfc(absolute(t))))


@widened
def log_ndtr(x: Expr) -> Expr:
    """The logarithm of `ndtr`, also where that vanishes."""
    t = x * _HALF_ROOT
    return where(x < -1.0, log(erfcx(-t) * 0.5) - t * t, log1p(erfc(t) * -0.5))


@widened
def ndtri(p: Expr) -> Expr:
    """The x with ndtr(x) = p: a rational start, then Newton's steps on the logarithm."""
    upper = p > 0.5
    q = where(upper, 1.0 - p, p)
    inside = (q > 0) & (q <= 0.5)
    q = where(inside, q, 0.25)
    t = sqrt(-2.0 * log(q))
    x = -(t - ((0.010328 * t + 0.802853) * t + 2.515517)
          / (((0.001308 * t + 0.189269) * t + 1.432788) * t + 1.0))
    wanted = log(q)
    for _ in range(4):
        now = log_ndtr(x)
        x = x - (now - wanted) / (_DENSITY * exp(x * x * -0.5 - now))
    x = where(q.eq(0.5), 0.0, x)
    made = where(inside, where(upper, -x, x), math.nan)
    made = where(p.eq(0), -math.inf, where(p.eq(1), math.inf, made))
    return where(isnan(p), p, made)


def _density(x: Expr) -> Expr:
    return _DENSITY * exp(x * x * -0.5)


special("special_erfcx", erfcx, "exp(self ** 2) erfc(self).",
        backward={"self": lambda grad, self, result: grad * (
            2.0 * self * result - 2 / math.sqrt(math.pi))})
special("special_ndtr", ndtr, "The share of a normal distribution below self.",
        halves=True, backward={"self": lambda grad, self: grad * _density(self)},
        node_name="MulBackward1", twice="MulBackward1")
special("special_log_ndtr", log_ndtr, "log(ndtr(self)).",
        backward={"self": lambda grad, self: grad / erfcx(self * -_HALF_ROOT)
                  * math.sqrt(2 / math.pi)})
special("special_ndtri", ndtri, "The inverse of ndtr.", domain=(0.1, 0.9),
        backward={"self": lambda grad, result: grad * exp(result * result * 0.5)
                  * math.sqrt(2 * math.pi)})


def _entr(x: Expr) -> Expr:
    made = where(x > 0, -x * log(where(x > 0, x, 1.0)), where(
        x.eq(0), const(0.0, x.dtype), -math.inf))
    return where(isnan(x), x, made)


special("special_entr", _entr, "-self * log(self), 0 at 0 and -inf below.",
        halves=True, domain=(0.2, 4.0),
        backward={"self": lambda grad, self: grad * -(log(self) + 1.0)})


def _x_log1p(x: Any, y: Any) -> Expr:
    if not isinstance(x, Expr) and not isinstance(y, Expr):
        raise TypeError("special_xlog1py(): at least one of the arguments must be Tensor")
    return where(isnan(y), math.nan, where(x.eq(0), 0.0, x * log1p(y)))


elementwise(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor", _x_log1p, dtype="float", method=False,
    inplace=False, numbers=("self", "other"), domain={"other": (-0.5, 3.0)},
    node_name=lambda plan: "SpecialXlog1PyBackward" + str(
        1 if is_number(plan, 0) else 2 * is_number(plan, 1)),
    backward={"self": lambda grad, self, other: where(
        self.eq(0) & (other <= -1), 0.0, grad * log1p(other)),
        "other": lambda grad, self, other: grad * self / (other + 1.0)},
    doc="self * log1p(other), 0 where self is 0.", twice="MaskedFillBackward0")


# ---- polygamma ---------------------------------------------------------------------------------

elementwise("special_trigamma(Tensor self) -> Tensor", trigamma, dtype="float", method=False,
            inplace=False, numbers=(), domain=(0.5, 4.0), backward="derive",
            doc="The derivative of digamma.")


def _polygamma(ops: Any, n: int, self: Any) -> Any:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return ops.digamma(self)
    if n == 1:
        return ops.special_trigamma(self)
    if self.dtype in (float16, bfloat16):
        return ops.to_dtype(_polygamma(ops, n, ops.to_dtype(self, float32)), self.dtype)
    made = ops.special_zeta(n + 1, self)
    return ops.mul(made, math.factorial(n) * (-1.0 if n % 2 == 0 else 1.0))


composite("polygamma(int n, Tensor self) -> Tensor", _polygamma, method=False, out=True,
          backward={"self": lambda ops, grad, n, self: ops.mul(
              grad, ops.polygamma(n + 1, self))},
          doc="The n-th derivative of digamma.")


def _mvlgamma(ops: Any, self: Any, p: int) -> Any:
    if self.dtype.category == 0:
        raise NotImplementedError("\"mvlgamma\" not implemented for 'Bool'")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype.category < FLOATING:
        self = ops.to_dtype(self, default_for(FLOATING))
    made = ops.sum(ops.lgamma(_half_steps(ops, self, p)), (-1,))
    return ops.add(made, p * (p - 1) * math.log(math.pi) / 4)


def _half_steps(ops: Any, self: Any, p: int) -> Any:
    """self less 0, 1/2, ... (p - 1) / 2, along one dimension more."""
    steps = ops.mul(ops.arange(1 - p, 1, dtype=self.dtype, device=self.device), 0.5)
    return ops.add(steps, ops.unsqueeze(self, -1))


composite("mvlgamma(Tensor self, int p) -> Tensor", _mvlgamma, out=True, inplace=True,
          aliases=("special_multigammaln",), backward={"self": lambda ops, grad, self, p: ops.mul(
              grad, ops.sum(ops.digamma(_half_steps(ops, self, p)), (-1,)))},
          doc="log of the multivariate gamma function of dimension p.")
