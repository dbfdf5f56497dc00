"""Remove what changes no bit of the result.

Constants are folded with the interpreter's own functions, and identities are applied only where
they hold for every value: x * 1 is x, but x + 0.0 is not (-0.0 becomes 0.0), so only x + -0.0 and
x - 0.0 go. NaN stays NaN; its sign and payload are not looked at. Equal subexpressions are one
object already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.dtypes import (
    BOOL, FLOATING, INTEGRAL, NARROW_FLOATS, DType, bfloat16, bool_, float8_e8m0fnu, float16,
    float32, float64,
)
from ..loops.ir import Expr, Stage, bitcast, cast, const, map_stage, operate

#: Operations whose value on constants is the same everywhere.
FOLDED = frozenset(
    "add sub mul div neg abs sqrt floor ceil trunc round minimum maximum copysign fma "
    "and or xor not shl shr lt le gt ge eq ne where cast bitcast".split())
Rule = Callable[[Expr, tuple[Expr, ...]], "Expr | None"]


def simplify(stage: Stage) -> Stage:
    """The stage with constants folded and operations that do nothing removed."""
    return map_stage(stage, simplified)


def simplified(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    """What `node` on these operands may be replaced by, or None."""
    if not args:
        return None
    if node.op in FOLDED and all(a.op == "const" for a in args):
        folded = _fold_constants(node, args)
        if folded is not None:
            return folded
    rule = RULES.get(node.op)
    return rule(node, args) if rule is not None else None


def _fold_constants(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    if any(e.dtype in NARROW_FLOATS or e.dtype.category > FLOATING for e in (node, *args)):
        return None
    import numpy as np

    from ..loops.interpret import OPERATORS, convert, numpy_dtype

    values = [np.asarray(a.attr).astype(numpy_dtype(a.dtype)) for a in args]
    with np.errstate(all="ignore"):
        if node.op == "cast":
            if args[0].dtype.category == FLOATING and not math.isfinite(args[0].attr) \
                    and node.dtype.category == INTEGRAL:
                return None  # the machine decides
            result = convert(values[0], node.dtype)
        elif node.op == "bitcast":
            result = values[0].view(numpy_dtype(node.dtype))
        else:
            result = np.asarray(OPERATORS[node.op](*values)).astype(numpy_dtype(node.dtype))
    return const(result.item(), node.dtype)


def _is(e: Expr, value: Any) -> bool:
    """Whether e is this constant; zeros must agree in sign."""
    if e.op != "const" or e.attr != value:
        return False
    return e.dtype.category != FLOATING or math.copysign(1, e.attr) == math.copysign(1, value)


def _nothing(dtype: DType) -> Any:
    """The number that may be added to any value of a dtype without changing it."""
    return -0.0 if dtype.category == FLOATING else 0


def _add(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    for x, y in (args, args[::-1]):
        if _is(y, _nothing(x.dtype)) or (x.op == "abs" and _is(y, 0.0)):
            return x
        if y.op == "neg":
            return operate("sub", x, y.args[0])
    return None


def _sub(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    x, y = args
    if _is(y, 0.0 if x.dtype.category == FLOATING else 0):
        return x
    return operate("add", x, y.args[0]) if y.op == "neg" else None


def _mul(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    for x, y in (args, args[::-1]):
        if _is(y, 1):
            return x
        if _is(y, -1) and x.dtype is not bool_:
            return operate("neg", x)
        if x.dtype.category != FLOATING and _is(y, 0):
            return y
    return None


def _div(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    """x / 1, and division by a power of two whose inverse is exact."""
    x, y = args
    if _is(y, 1):
        return x
    if y.op == "const" and x.dtype in (float32, float64) and y.attr and math.isfinite(y.attr) \
            and abs(math.frexp(y.attr)[0]) == 0.5 and 2.0**-100 <= abs(y.attr) <= 2.0**100:
        return operate("mul", x, 1.0 / y.attr)
    return None


def _fma(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    x, y, z = args
    for a, b in ((x, y), (y, x)):
        if _is(b, 1):
            return operate("add", a, z)
    return operate("mul", x, y) if _is(z, _nothing(z.dtype)) else None


def _neg(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    return args[0].args[0] if args[0].op == "neg" else None


def _not(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    return args[0].args[0] if args[0].op == "not" else None


def _abs(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    x = args[0]
    if x.op == "abs":
        return x
    return operate("abs", x.args[0]) if x.op == "neg" else None


def _where(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    condition, then, otherwise = args
    if condition.op == "const":
        return then if condition.attr else otherwise
    if then is otherwise:
        return then
    if condition.op == "not":
        return operate("where", condition.args[0], otherwise, then)
    return None


def _extreme(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    return args[0] if args[0] is args[1] else None


def _and(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    all_ones = True if node.dtype is bool_ else -1 if node.dtype.is_signed \
        else (1 << 8 * node.dtype.itemsize) - 1
    for x, y in (args, args[::-1]):
        if _is(y, all_ones) or x is y:
            return x
        if _is(y, 0):
            return y
    return None


def _or(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    for x, y in (args, args[::-1]):
        if _is(y, 0) or x is y:
            return x
        if node.dtype is bool_ and _is(y, True):
            return y
    return None


def _xor(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    for x, y in (args, args[::-1]):
        if _is(y, 0):
            return x
    return None


def _shift(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    return args[0] if _is(args[1], 0) else None


def holds(source: DType, target: DType) -> bool:
    """Whether every value of `source` is a value of `target`."""
    if source is target or source.category == BOOL:
        return True
    if BOOL in (source.category, target.category) or source.category > target.category:
        return False
    if source.category == INTEGRAL:
        bits = 8 * source.itemsize - source.is_signed
        if target.category == INTEGRAL:
            if source.is_signed and not target.is_signed:
                return False
            return bits <= 8 * target.itemsize - target.is_signed
        return bits <= {float16: 11, bfloat16: 8, float32: 24, float64: 53}.get(target, 0)
    if source is float8_e8m0fnu and target is float16:  # whose powers of two are fewer
        return False
    return target.category == FLOATING and source.itemsize < target.itemsize


def _cast(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    """A cast of a cast that lost nothing, or that lost only bits which this one loses too."""
    middle = args[0]
    if middle.dtype is node.dtype:
        return middle
    if middle.op != "cast":
        return None
    inner = middle.args[0]
    narrower = node.dtype.category == middle.dtype.category == inner.dtype.category == INTEGRAL \
        and node.dtype.itemsize <= middle.dtype.itemsize
    if narrower or holds(inner.dtype, middle.dtype):
        return cast(inner, node.dtype)
    return None


def _bitcast(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    return bitcast(args[0].args[0], node.dtype) if args[0].op == "bitcast" else None


RULES: dict[str, Rule] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "fma": _fma, "neg": _neg, "not": _not,
    "abs": _abs, "where": _where, "minimum": _extreme, "maximum": _extreme, "and": _and,
    "or": _or, "xor": _xor, "shl": _shift, "shr": _shift, "cast": _cast, "bitcast": _bitcast,
}
