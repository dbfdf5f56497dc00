"""Elementary functions, and floats of 8 bits, become straight-line arithmetic.

`expand` replaces every elementary function of float32 and float64 by a body over the primitive
operations, so that a target vectorises kernels without a mathematical library. Half types do not
get here (records compute in float32); `pow` of integers is by repeated squaring. Floats of 8 bits
are left as bytes that are moved; to compute with them is to convert them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..core.dtypes import SMALL_FLOATS, float32
from ..loops.elementary import (
    error, exponential, float8, gamma, hyperbolic, logarithm, power, trigonometric,
)
from ..loops.ir import Expr, Stage, cast, make, map_stage


@cache
def bodies() -> dict[str, Callable[..., Expr]]:
    """Body by operation name."""
    families = {
        exponential: ("exp", "exp2", "expm1"),
        logarithm: ("log", "log2", "log10", "log1p"),
        hyperbolic: ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        trigonometric: ("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
        error: ("erf", "erfc", "erfinv", "ndtr"),
        gamma: ("lgamma", "digamma"),
        power: ("pow", "fmod"),
    }
    return {name: getattr(module, name) for module, names in families.items() for name in names}


def expand(stage: Stage) -> Stage:
    """The stage without elementary functions; other expressions are kept."""
    table = bodies()

    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        body = table.get(node.op)
        if body is not None:
            return body(*args)
        if node.dtype in SMALL_FLOATS or any(a.dtype in SMALL_FLOATS for a in args):
            return _by_float32(node, args)
        return None

    return map_stage(stage, rule)


def _by_float32(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    """An operation of floats of 8 bits; those that only move bytes are kept."""
    if node.op == "const":
        return float8.constant(node.attr, node.dtype)
    if node.op in ("load", "where", "bitcast"):
        return None
    wide = tuple(float8.widened(a) if a.dtype in SMALL_FLOATS else a for a in args)
    if node.op == "cast":
        made = cast(wide[0], float32 if node.dtype in SMALL_FLOATS else node.dtype)
    else:
        made = make(node.op, float32 if node.dtype in SMALL_FLOATS else node.dtype, wide,
                    node.attr)
    return float8.narrowed(made, node.dtype) if node.dtype in SMALL_FLOATS else made
