"""Elementary functions become straight-line arithmetic.

`expand` replaces every elementary function of float32 and float64 by a body over the primitive
operations, so that a target vectorises kernels without a mathematical library. Half types do not
get here (records compute in float32); `pow` of integers is by repeated squaring.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..loops.elementary import (
    error, exponential, gamma, hyperbolic, logarithm, power, trigonometric,
)
from ..loops.ir import Expr, Stage, map_stage


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
        return None if body is None else body(*args)

    return map_stage(stage, rule)
