"""Elementary functions: `tl.exp`, `tl.math.tanh`, `libdevice.erf`. They want float32 or float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import blocks, types
from ..blocks import Block, block, machine


def _floats(name: str, *xs: Any) -> list[Block]:
    given = [x for x in xs if isinstance(x, Block)]
    kind = types.float32
    for x in given:
        kind = types.promoted(kind, x.type) if x.type is types.float64 else kind
        if x.type not in (types.float32, types.float64):
            raise ValueError(f"[{name}] Expected dtype ['fp32', 'fp64'] but got {x.type}; "
                             "x.to(tl.float32) makes it one")
    made = [blocks.cast(block(x), kind) for x in xs]
    shape = blocks.common_shape(*made)
    return [blocks.broadcast_to(x, shape) for x in made]


def _function(name: str, op: str = "", count: int = 1) -> Callable[..., Block]:
    def apply(*xs: Any, **ignored: Any) -> Block:
        if len(xs) != count:
            raise TypeError(f"{name}() takes {count} arguments, got {len(xs)}")
        made = _floats(name, *xs)
        return Block(machine().operate(op or name, *(x.value for x in made)), made[0].type,
                     made[0].shape)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{name} of each element."
    return apply


exp, exp2, expm1 = map(_function, ("exp", "exp2", "expm1"))
log, log2, log10, log1p = map(_function, ("log", "log2", "log10", "log1p"))
sin, cos, tan = map(_function, ("sin", "cos", "tan"))
asin, acos, atan, atan2 = *map(_function, ("asin", "acos", "atan")), _function("atan2", count=2)
sinh, cosh, tanh = map(_function, ("sinh", "cosh", "tanh"))
asinh, acosh, atanh = map(_function, ("asinh", "acosh", "atanh"))
erf, erfc, erfinv, lgamma = map(_function, ("erf", "erfc", "erfinv", "lgamma"))
pow, fmod, copysign = (_function(name, count=2) for name in ("pow", "fmod", "copysign"))
floor, ceil, trunc, sqrt = map(_function, ("floor", "ceil", "trunc", "sqrt"))
rint = nearbyint = _function("rint", "round")
fma = _function("fma", count=3)
sqrt_rn = sqrt


def abs(x: Any) -> Block:
    """The absolute value, of integers too."""
    x = block(x)
    return x if x.type is types.int1 else blocks.unary("abs", x)


fabs = abs


def rsqrt(x: Any) -> Block:
    """1 / sqrt(x)."""
    return 1.0 / sqrt(x)


def sigmoid(x: Any) -> Block:
    """1 / (1 + exp(-x))."""
    (x,) = _floats("sigmoid", x)
    return 1.0 / (1.0 + exp(-x))


def fdiv(x: Any, y: Any, ieee_rounding: bool = False) -> Block:
    """x / y of floating-point numbers."""
    a, b = _floats("fdiv", x, y)
    return a / b


div_rn = fdiv


def fast_expf(x: Any) -> Block:
    """exp."""
    return exp(x)


def isnan(x: Any) -> Block:
    """Whether an element is NaN."""
    return blocks.binary("ne", x, x)


def isinf(x: Any) -> Block:
    """Whether an element is infinite."""
    return blocks.binary("eq", abs(x), float("inf"))


def umulhi(x: Any, y: Any) -> Block:
    """The upper half of a product of unsigned 32-bit integers."""
    x = x if isinstance(x, Block) else block(x, types.uint32)
    y = y if isinstance(y, Block) else block(y, types.uint32)
    if any(v.type not in (types.uint32, types.int32) for v in (x, y)):
        raise ValueError(f"[umulhi] Expected dtype ['int32', 'uint32'] but got {x.type} and "
                         f"{y.type}")
    wide = types.uint64 if types.uint32 in (x.type, y.type) else types.int64
    product = blocks.cast(x, wide) * blocks.cast(y, wide)
    return blocks.cast(product >> 32, types.uint32 if wide is types.uint64 else types.int32)
