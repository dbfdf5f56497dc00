"""Reverse-mode derivatives of scalar expressions, as expressions.

`backward` walks the expressions once, users before operands, and adds up the adjoint of each. One
table, `RULES`, gives for each operation the adjoints of its operands.

Multiply first, select last. A select passes its adjoint on *guarded*: the adjoint is not multiplied
by a mask on the way, where 0 * infinity would make a NaN of a branch that was not taken, but
carries the condition along; the select is made where the adjoint arrives at an input. So
where(x > 0, log(x), 0) has the derivative where(x > 0, grad / x, 0), which is 0 at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..core.dtypes import COMPLEX, FLOATING
from .ir import Expr, cast, const, operate, walk

#: Conditions that must hold (or fail) for an adjoint to count, outermost first.
Guard = tuple[tuple[Expr, bool], ...]
#: (operand, adjoint, condition under which it counts); a condition of None: always.
Share = tuple[int, Expr, "tuple[Expr, bool] | None"]


def derivative(output: Expr, wrt: Expr) -> Expr:
    """The derivative of an expression with respect to another (usually a load).

    >>> from yesca.core.dtypes import float64
    >>> from yesca.loops import ir, scalar
    >>> x = ir.load(0, float64)
    >>> derivative(scalar.exp(x * x), x)
    mul(exp(mul(load(0), load(0))), add(load(0), load(0)))
    """
    return backward([output], [const(1, output.dtype)], [wrt])[0]


def backward(outputs: Sequence[Expr], adjoints: Sequence[Expr], inputs: Sequence[Expr]
             ) -> list[Expr]:
    """Adjoints of the inputs, given those of the outputs; zero where nothing depends on one."""
    wanted = set(inputs)
    order = list(walk(*outputs))
    active: set[Expr] = set()
    for node in order:
        if node in wanted or any(a in active for a in node.args):
            active.add(node)
    gathered: dict[Expr, dict[Guard, Expr]] = {}
    for output, adjoint in zip(outputs, adjoints, strict=True):
        if output in active:
            _gather(gathered, output, (), adjoint)
    for node in reversed(order):
        found = gathered.get(node)
        if found is None or node in wanted:
            continue
        for guard, adjoint in found.items():
            _pass_on(gathered, node, guard, adjoint, active)
    return [_select(list(gathered.get(x, {}).items()), x) for x in inputs]


def _pass_on(gathered: dict[Expr, dict[Guard, Expr]], node: Expr, guard: Guard, adjoint: Expr,
             active: set[Expr]) -> None:
    rule = RULES.get(node.op)
    if rule is None:
        raise NotImplementedError(
            f"[derive] no derivative of {node.op!r} within an expression; give the record a "
            "written backward formula")
    for position, share, condition in rule(node, adjoint):
        operand = node.args[position]
        if operand not in active:
            continue
        inner = guard
        if condition is not None:
            if (condition[0], not condition[1]) in guard:
                continue  # this branch of a branch cannot be taken
            inner = guard if condition in guard else (*guard, condition)
        _gather(gathered, operand, inner, share)


def _gather(gathered: dict[Expr, dict[Guard, Expr]], node: Expr, guard: Guard, adjoint: Expr
            ) -> None:
    found = gathered.setdefault(node, {})
    found[guard] = found[guard] + adjoint if guard in found else adjoint


def _select(found: list[tuple[Guard, Expr]], x: Expr) -> Expr:
    """The sum of guarded adjoints; what depends on one condition becomes one select."""
    total: Expr | None = None
    while found:
        guard, adjoint = found[0]
        if not guard:
            found, part = found[1:], adjoint
        else:
            condition = guard[0][0]
            then = [(g[1:], a) for g, a in found if g and g[0] == (condition, True)]
            otherwise = [(g[1:], a) for g, a in found if g and g[0] == (condition, False)]
            found = [(g, a) for g, a in found if not g or g[0][0] is not condition]
            part = operate("where", condition, _select(then, x), _select(otherwise, x))
        total = part if total is None else total + part
    return const(0, x.dtype) if total is None else total


# ---- rules -----------------------------------------------------------------------------------
# Each takes the node and its adjoint g. `x` and `y` are operands, `r` is the node itself.

def _times(g: Expr, factor: object) -> Expr:
    if g.op == "const" and g.attr == 1 and isinstance(factor, Expr):
        return factor
    return operate("mul", g, factor)


def _over(a: object, b: Expr) -> Expr:
    return operate("div", a if isinstance(a, Expr) else const(a, b.dtype), b)


def _unary(formula: Callable[[Expr, Expr, Expr], Expr]) -> Callable[[Expr, Expr], list[Share]]:
    """A rule from a formula in (g, operand, result)."""
    return lambda node, g: [(0, formula(g, node.args[0], node), None)]


def _sign(x: Expr) -> Expr:
    """-1, 0 or 1; a NaN gives 0."""
    return operate("where", x > 0.0, 1.0, operate("where", x < 0.0, const(-1.0, x.dtype), 0.0))


def _nothing(node: Expr, g: Expr) -> list[Share]:
    return []


def _mul(node: Expr, g: Expr) -> list[Share]:
    x, y = node.args
    if x is y:
        return [(0, _times(g, x + x), None)]
    return [(0, _times(g, y), None), (1, _times(g, x), None)]


def _div(node: Expr, g: Expr) -> list[Share]:
    x, y = node.args
    return [(0, _over(g, y), None), (1, _times(-g, _over(_over(x, y), y)), None)]


def _fma(node: Expr, g: Expr) -> list[Share]:
    x, y, _ = node.args
    return [(0, _times(g, y), None), (1, _times(g, x), None), (2, g, None)]


def _extreme(worse: str) -> Callable[[Expr, Expr], list[Share]]:
    """minimum and maximum: all to the better operand, half to each of two equal ones."""
    def rule(node: Expr, g: Expr) -> list[Share]:
        x, y = node.args
        share = operate("where", x.eq(y), g * 0.5, g)
        return [(0, share, (operate(worse, x, y), False)),
                (1, share, (operate(worse, y, x), False))]

    return rule


def _where(node: Expr, g: Expr) -> list[Share]:
    condition = node.args[0]
    return [(1, g, (condition, True)), (2, g, (condition, False))]


def _pow(node: Expr, g: Expr) -> list[Share]:
    x, y = node.args
    by_base = _times(g, y * operate("pow", x, y - 1.0))
    by_exponent = _times(g, node * operate("log", x))
    return [(0, by_base, (y.eq(0.0), False)),
            (1, by_exponent, (x.eq(0.0) & (y >= 0.0), False))]


def _atan2(node: Expr, g: Expr) -> list[Share]:
    y, x = node.args
    square = y * y + x * x
    origin = (square.eq(0.0), False)
    return [(0, _times(g, _over(x, square)), origin), (1, _times(g, _over(-y, square)), origin)]


def _copysign(node: Expr, g: Expr) -> list[Share]:
    x, y = node.args
    same = operate("copysign", const(1.0, x.dtype), x) * operate("copysign", const(1.0, x.dtype), y)
    return [(0, _times(g, same), (x.eq(0.0), False))]


def _fmod(node: Expr, g: Expr) -> list[Share]:
    x, y = node.args
    return [(0, g, None), (1, _times(-g, operate("trunc", x / y)), None)]


def _cast(node: Expr, g: Expr) -> list[Share]:
    source = node.args[0].dtype
    if source.category not in (FLOATING, COMPLEX):
        return []
    return [(0, cast(g, source), None)]


def _square_root_of(x: Expr) -> Expr:
    return operate("sqrt", x)


def _trigamma(x: Expr) -> Expr:
    from .elementary.gamma import trigamma

    return trigamma(x)


RULES: dict[str, Callable[[Expr, Expr], list[Share]]] = {
    "add": lambda node, g: [(0, g, None), (1, g, None)],
    "sub": lambda node, g: [(0, g, None), (1, -g, None)],
    "mul": _mul, "div": _div, "fma": _fma, "where": _where, "pow": _pow, "atan2": _atan2,
    "copysign": _copysign, "fmod": _fmod, "cast": _cast,
    "minimum": _extreme("gt"), "maximum": _extreme("lt"),
    "neg": _unary(lambda g, x, r: -g),
    "abs": _unary(lambda g, x, r: _times(g, _sign(x))),
    "sqrt": _unary(lambda g, x, r: _over(g, r + r)),
    "exp": _unary(lambda g, x, r: _times(g, r)),
    "exp2": _unary(lambda g, x, r: _times(g, r * math.log(2.0))),
    "expm1": _unary(lambda g, x, r: _times(g, r + 1.0)),
    "log": _unary(lambda g, x, r: _over(g, x)),
    "log2": _unary(lambda g, x, r: _over(g, x * math.log(2.0))),
    "log10": _unary(lambda g, x, r: _over(g, x * math.log(10.0))),
    "log1p": _unary(lambda g, x, r: _over(g, x + 1.0)),
    "sin": _unary(lambda g, x, r: _times(g, operate("cos", x))),
    "cos": _unary(lambda g, x, r: _times(-g, operate("sin", x))),
    "tan": _unary(lambda g, x, r: _times(g, r * r + 1.0)),
    "asin": _unary(lambda g, x, r: _over(g, _square_root_of(1.0 - x * x))),
    "acos": _unary(lambda g, x, r: _over(-g, _square_root_of(1.0 - x * x))),
    "atan": _unary(lambda g, x, r: _over(g, x * x + 1.0)),
    "sinh": _unary(lambda g, x, r: _times(g, operate("cosh", x))),
    "cosh": _unary(lambda g, x, r: _times(g, operate("sinh", x))),
    "tanh": _unary(lambda g, x, r: _times(g, 1.0 - r * r)),
    "asinh": _unary(lambda g, x, r: _over(g, _square_root_of(x * x + 1.0))),
    "acosh": _unary(lambda g, x, r: _over(g, _square_root_of(x * x - 1.0))),
    "atanh": _unary(lambda g, x, r: _over(g, 1.0 - x * x)),
    "erf": _unary(lambda g, x, r: _times(g, operate("exp", -(x * x)) * (2 / math.sqrt(math.pi)))),
    "erfc": _unary(
        lambda g, x, r: _times(g, operate("exp", -(x * x)) * (-2 / math.sqrt(math.pi)))),
    "erfinv": _unary(lambda g, x, r: _times(g, operate("exp", r * r) * (math.sqrt(math.pi) / 2))),
    "ndtr": _unary(
        lambda g, x, r: _times(g, operate("exp", x * x * -0.5) * (1 / math.sqrt(2 * math.pi)))),
    "lgamma": _unary(lambda g, x, r: _times(g, operate("digamma", x))),
    "digamma": _unary(lambda g, x, r: _times(g, _trigamma(x))),
    # piecewise constant, or not a function of real numbers
    **dict.fromkeys(
        "floor ceil trunc round idiv irem and or xor not shl shr lt le gt ge eq ne bitcast".split(),
        _nothing),
}
