"""Programs over blocks: what a kernel of a user's becomes before it is machine code.

A program is run once for each point of a grid of three dimensions. It is a tuple of statements.
Values are expressions of `loops.ir` with leaves of their own:

    coord     attr = dimension of the block (int32)      argument  attr = slot of a number
    load      attr = (slot of the pointer, epoch), args = offset in elements, mask, other
    local     attr = number of a place, args = index of each of its dimensions

A *place* is a temporary array of one program; a *slot* a number of it. Slots 0, 1, 2 are the
program's numbers in the grid, 3, 4, 5 the grid's extents; the launch's numbers follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from ..core.dtypes import INTEGRAL, DType, bool_, int32, int64
from .ir import FUNCTIONS, Expr, cast, const, make, operate, rewrite, walk

GRID_SLOTS = 6
TRUE = const(True, bool_)
FALSE = const(False, bool_)


@dataclass(frozen=True)
class Place:
    """A temporary array, dense in row-major order."""

    number: int
    dtype: DType
    shape: tuple[int, ...]

    def at(self, *index: Expr) -> Expr:
        return make("local", self.dtype, index, self.number)

    def whole(self) -> Expr:
        """The element at the coordinates of a block of this shape."""
        return self.at(*(coordinate(k, n) for k, n in enumerate(self.shape)))


@dataclass(frozen=True)
class Let:
    """Give a slot a value."""

    slot: int
    value: Expr


@dataclass(frozen=True)
class Loop:
    """slot = start, start + step, ... up to stop (step may be negative)."""

    slot: int
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Any, ...]


@dataclass(frozen=True)
class While:
    """`before` and the condition, then the body, again and again."""

    before: tuple[Any, ...]
    condition: Expr
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Branch:
    condition: Expr
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...]


@dataclass(frozen=True)
class Product:
    """into = a @ b, plus `start` if there is one."""

    a: Place
    b: Place
    start: Place | None
    into: Place


@dataclass(frozen=True)
class Nest:
    """All points of a block; each effect is evaluated at each point.

    bound: the part of masks, and its place on the last axis, that others know the nest to stop at
    """

    shape: tuple[int, ...]
    effects: tuple[Any, ...]
    bound: tuple[Expr, Expr] | None = None


@dataclass(frozen=True)
class Write:
    """Store to memory where the mask holds."""

    pointer: int
    dtype: DType
    offset: Expr
    value: Expr
    mask: Expr


@dataclass(frozen=True)
class Keep:
    """Store to a place. `full`: every element of it will be read."""

    place: Place
    value: Expr
    full: bool = True


@dataclass(frozen=True)
class Fold:
    """Combine along an axis into a slot (of a block of one dimension) or a place."""

    kind: str
    value: Expr
    axis: int
    into: int | Place


@dataclass(frozen=True)
class Scan:
    """Running values along an axis: left = combine(left, right) with the values as right.

    last: only the final values are stored, to places (or slots) without the axis
    """

    values: tuple[Expr, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    combined: tuple[Expr, ...]
    axis: int
    into: tuple[Any, ...]
    reverse: bool
    last: bool


@dataclass(frozen=True)
class Atomic:
    """Change memory and keep what was there."""

    kind: str
    pointer: int
    offset: Expr
    values: tuple[Expr, ...]
    mask: Expr
    into: int | Place


@dataclass(frozen=True)
class Program:
    """statements, dtypes of all slots, places; `pointers`: which slots are addresses."""

    name: str
    statements: tuple[Any, ...]
    slots: tuple[DType, ...]
    inputs: int
    pointers: frozenset[int]
    places: tuple[Place, ...]
    ordered: bool


def coordinate(axis: int, extent: int) -> Expr:
    """The index on a dimension; of one of size 1 it is 0."""
    return make("coord", int32, (), axis) if extent > 1 else const(0, int32)


def roots_of(effect: Any) -> Iterator[Expr]:
    """The expressions that an effect evaluates at each point."""
    if isinstance(effect, Write):
        yield from (effect.offset, effect.value, effect.mask)
    elif isinstance(effect, (Keep, Fold)):
        yield effect.value
    elif isinstance(effect, Scan):
        yield from effect.values
    else:
        yield from (effect.offset, *effect.values, effect.mask)


def mapped(effect: Any, rule: Callable[[Expr], Expr]) -> Any:
    """The effect with its expressions replaced."""
    if isinstance(effect, Write):
        return replace(effect, offset=rule(effect.offset), value=rule(effect.value),
                       mask=rule(effect.mask))
    if isinstance(effect, (Keep, Fold)):
        return replace(effect, value=rule(effect.value))
    if isinstance(effect, Scan):
        return replace(effect, values=tuple(map(rule, effect.values)),
                       combined=tuple(map(rule, effect.combined)))
    return replace(effect, offset=rule(effect.offset), mask=rule(effect.mask),
                   values=tuple(map(rule, effect.values)))


def mapped_statement(item: Any, rule: Callable[[Expr], Expr]) -> Any:
    """The statement with all expressions in it replaced."""
    def inside(body: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(mapped_statement(s, rule) for s in body)

    if isinstance(item, Let):
        return replace(item, value=rule(item.value))
    if isinstance(item, Loop):
        return replace(item, start=rule(item.start), stop=rule(item.stop), step=rule(item.step),
                       body=inside(item.body))
    if isinstance(item, While):
        return While(inside(item.before), rule(item.condition), inside(item.body))
    if isinstance(item, Branch):
        return Branch(rule(item.condition), inside(item.then), inside(item.otherwise))
    if isinstance(item, Nest):
        bound = None if item.bound is None else (rule(item.bound[0]), rule(item.bound[1]))
        return Nest(item.shape, tuple(mapped(e, rule) for e in item.effects), bound)
    return item


def substitute(expr: Expr, table: dict[Expr, Expr]) -> Expr:
    """An expression with some of its parts replaced."""
    return rewrite((expr,), lambda node, args: table.get(node))[0]


_axes: WeakKeyDictionary[Expr, frozenset[int]] = WeakKeyDictionary()


def axes_of(expr: Expr) -> frozenset[int]:
    """The dimensions that an expression varies along."""
    found = _axes.get(expr)
    if found is None:
        for node in walk(expr):
            if node not in _axes:
                own = (node.attr,) if node.op == "coord" else ()
                _axes[node] = frozenset(own).union(*(_axes[a] for a in node.args))
        found = _axes[expr]
    return found


def split(expr: Expr, axis: int) -> tuple[Expr, Expr] | None:
    """(a, b), neither varying along the axis, with expr = a + b * coordinate; None if not so.

    Sums are taken as exact: an offset that overflows its type means nothing.
    """
    if axis not in axes_of(expr):
        return expr, const(0, expr.dtype)
    if expr.op == "coord":
        return const(0, expr.dtype), const(1, expr.dtype)
    if expr.op == "cast" and expr.dtype.category == expr.args[0].dtype.category == INTEGRAL \
            and expr.dtype.itemsize >= expr.args[0].dtype.itemsize:
        inner = split(expr.args[0], axis)
        return None if inner is None else (cast(inner[0], expr.dtype), cast(inner[1], expr.dtype))
    if expr.op == "neg":
        inner = split(expr.args[0], axis)
        return None if inner is None else (-inner[0], -inner[1])
    if expr.op in ("add", "sub"):
        parts = [split(a, axis) for a in expr.args]
        if parts[0] is None or parts[1] is None:
            return None
        (a, b), (c, d) = parts[0], parts[1]
        return operate(expr.op, a, c), operate(expr.op, b, d)
    if expr.op == "mul":
        for x, y in (expr.args, expr.args[::-1]):
            if axis not in axes_of(y):
                inner = split(x, axis)
                return None if inner is None else (inner[0] * y, inner[1] * y)
    return None


def bounds(mask: Expr, axis: int) -> list[tuple[Expr, Expr]]:
    """Parts of a conjunction that hold up to a place on the axis: (part, place as int64)."""
    found = []
    for part in _parts(mask):
        if axis not in axes_of(part) or part.op not in ("lt", "le", "gt", "ge"):
            continue
        low, high = part.args if part.op in ("lt", "le") else part.args[::-1]
        if low.dtype.category != INTEGRAL or axis in axes_of(high):
            continue
        made = split(low, axis)
        if made is None or number_of(made[1]) != 1:
            continue
        limit = cast(high, int64) - cast(made[0], int64)
        found.append((part, limit + 1 if part.op in ("le", "ge") else limit))
    return found


def _parts(mask: Expr) -> Iterator[Expr]:
    if mask.op == "and":
        for arg in mask.args:
            yield from _parts(arg)
    else:
        yield mask


def number_of(expr: Expr) -> Any:
    """The number that an expression of constants is, else None."""
    if expr.op == "const":
        return expr.attr
    values = [number_of(a) for a in expr.args]
    if expr.op == "cast" and values[0] is not None:
        return values[0]
    if expr.op in ("add", "sub", "mul", "neg") and None not in values:
        a, b = values[0], values[-1]
        return {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a}[expr.op]
    if expr.op == "mul" and 0 in values:
        return 0
    return None


def work(*roots: Expr) -> int:
    """About how many instructions it takes to evaluate expressions at a point."""
    return sum(20 if n.op in FUNCTIONS else 8 if n.op in ("idiv", "irem", "div", "sqrt") else
               n.op not in ("load", "const", "argument", "local", "coord") for n in walk(*roots))


def common_bound(nest: Nest) -> tuple[Expr, Expr] | None:
    """The one part of the nest's masks beyond whose place on the last axis nothing varies.

    It is (part, place). With the part false every store's mask is false, and each folded or kept
    value is the same for all that is left of the axis.
    """
    axis = len(nest.shape) - 1
    if nest.bound is not None:
        return nest.bound if _uniform_beyond(nest, nest.bound[0], axis) else None
    parts: dict[Expr, Expr] = {}
    for effect in nest.effects:
        for node in walk(*roots_of(effect)):
            if node.op == "load":
                parts.update(bounds(node.args[1], axis))
            elif node.op == "where":
                parts.update(bounds(node.args[0], axis))
        if isinstance(effect, Write):
            parts.update(bounds(effect.mask, axis))
    for part, place in parts.items():
        if _uniform_beyond(nest, part, axis):
            return part, place
    return None


def _uniform_beyond(nest: Nest, part: Expr, axis: int) -> bool:
    for effect in nest.effects:
        if isinstance(effect, (Scan, Atomic)) or isinstance(effect, Keep) and effect.full:
            return False
        if isinstance(effect, Fold) and (effect.axis != axis or effect.kind not in
                                         ("sum", "max", "min")):
            return False
        root = effect.mask if isinstance(effect, Write) else effect.value
        left = beyond(root, part)
        if axis in axes_of(left) or isinstance(effect, Write) and left is not FALSE:
            return False
    return True


def beyond(expr: Expr, part: Expr) -> Expr:
    """An expression where a part of its masks is false."""
    return resolved(expr, part, FALSE)


def resolved(expr: Expr, part: Expr, value: Expr) -> Expr:
    """An expression with a condition's truth known; loads that are masked off are gone."""
    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node is part:
            return value
        if node.op == "load" and args[1] is FALSE:
            return args[2]
        if node.op in ("and", "or") and node.dtype is bool_:
            absorbing = FALSE if node.op == "and" else TRUE
            for a, b in (args, args[::-1]):
                if a.op == "const":
                    return absorbing if a is absorbing else b
        if node.op == "not" and args[0].op == "const":
            return const(not args[0].attr, bool_)
        if node.op == "where" and args[0].op == "const":
            return args[1] if args[0].attr else args[2]
        return None

    return rewrite((expr,), rule)[0]
