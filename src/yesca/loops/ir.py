"""The loop IR: scalar expressions over loop points, and the stages that evaluate them.

A *stage* visits every point of a parallel domain whose rank and sizes are known at run time only.
In a `flat` stage a point is everything; in a `rows` stage each row also has one *inner* axis, over
which expressions may `fold` (to one value) or `scan` (running values). Buffers are addressed by
run-time strides at the current point, so an expression never mentions sizes.

Expressions are interned: equal expressions are one object. The whole vocabulary:

    const      attr = the number                   argument   attr = slot of a run-time number
    coord      attr = "inner" | "point"            load       attr = buffer, args = () or (offset,)
    fold       attr = "sum", "max:64", ...         scan       attr = "sum", "prod", ...
    and the scalar operations of `OPERATIONS`, args = operands
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final
from weakref import WeakValueDictionary

from ..core.dtypes import BOOL, COMPLEX, FLOATING, DType, bool_, int64

#: Functions that `passes.expand_math` rewrites into the other operations.
FUNCTIONS: dict[str, tuple[int, str]] = {
    "exp": (1, "same"), "exp2": (1, "same"), "expm1": (1, "same"), "log": (1, "same"),
    "log2": (1, "same"), "log10": (1, "same"), "log1p": (1, "same"), "sin": (1, "same"),
    "cos": (1, "same"), "tan": (1, "same"), "asin": (1, "same"), "acos": (1, "same"),
    "atan": (1, "same"), "atan2": (2, "same"), "sinh": (1, "same"), "cosh": (1, "same"),
    "tanh": (1, "same"), "asinh": (1, "same"), "acosh": (1, "same"), "atanh": (1, "same"),
    "erf": (1, "same"), "erfc": (1, "same"), "erfinv": (1, "same"), "lgamma": (1, "same"),
    "digamma": (1, "same"), "ndtr": (1, "same"), "pow": (2, "same"), "fmod": (2, "same"),
}
#: name -> (number of operands, class of operands, result): "same" dtype or "bool".
OPERATIONS: dict[str, tuple[int, str]] = {
    # arithmetic
    "add": (2, "same"), "sub": (2, "same"), "mul": (2, "same"), "div": (2, "same"),
    "idiv": (2, "same"), "irem": (2, "same"),  # integers, rounding to zero
    "neg": (1, "same"), "abs": (1, "same"), "fma": (3, "same"), "sqrt": (1, "same"),
    "floor": (1, "same"), "ceil": (1, "same"), "trunc": (1, "same"), "round": (1, "same"),
    "minimum": (2, "same"), "maximum": (2, "same"),  # a NaN wins
    "copysign": (2, "same"),
    # bits and truth
    "and": (2, "same"), "or": (2, "same"), "xor": (2, "same"), "not": (1, "same"),
    "shl": (2, "same"), "shr": (2, "same"),
    "lt": (2, "bool"), "le": (2, "bool"), "gt": (2, "bool"), "ge": (2, "bool"),
    "eq": (2, "bool"), "ne": (2, "bool"),
    "where": (3, "same"),  # condition, then, else
    "cast": (1, "attr"), "bitcast": (1, "attr"),
    **FUNCTIONS,
}
FOLDS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")
SCANS = ("sum", "prod", "max", "min")


@final
class Expr:
    """One interned expression; Python operators build larger ones."""

    __slots__ = ("op", "dtype", "args", "attr", "__weakref__")

    op: str
    dtype: DType
    args: tuple[Expr, ...]
    attr: Any

    def __repr__(self) -> str:
        inside = [repr(self.attr)] if self.attr is not None else []
        return f"{self.op}({', '.join(inside + [repr(a) for a in self.args])})"

    def __add__(self, other: object) -> Expr:
        return operate("add", self, other)

    def __radd__(self, other: object) -> Expr:
        return operate("add", other, self)

    def __sub__(self, other: object) -> Expr:
        return operate("sub", self, other)

    def __rsub__(self, other: object) -> Expr:
        return operate("sub", other, self)

    def __mul__(self, other: object) -> Expr:
        return operate("mul", self, other)

    def __rmul__(self, other: object) -> Expr:
        return operate("mul", other, self)

    def __truediv__(self, other: object) -> Expr:
        return operate("div", self, other)

    def __rtruediv__(self, other: object) -> Expr:
        return operate("div", other, self)

    def __neg__(self) -> Expr:
        return operate("neg", self)

    def __and__(self, other: object) -> Expr:
        return operate("and", self, other)

    def __or__(self, other: object) -> Expr:
        return operate("or", self, other)

    def __xor__(self, other: object) -> Expr:
        return operate("xor", self, other)

    def __invert__(self) -> Expr:
        return operate("not", self)

    def __lshift__(self, other: object) -> Expr:
        return operate("shl", self, other)

    def __rshift__(self, other: object) -> Expr:
        return operate("shr", self, other)

    def __lt__(self, other: object) -> Expr:
        return operate("lt", self, other)

    def __le__(self, other: object) -> Expr:
        return operate("le", self, other)

    def __gt__(self, other: object) -> Expr:
        return operate("gt", self, other)

    def __ge__(self, other: object) -> Expr:
        return operate("ge", self, other)

    def eq(self, other: object) -> Expr:
        """Elementwise equality (`==` compares expressions)."""
        return operate("eq", self, other)

    def ne(self, other: object) -> Expr:
        """Elementwise inequality."""
        return operate("ne", self, other)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value while a kernel is being written; "
                        "use where(condition, a, b)")


_interned: WeakValueDictionary[tuple[object, ...], Expr] = WeakValueDictionary()


def make(op: str, dtype: DType, args: tuple[Expr, ...] = (), attr: Any = None) -> Expr:
    """The one expression with these parts."""
    key = (op, dtype, args, type(attr), repr(attr))
    found = _interned.get(key)
    if found is None:
        found = Expr()
        found.op, found.dtype, found.args, found.attr = op, dtype, args, attr
        _interned[key] = found
    return found


def const(value: object, dtype: DType) -> Expr:
    """A constant of a dtype."""
    if dtype.category == COMPLEX:
        return _complexes().const(value, dtype)  # type: ignore[no-any-return]
    if dtype.category == FLOATING:
        value = float(value)  # type: ignore[arg-type]
    elif dtype.category == BOOL:
        value = bool(value)
    else:
        value = int(value)  # type: ignore[call-overload]
    return make("const", dtype, (), value)


def _complexes() -> Any:
    """Complex values are pairs of expressions; few programs need them."""
    from . import complexes

    return complexes


def argument(slot: int, dtype: DType) -> Expr:
    """A number given at run time."""
    return make("argument", dtype, (), slot)


def load(buffer: int, dtype: DType, offset: Expr | None = None) -> Expr:
    """The element of a buffer at the current point, or `offset` elements beyond it."""
    if dtype.category == COMPLEX:
        return _complexes().load(buffer, dtype, offset)  # type: ignore[no-any-return]
    return make("load", dtype, () if offset is None else (offset,), buffer)


def coord(axis: str) -> Expr:
    """The index on the inner axis ("inner") or the linear index of the point ("point")."""
    return make("coord", int64, (), axis)


def fold(kind: str, value: Expr, lanes: int = 0) -> Expr:
    """One value per row: `value` combined over the inner axis.

    lanes: how many partial results are kept side by side, which decides the order of combination;
    0 leaves it to `passes.widths`.
    """
    if kind not in FOLDS:
        raise ValueError(f"[fold] unknown kind {kind!r}; one of {', '.join(FOLDS)}")
    if value.__class__ is not Expr:
        return _complexes().fold(kind, value)  # type: ignore[no-any-return]
    dtype = int64 if kind in ("argmax", "argmin") else bool_ if kind in ("any", "all") \
        else value.dtype
    return make("fold", dtype, (value,), f"{kind}:{lanes}" if lanes else kind)


def fold_kind(node: Expr) -> str:
    """How a fold combines values."""
    return node.attr.partition(":")[0]  # type: ignore[no-any-return]


def fold_lanes(node: Expr) -> int:
    """How many partial results a fold keeps; 0 where it is not decided yet."""
    return int(node.attr.partition(":")[2] or 0)


def scan(kind: str, value: Expr) -> Expr:
    """Running values along the inner axis, the current point included."""
    if kind not in SCANS:
        raise ValueError(f"[scan] unknown kind {kind!r}; one of {', '.join(SCANS)}")
    if value.__class__ is not Expr:
        return _complexes().scan(kind, value)  # type: ignore[no-any-return]
    return make("scan", value.dtype, (value,), kind)


def operate(name: str, *operands: object) -> Expr:
    """An operation on expressions; Python numbers take the dtype of the expression beside them."""
    count, result = OPERATIONS[name]
    if len(operands) != count:
        raise TypeError(f"[{name}] takes {count} operands, got {len(operands)}")
    if not all(v.__class__ is Expr or isinstance(v, (int, float)) for v in operands):
        return _complexes().operate(name, operands)  # type: ignore[no-any-return]
    values = operands[1:] if name == "where" else operands
    dtype = next((v.dtype for v in values if isinstance(v, Expr)), None)
    if dtype is None:
        raise TypeError(f"[{name}] needs at least one expression among its operands")
    args = tuple(v if isinstance(v, Expr) else const(v, dtype) for v in values)
    for arg in args:
        if arg.dtype is not dtype:
            raise TypeError(f"[{name}] operands must have one dtype: {dtype} and {arg.dtype}; "
                            "cast one of them")
    if name == "where":
        condition = operands[0]
        if not isinstance(condition, Expr) or condition.dtype is not bool_:
            raise TypeError("[where] the condition must be a bool expression")
        args = (condition, *args)
    return make(name, bool_ if result == "bool" else dtype, args)


def cast(value: Expr, dtype: DType) -> Expr:
    """Convert to a dtype, as a store to a tensor of that dtype would."""
    if value.__class__ is not Expr or dtype.category == COMPLEX:
        return _complexes().cast(value, dtype)  # type: ignore[no-any-return]
    return value if value.dtype is dtype else make("cast", dtype, (value,))


def bitcast(value: Expr, dtype: DType) -> Expr:
    """The same bits read as another dtype of the same size."""
    if value.__class__ is not Expr:
        raise _complexes().Unsupported("bitcast")
    if value.dtype.itemsize != dtype.itemsize:
        raise TypeError(f"[bitcast] sizes differ: {value.dtype} and {dtype}")
    return value if value.dtype is dtype else make("bitcast", dtype, (value,))


@dataclass(frozen=True)
class Buffer:
    """One operand in memory. `inner`: it varies along the inner axis of a rows stage."""

    dtype: DType
    output: bool = False
    inner: bool = True


@dataclass(frozen=True)
class Store:
    """Write `value` to a buffer at the current point (or `offset` elements beyond it).

    `guard`: only where it is true. `accumulate`: combine with what is there ("sum", "prod",
    "max" or "min"), in the order of points; such a store makes the innermost loop sequential.
    """

    buffer: int
    value: Expr
    offset: Expr | None = None
    guard: Expr | None = None
    accumulate: str = ""


@dataclass(frozen=True)
class Stage:
    """A parallel loop nest: what it reads and writes, and the values it stores.

    kind: "flat" (each point by itself), "rows" (each row folds or maps its inner axis), or
    "table" (flat over many tensors at once: a table in memory lists pointers and counts).
    """

    kind: str
    buffers: tuple[Buffer, ...]
    arguments: tuple[DType, ...]
    stores: tuple[Store, ...]

    def roots(self) -> Iterator[Expr]:
        """Every expression that the stores mention."""
        for item in self.stores:
            yield item.value
            if item.offset is not None:
                yield item.offset
            if item.guard is not None:
                yield item.guard

    # Whoever joins launches asks the following of every pair of them.

    @cached_property
    def loaded(self) -> frozenset[int]:
        """Buffers that are read; what an accumulating store reads is not among them."""
        return frozenset(n.attr for n in walk(*self.roots()) if n.op == "load")

    @cached_property
    def written(self) -> frozenset[int]:
        """Buffers that a store writes."""
        return frozenset(s.buffer for s in self.stores)

    @cached_property
    def elsewhere(self) -> frozenset[int]:
        """Buffers that are not only touched at the current point."""
        found = {n.attr for n in walk(*self.roots()) if n.op == "load" and n.args}
        return frozenset(found | {s.buffer for s in self.stores if s.offset is not None})


@dataclass(frozen=True)
class Kernel:
    """Stages with a barrier between each two, run by one launch."""

    name: str
    stages: tuple[Stage, ...] = field(default=())


def walk(*roots: Expr) -> Iterator[Expr]:
    """Every expression below the roots once, operands before users."""
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in seen:
            continue
        if ready or not node.args:
            seen.add(node)
            yield node
            continue
        stack.append((node, True))
        stack.extend((a, False) for a in reversed(node.args) if a not in seen)


def rewrite(roots: tuple[Expr, ...], rule: Callable[[Expr, tuple[Expr, ...]], Expr | None]
            ) -> tuple[Expr, ...]:
    """Rebuild from the leaves up; `rule(node, new operands)` may give a replacement."""
    new: dict[Expr, Expr] = {}
    for node in walk(*roots):
        args = tuple(new[a] for a in node.args)
        made = rule(node, args)
        if made is None:
            made = node if args == node.args else make(node.op, node.dtype, args, node.attr)
        new[node] = made
    return tuple(new[r] for r in roots)


def inner_varying(stage: Stage) -> set[Expr]:
    """The expressions that vary along the inner axis of a rows stage, or from point to point."""
    varying: set[Expr] = set()
    for node in walk(*stage.roots()):
        if node.op == "fold":
            continue
        own = node.op == "scan" or (node.op == "load" and stage.buffers[node.attr].inner) or (
            node.op == "coord" and (node.attr == "inner" or stage.kind != "rows"))
        if own or any(a in varying for a in node.args):
            varying.add(node)
    return varying


def map_stage(stage: Stage, rule: Callable[[Expr, tuple[Expr, ...]], Expr | None]) -> Stage:
    """The stage with every expression rewritten."""
    roots = tuple(stage.roots())
    mapping = dict(zip(roots, rewrite(roots, rule), strict=True))
    stores = tuple(
        Store(s.buffer, mapping[s.value], None if s.offset is None else mapping[s.offset],
              None if s.guard is None else mapping[s.guard], s.accumulate)
        for s in stage.stores
    )
    return Stage(stage.kind, stage.buffers, stage.arguments, stores)
