"""The machine that compiles: blocks are expressions, loads happen where their values are wanted.

Elementwise operations only build expressions, so that chains of them end up in the loop of the
reduction or the store that wants them. What must not wait is *settled*, that is kept in a place: a
load before a store that may change it, a value that a loop reads again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.dtypes import DType, int32
from ..loops import blocks as program
from ..loops import ir
from ..loops.blocks import Keep, Let, Nest, Place, axes_of, coordinate, substitute
from ..loops.ir import Expr, walk
from . import blocks
from .blocks import Block, size_of
from .errors import NeedsInterpreter

DEAR = 12  # instructions from which a value is settled before a loop


class Recorder:
    """Statements of one kernel, as its function runs.

    slots      dtypes of all numbers, the launch's first
    aliases    slot of a pointer -> number of the memory it points into
    epochs     of each memory: how many stores there have been
    outer      see `Compiled`; by what was asked and the name
    """

    def __init__(self, aliases: dict[int, int], slots: Iterable[DType]) -> None:
        self.slots = list(slots)
        self.inputs = len(self.slots)
        self.aliases = aliases
        self.epochs = dict.fromkeys(aliases.values(), 0)
        self.places: list[Place] = []
        self.statements: list[Any] = []
        self.ordered = False
        self.outer: dict[Any, tuple[Callable[[], Any], Any]] = {}
        self.live: Callable[[], list[tuple[Any, Any]]] = list
        self.call: Callable[..., Any] = lambda function, *args: function(*args)

    # ---- values ------------------------------------------------------------------------------

    def constant(self, value: Any, dtype: DType) -> Expr:
        return ir.const(value, dtype)

    def operate(self, op: str, *values: Expr) -> Expr:
        return _simple(ir.operate(op, *values))

    def cast(self, value: Expr, dtype: DType) -> Expr:
        return _simple(ir.cast(value, dtype))

    def bitcast(self, value: Expr, dtype: DType) -> Expr:
        return ir.bitcast(value, dtype)

    def arange(self, size: int) -> Expr:
        return coordinate(0, size)

    def broadcast(self, value: Expr, old: tuple[int, ...], new: tuple[int, ...]) -> Expr:
        return value  # along a dimension of size 1 nothing varies

    def expand(self, value: Expr, shape: tuple[int, ...], axis: int) -> Expr:
        return _renamed(value, {k: k + 1 for k in range(axis, len(shape))})

    def permute(self, value: Expr, shape: tuple[int, ...], order: tuple[int, ...]) -> Expr:
        return _renamed(value, {old: new for new, old in enumerate(order)})

    def reshape(self, value: Expr, old: tuple[int, ...], new: tuple[int, ...]) -> Expr:
        wide = [[k for k, n in enumerate(shape) if n > 1] for shape in (old, new)]
        if [old[k] for k in wide[0]] == [new[k] for k in wide[1]]:
            return _renamed(value, dict(zip(*wide, strict=True)))
        linear: Expr = ir.const(0, int32)
        for k, extent in enumerate(new):
            linear = self.operate("add", self.operate("mul", linear, ir.const(extent, int32)),
                                  coordinate(k, extent))
        table, stride = {}, 1
        for k in reversed(range(len(old))):
            index = linear
            if stride > 1:
                index = self.operate("shr", index, ir.const(stride.bit_length() - 1, int32))
            if k > 0 and size_of(old[:k]) > 1:
                index = self.operate("and", index, ir.const(old[k] - 1, int32))
            table[ir.make("coord", int32, (), k)] = index
            stride *= old[k]
        return substitute(value, table)

    def flip(self, value: Expr, shape: tuple[int, ...], axis: int) -> Expr:
        here = ir.make("coord", int32, (), axis)
        return substitute(value, {here: ir.const(shape[axis] - 1, int32) - here})

    def gather(self, source: Block, index: Block, axis: int) -> Expr:
        kept = self.settled(source)
        return kept.at(*(ir.cast(index.value, int32) if k == axis else coordinate(k, n)
                         for k, n in enumerate(source.shape)))

    def paired(self, block: Block, step: int, axis: int) -> tuple[Expr, Expr]:
        """A block's elements, and for each that whose index on the axis differs in one bit."""
        kept = self.settled(block)
        other = [coordinate(k, n) for k, n in enumerate(block.shape)]
        other[axis] = self.operate("xor", other[axis], ir.const(step, int32))
        return kept.whole(), kept.at(*other)

    def shown(self, block: Block) -> str:
        return f"{block.type}[{', '.join(map(str, block.shape))}]"

    def number(self, block: Block, what: str) -> Any:
        if block.value.op == "const":
            return block.value.attr
        if block.shape:
            raise ValueError("the truth of a block of several elements is not one value; use "
                             "tl.where, or `&` and `|`")
        raise TypeError(f"a number of the launch cannot become a Python {what} while the kernel is "
                        "compiled; make it a parameter annotated `tl.constexpr`")

    # ---- numbers of a program ----------------------------------------------------------------

    def program(self, axis: int) -> Expr:
        return ir.argument(axis, int32)

    def programs(self, axis: int) -> Expr:
        return ir.argument(3 + axis, int32)

    def slot(self, dtype: DType) -> int:
        """A new number of the program."""
        self.slots.append(dtype)
        return len(self.slots) - 1

    def place(self, dtype: DType, shape: tuple[int, ...]) -> Place:
        """A new temporary array."""
        self.places.append(Place(len(self.places), dtype, shape))
        return self.places[-1]

    def counted(self, start: Any, stop: Any, step: Any) -> Counted:
        return Counted(start, stop, step)

    # ---- memory ------------------------------------------------------------------------------

    def load(self, pointer: Block, mask: Block | None, other: Block | None) -> Expr:
        dtype = pointer.type.element_ty.core
        memory = self.aliases[pointer.base]
        made = ir.make("load", dtype, (
            pointer.value, program.TRUE if mask is None else mask.value,
            ir.const(0, dtype) if other is None else other.value,
        ), (pointer.base, self.epochs[memory]))
        return self.let(made) if not pointer.shape else made

    def let(self, value: Expr) -> Expr:
        """A number, computed now."""
        self.current(value)
        slot = self.slot(value.dtype)
        self.statements.append(Let(slot, value))
        return ir.argument(slot, value.dtype)

    def store(self, pointer: Block, value: Block, mask: Block | None) -> None:
        self._before_store(pointer.base)
        offset, held = pointer.value, program.TRUE if mask is None else mask.value
        item = value
        if self._reads(pointer.base, (value.value, held)) and not self._pointwise(
                pointer, (value.value, held)):
            item = self.kept(value)
            if mask is not None and self._reads(pointer.base, (held,)):
                held = self.kept(mask).value
        effect = program.Write(pointer.base, pointer.type.element_ty.core, offset, item.value, held)
        self.nest(pointer.shape, effect)
        self._stored(pointer.base)

    def atomic(self, kind: str, pointer: Block, values: list[Block], mask: Block | None) -> Expr:
        self._before_store(pointer.base)
        self.ordered = True
        dtype = pointer.type.element_ty.core
        operands = tuple(self.kept(v).value if self._reads(pointer.base, (v.value,)) else v.value
                         for v in values)
        into = self._result(dtype, pointer.shape)
        self.nest(pointer.shape, program.Atomic(
            kind, pointer.base, pointer.value, operands,
            program.TRUE if mask is None else mask.value, into))
        self._stored(pointer.base)
        return self._read(into, dtype)

    def _before_store(self, slot: int) -> None:
        """Settle what is still wanted and was loaded from the memory that is to change."""
        for keeper, name in self.live():
            block = keeper[name]
            if self._reads(slot, (block.value,)):
                keeper[name] = self.kept(block)

    def _reads(self, slot: int, exprs: Iterable[Expr]) -> bool:
        memory = self.aliases[slot]
        return any(n.op == "load" and self.aliases[n.attr[0]] == memory for n in walk(*exprs))

    def _pointwise(self, pointer: Block, exprs: Iterable[Expr]) -> bool:
        """Whether each point only reads the element that it writes, and no two share one."""
        loads = [n for n in walk(*exprs) if n.op == "load"
                 and self.aliases[n.attr[0]] == self.aliases[pointer.base]]
        if any(n.args[0] is not pointer.value or n.attr[0] != pointer.base for n in loads):
            return False
        wide = [k for k, n in enumerate(pointer.shape) if n > 1]
        if len(wide) != 1:
            return not wide
        made = program.split(pointer.value, wide[0])
        return made is not None and program.number_of(made[1]) not in (None, 0)

    def _stored(self, slot: int) -> None:
        self.epochs[self.aliases[slot]] += 1

    # ---- loops over blocks -------------------------------------------------------------------

    def nest(self, shape: tuple[int, ...], effect: Any) -> None:
        """Evaluate an effect at each point of a block, now."""
        self.current(*program.roots_of(effect))
        self.statements.append(Nest(shape, (effect,)))

    def current(self, *roots: Expr) -> None:
        """A load that waited while its memory changed would give wrong values."""
        for node in walk(*roots):
            if node.op == "load" and node.attr[1] != self.epochs[self.aliases[node.attr[0]]]:
                raise NotImplementedError(
                    "a block was loaded before, and is used after, a store to the same tensor, "
                    "within one expression; give the block a name of its own first")

    def settled(self, block: Block) -> Place:
        """A place with the block's values."""
        made = self.place(block.value.dtype, block.shape)
        self.nest(block.shape, Keep(made, block.value))
        return made

    def kept(self, block: Block) -> Block:
        """The block, its values computed now."""
        if not block.shape:
            value = self.let(block.value)
        else:
            value = self.settled(block).whole()
        return Block(value, block.type, block.shape, block.base)

    def _result(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        return self.place(dtype, shape) if shape else self.slot(dtype)

    def _read(self, into: Any, dtype: DType) -> Expr:
        return into.whole() if isinstance(into, Place) else ir.argument(into, dtype)

    def fold(self, kind: str, block: Block, axis: int) -> Expr:
        shape = (*block.shape[:axis], *block.shape[axis + 1:])
        if block.shape[axis] == 1:
            return _renamed(block.value, {k: k - 1 for k in range(axis + 1, len(block.shape))})
        into = self._result(block.value.dtype, shape)
        self.nest(block.shape, program.Fold(kind, block.value, axis, into))
        return self._read(into, block.value.dtype)

    def scan(self, values: tuple[Block, ...], axis: int, combine: Any, reverse: bool, last: bool
             ) -> tuple[Block, ...]:
        shape = values[0].shape
        dtypes = [v.value.dtype for v in values]
        left, right = ([self.slot(d) for d in dtypes] for _ in range(2))
        numbers = [Block(ir.argument(s, d), v.type) for side in (left, right)
                   for s, d, v in zip(side, dtypes, values, strict=True)]
        before = len(self.statements)
        made = self.call(combine, *numbers)
        made = made if isinstance(made, tuple) else (made,)
        if len(self.statements) != before or len(made) != len(values):
            raise ValueError("the function that combines takes and gives numbers only: it may not "
                             "load, store or loop, and gives as many as it combines")
        combined = tuple(blocks.cast(blocks.block(m), v.type).value
                         for m, v in zip(made, values, strict=True))
        kept = (*shape[:axis], *shape[axis + 1:]) if last else shape
        into = tuple(self._result(d, kept) for d in dtypes)
        self.nest(shape, program.Scan(tuple(v.value for v in values), tuple(left), tuple(right),
                                      combined, axis, into, reverse, last))
        return tuple(Block(self._read(i, d), v.type, kept)
                     for i, d, v in zip(into, dtypes, values, strict=True))

    def dot(self, a: Block, b: Block, start: Block | None, shape: tuple[int, int]) -> Expr:
        first = None if start is None or _zero(start.value) else self.settled(start)
        left, right = self.settled(a), self.settled(b)
        into = self.place(a.value.dtype, shape)
        self.statements.append(program.Product(left, right, first, into))
        return into.whole()

    def say(self, prefix: Any, values: list[Block]) -> None:
        raise NeedsInterpreter("device_print")

    def require(self, failed: Block, message: str) -> None:
        """As in Triton without TRITON_DEBUG: asserts are checked by the interpreter."""


class Counted:
    """A loop whose bounds may be numbers of the launch."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.bounds = start, stop, step


def dear(value: Expr) -> bool:
    """Whether a value should not be made again for each turn of a loop."""
    return any(n.op == "load" for n in walk(value)) or bool(axes_of(value)) \
        and program.work(value) >= DEAR


def _simple(made: Expr) -> Expr:
    from ..passes.simplify import simplified

    found = simplified(made, made.args)
    return made if found is None else found


def _zero(value: Expr) -> bool:
    return value.op == "const" and value.attr == 0


def _renamed(value: Expr, names: dict[int, int]) -> Expr:
    moved = {k: n for k, n in names.items() if k != n}
    if not moved:
        return value
    return substitute(value, {ir.make("coord", int32, (), k): ir.make("coord", int32, (), n)
                              for k, n in moved.items()})

