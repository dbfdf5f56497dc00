"""Operators that work on every element by itself."""

from __future__ import annotations

import math
from typing import Any

from ...core.dtypes import bool_, float32, float64, int64
from .._building import Graph
from .._tracing import Step, Value
from . import row

_UNARY = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "neg": "Neg", "abs": "Abs", "reciprocal": "Reciprocal", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf",
    "floor": "Floor", "ceil": "Ceil", "sign": "Sign", "selu": "Selu", "hardswish": "HardSwish",
    "_hardswish": "HardSwish", "softsign": "Softsign",
}
_BINARY = {"mul": "Mul", "maximum": "Max", "minimum": "Min"}
_COMPARED = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
             "ge": "GreaterOrEqual"}
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "bitwise_and": "And",
            "bitwise_or": "Or", "bitwise_xor": "Xor"}


@row(*_UNARY)
def _unary(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    return g.op(_UNARY[s.name], g.operand(x, s.dtype))


@row(*_BINARY)
def _binary(g: Graph, s: Step, x: Any, y: Any) -> str:
    if s.name == "mul" and s.dtype is bool_:
        return g.op("And", g.operand(x), g.operand(y, bool_))
    return g.op(_BINARY[s.name], g.operand(x, s.dtype), g.operand(y, s.dtype))


@row("add", "sub", "rsub")
def _sum(g: Graph, s: Step, x: Any, y: Any, alpha: Any = 1) -> str:
    left, right = (y, x) if s.name == "rsub" else (x, y)
    if alpha != 1:
        scaled = g.op("Mul", g.operand(x if s.name == "rsub" else y, s.dtype),
                      g.operand(alpha, s.dtype))
        names = (g.operand(left, s.dtype), scaled)
        return g.op("Add" if s.name == "add" else "Sub", *names)
    if s.dtype is bool_:
        return g.op("Or", g.operand(left, bool_), g.operand(right, bool_))
    return g.op("Add" if s.name == "add" else "Sub", g.operand(left, s.dtype),
                g.operand(right, s.dtype))


@row("div")
def _div(g: Graph, s: Step, x: Any, y: Any, rounding_mode: str | None = None) -> str:
    if rounding_mode == "floor":
        return _floor_divide(g, s, x, y)
    whole = not s.dtype.is_floating_point
    made = g.op("Div", g.operand(x, s.dtype), g.operand(y, s.dtype))
    if rounding_mode == "trunc" and not whole:
        made = _trunc(g, s, made)
    return made


@row("floor_divide")
def _floor_divide(g: Graph, s: Step, x: Any, y: Any) -> str:
    left, right = g.operand(x, s.dtype), g.operand(y, s.dtype)
    if s.dtype.is_floating_point:
        return g.op("Floor", g.op("Div", left, right))
    return g.op("Div", g.op("Sub", left, g.op("Mod", left, right)), right)


@row("remainder")
def _remainder(g: Graph, s: Step, x: Any, y: Any) -> str:
    left, right = g.operand(x, s.dtype), g.operand(y, s.dtype)
    if not s.dtype.is_floating_point:
        return g.op("Mod", left, right)
    return g.op("Sub", left, g.op("Mul", right, g.op("Floor", g.op("Div", left, right))))


@row("fmod")
def _fmod(g: Graph, s: Step, x: Any, y: Any) -> str:
    return g.op("Mod", g.operand(x, s.dtype), g.operand(y, s.dtype), fmod=1)


@row("trunc")
def _trunc_row(g: Graph, s: Step, x: Value) -> str:
    return _trunc(g, s, g.operand(x))


def _trunc(g: Graph, s: Step, name: str) -> str:
    return g.op("Mul", g.op("Sign", name), g.op("Floor", g.op("Abs", name)))


@row("frac")
def _frac(g: Graph, s: Step, x: Value) -> str:
    return g.op("Sub", g.operand(x), _trunc(g, s, g.operand(x)))


@row("addcmul", "addcdiv")
def _add_product(g: Graph, s: Step, x: Value, a: Value, b: Value, value: Any = 1) -> str:
    made = g.op("Mul" if s.name == "addcmul" else "Div", g.operand(a, s.dtype),
                g.operand(b, s.dtype))
    return g.op("Add", g.operand(x, s.dtype), g.op("Mul", made, g.operand(value, s.dtype)))


@row("lerp")
def _lerp(g: Graph, s: Step, x: Value, end: Value, weight: Any) -> str:
    away = g.op("Sub", g.operand(end, s.dtype), g.operand(x, s.dtype))
    return g.op("Add", g.operand(x, s.dtype), g.op("Mul", away, g.operand(weight, s.dtype)))


@row("round")
def _round(g: Graph, s: Step, x: Value, decimals: int = 0) -> str:
    if decimals:
        raise g.unable(f"decimals={decimals}")
    return g.op("Round", g.operand(x))


@row("pow", "pow_general")
def _pow(g: Graph, s: Step, x: Any, y: Any) -> str:
    return g.op("Pow", g.operand(x, s.dtype), g.operand(y, s.dtype))


@row("square")
def _square(g: Graph, s: Step, x: Value) -> str:
    name = g.operand(x)
    return g.op("Mul", name, name)


@row("rsqrt")
def _rsqrt(g: Graph, s: Step, x: Value) -> str:
    return g.op("Reciprocal", g.op("Sqrt", g.operand(x, s.dtype)))


@row("exp2")
def _exp2(g: Graph, s: Step, x: Value) -> str:
    return g.op("Pow", g.operand(2.0, s.dtype), g.operand(x, s.dtype))


@row("expm1")
def _expm1(g: Graph, s: Step, x: Value) -> str:
    return g.op("Sub", g.op("Exp", g.operand(x, s.dtype)), g.operand(1.0, s.dtype))


@row("log1p")
def _log1p(g: Graph, s: Step, x: Value) -> str:
    return g.op("Log", g.op("Add", g.operand(x, s.dtype), g.operand(1.0, s.dtype)))


@row("log2", "log10")
def _log_of(g: Graph, s: Step, x: Value) -> str:
    base = g.operand(math.log(2.0 if s.name == "log2" else 10.0), s.dtype)
    return g.op("Div", g.op("Log", g.operand(x, s.dtype)), base)


# ---- comparisons and truth values ------------------------------------------------------------

@row(*_COMPARED, "ne")
def _compare(g: Graph, s: Step, x: Any, y: Any) -> str:
    common = s.common
    if common is bool_ and s.name not in ("eq", "ne"):
        common = int64
    names = g.operand(x, common), g.operand(y, common)
    if g.opset < 12 and s.name in ("le", "ge"):
        return g.op("Or", g.op("Less" if s.name == "le" else "Greater", *names),
                    g.op("Equal", *names))
    return g.op("Not", g.op("Equal", *names)) if s.name == "ne" else g.op(_COMPARED[s.name], *names)


@row(*_LOGICAL)
def _logic(g: Graph, s: Step, x: Any, y: Any) -> str:
    if s.dtype is not bool_:
        return g.op(_LOGICAL[s.name].replace("And", "BitwiseAnd").replace(
            "Xor", "BitwiseXor").replace("Or", "BitwiseOr") if "Xor" not in _LOGICAL[s.name]
            else "BitwiseXor", g.operand(x, s.dtype), g.operand(y, s.dtype))
    return g.op(_LOGICAL[s.name], g.operand(x, bool_), g.operand(y, bool_))


@row("logical_not", "bitwise_not")
def _not(g: Graph, s: Step, x: Value) -> str:
    return g.op("Not" if s.dtype is bool_ else "BitwiseNot", g.operand(
        x, bool_ if s.name == "logical_not" else None))


@row("isnan")
def _isnan(g: Graph, s: Step, x: Value) -> str:
    return g.op("IsNaN", g.operand(x))


@row("isinf")
def _isinf(g: Graph, s: Step, x: Value) -> str:
    return g.op("IsInf", g.operand(x))


@row("select_where", "where")
def _where(g: Graph, s: Step, condition: Value, x: Any = None, y: Any = None) -> str:
    if x is None:
        raise g.unable("one argument (a number of places that depends on values)")
    return g.op("Where", g.operand(condition, bool_), g.operand(x, s.dtype), g.operand(y, s.dtype))


@row("masked_fill", "fill_where")
def _masked_fill(g: Graph, s: Step, x: Value, mask: Value, value: Any) -> str:
    return g.op("Where", g.operand(mask, bool_), g.operand(value, s.dtype), g.operand(x))


@row("clamp", "clamp_min", "clamp_max")
def _clamp(g: Graph, s: Step, x: Value, least: Any = None, most: Any = None) -> str:
    if s.name == "clamp_max":
        least, most = None, least
    made = g.operand(x, s.dtype)
    if least is not None:
        made = g.op("Max", made, g.operand(least, s.dtype))
    return made if most is None else g.op("Min", made, g.operand(most, s.dtype))


# ---- activations -----------------------------------------------------------------------------
# Those in place are seen as their parts: records whose names begin with an underscore.

@row("hardtanh", "relu6", "_hardtanh")
def _hardtanh(g: Graph, s: Step, x: Value, *bounds: Any) -> str:
    least, most = (0.0, 6.0) if s.name == "relu6" else bounds[:2]
    return g.op("Clip", g.operand(x), g.operand(least, s.dtype), g.operand(most, s.dtype))


@row("gelu")
def _gelu(g: Graph, s: Step, x: Value, approximate: str = "none") -> str:
    name = g.operand(x)
    if g.opset >= 20:
        return g.op("Gelu", name, approximate=approximate)
    half, one = g.operand(0.5, s.dtype), g.operand(1.0, s.dtype)
    if approximate == "tanh":
        cube = g.op("Mul", name, g.op("Mul", name, name))
        inner = g.op("Add", name, g.op("Mul", cube, g.operand(0.044715, s.dtype)))
        bent = g.op("Tanh", g.op("Mul", inner, g.operand(math.sqrt(2 / math.pi), s.dtype)))
    else:
        bent = g.op("Erf", g.op("Mul", name, g.operand(math.sqrt(0.5), s.dtype)))
    return g.op("Mul", g.op("Mul", name, half), g.op("Add", bent, one))


@row("silu", "_silu")
def _silu(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    name = g.operand(x)
    return g.op("Mul", name, g.op("Sigmoid", name))


@row("mish", "_mish")
def _mish(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    name = g.operand(x)
    return g.op("Mul", name, g.op("Tanh", g.op("Softplus", name)))


@row("hardsigmoid", "_hardsigmoid")
def _hardsigmoid(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    return g.op("HardSigmoid", g.operand(x), alpha=1 / 6, beta=0.5)


@row("leaky_relu", "_leaky_relu")
def _leaky_relu(g: Graph, s: Step, x: Value, slope: float = 0.01, *rest: Any) -> str:
    return g.op("LeakyRelu", g.operand(x), alpha=float(slope))


@row("elu", "celu", "_celu_scaled")
def _elu(g: Graph, s: Step, x: Value, alpha: float = 1.0, *rest: Any) -> str:
    return g.op("Elu" if s.name == "elu" else "Celu", g.operand(x), alpha=float(alpha))


@row("_elu_scaled")
def _elu_scaled(g: Graph, s: Step, x: Value, alpha: float, scale: float, *rest: Any) -> str:
    if scale == 1:
        return g.op("Elu", g.operand(x), alpha=float(alpha))
    return g.op("Selu", g.operand(x), alpha=float(alpha), gamma=float(scale))


@row("softplus")
def _softplus(g: Graph, s: Step, x: Value, beta: float = 1, threshold: float = 20) -> str:
    scaled = g.op("Mul", g.operand(x), g.operand(beta, s.dtype))
    soft = g.op("Div", g.op("Softplus", scaled), g.operand(beta, s.dtype))
    return g.op("Where", g.op("Greater", scaled, g.operand(threshold, s.dtype)), g.operand(x), soft)


@row("hardshrink")
def _hardshrink(g: Graph, s: Step, x: Value, lambd: float = 0.5) -> str:
    name = g.operand(x)
    kept = g.op("Greater", g.op("Abs", name), g.operand(lambd, s.dtype))
    return g.op("Where", kept, name, g.operand(0.0, s.dtype))


@row("_softshrink")
def _softshrink(g: Graph, s: Step, x: Value, lambd: float = 0.5) -> str:
    return g.op("Shrink", g.operand(x), lambd=float(lambd), bias=float(lambd))


@row("_threshold")
def _threshold(g: Graph, s: Step, x: Value, threshold: float, value: float) -> str:
    kept = g.op("Greater", g.operand(x), g.operand(threshold, s.dtype))
    return g.op("Where", kept, g.operand(x), g.operand(value, s.dtype))


@row("gated")
def _gated(g: Graph, s: Step, x: Value, gate: Value) -> str:
    return g.op("Mul", g.operand(x), g.op("Sigmoid", g.operand(gate)))


@row("logsigmoid")
def _logsigmoid(g: Graph, s: Step, x: Value) -> str:
    return g.op("Neg", g.op("Softplus", g.op("Neg", g.operand(x))))


@row("prelu")
def _prelu(g: Graph, s: Step, x: Value, weight: Value) -> str:
    shape = [-1] + [1] * max(x.rank - 2, 0)
    return g.op("PRelu", g.operand(x), g.op("Reshape", g.operand(weight), g.ints(shape)))


@row("softmax", "log_softmax")
def _softmax(g: Graph, s: Step, x: Value, dim: int, dtype: Any = None) -> str:
    wide = s.dtype if s.dtype in (float32, float64) else None
    kind, name = "Softmax" if s.name == "softmax" else "LogSoftmax", g.operand(x, wide or s.dtype)
    last = x.rank - 1
    if g.opset >= 13 or dim % max(x.rank, 1) == last:
        return g.op(kind, name, axis=dim)
    order = [last if d == dim % x.rank else dim % x.rank if d == last else d
             for d in range(x.rank)]  # it was about the last dimensions together
    made = g.op(kind, g.op("Transpose", name, perm=order), axis=last)
    return g.op("Transpose", made, perm=order)


# ---- conversions and copies ------------------------------------------------------------------

@row("to_dtype")
def _to_dtype(g: Graph, s: Step, x: Value, dtype: Any, *rest: Any) -> str:
    return g.cast(g.operand(x), dtype)


@row("clone", "contiguous", "alias", "detach")
def _same(g: Graph, s: Step, x: Value, *rest: Any) -> str:
    return g.operand(x)


@row("copy")
def _copy(g: Graph, s: Step, target: Value, source: Value, *rest: Any) -> str:
    return g.op("Expand", g.operand(source, s.dtype), g.ints(s.shape))


@row("fill", "zero")
def _fill(g: Graph, s: Step, target: Value, value: Any = 0) -> str:
    return g.op("Expand", g.operand(value, s.dtype), g.ints(s.shape))
