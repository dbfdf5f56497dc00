"""Kernels that are maps: each point of them reads and writes one element, everywhere the same.

Block after block, `program_id(0) * BLOCK + arange(0, BLOCK)`, they visit elements that lie in a
row. A compiled function may join such a launch with others: `Map.flat` says it as a flat stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.dtypes import INTEGRAL
from ..loops import blocks as programs
from ..loops import ir
from ..loops.ir import Buffer, Expr, Stage, Store

_INDEX = "coord", 0
_PROGRAM = "argument", 0


@dataclass(frozen=True)
class Map:
    """A kernel as a flat stage.

    buffers, arguments: of each, its number among the tensors, and among the numbers, of a launch
    block: elements of one program; bound: how many there are at most, or `number` says it
    """

    stage: Stage
    buffers: tuple[int, ...]
    arguments: tuple[int, ...]
    block: int
    bound: int | None
    number: int | None

    def points(self, grid: tuple[int, int, int], numbers: tuple[Any, ...]) -> int:
        """How many elements a launch visits; 0 where it is more than one visit."""
        if grid[1:] != (1, 1):
            return 0
        limit = self.bound if self.number is None else numbers[self.number]
        every = grid[0] * self.block
        return every if limit is None else max(min(every, limit), 0)


def map_of(statements: list[Any], memories: dict[int, int], inputs: int) -> Map | None:
    """The map that statements are, None if they are none.

    memories: slots of pointers, and in which memory each lies; inputs: slots of a launch
    """
    written: set[int] = set()
    held, shape = None, None
    for item in statements:
        effect = item.effects[0] if isinstance(item, programs.Nest) else None
        if not isinstance(effect, programs.Write) or len(item.effects) > 1:
            return None
        if shape is None:
            held, shape = effect.mask, item.shape
        if len(item.shape) != 1 or item.shape != shape or effect.mask is not held:
            return None
        for node in ir.walk(effect.value):
            if node.op == "load" and (memories[node.attr[0]] in written or not _inside(
                    node.args[0], node.args[1], held, shape[0])):
                return None
        if not _inside(effect.offset, held, held, shape[0]) or memories[effect.pointer] in written:
            return None
        written.add(memories[effect.pointer])
    slots = list(memories)
    if held is None or any(memories[a] == memories[b] and memories[a] in written
                           for k, a in enumerate(slots) for b in slots[:k]):
        return None
    return _made(statements, held, slots, inputs)


def _inside(offset: Expr, mask: Expr, held: Expr, block: int) -> bool:
    """Whether an access is that of the point's own element, wherever the store's mask holds."""
    return mask in (held, programs.TRUE) and _line(offset) == {_INDEX: 1, _PROGRAM: block}


def _line(expr: Expr) -> dict[Any, int] | None:
    """What an offset is multiples of; a number is a multiple of None."""
    if expr.op == "const":
        return {None: expr.attr} if expr.attr else {}
    if expr.op in ("coord", "argument"):
        return {(expr.op, expr.attr): 1}
    if expr.dtype.category != INTEGRAL:
        return None
    parts = [_line(a) for a in expr.args]
    if any(p is None for p in parts) or expr.op not in ("cast", "add", "sub", "neg", "mul", "shl"):
        return None
    a, b = parts[0], parts[-1]
    assert a is not None and b is not None
    if expr.op == "cast":
        return a
    if expr.op in ("mul", "shl"):
        if expr.op == "mul" and a.keys() <= {None}:
            a, b = b, a
        if not b.keys() <= {None}:
            return None
        by = b.get(None, 0)
        by = 1 << by if expr.op == "shl" else by
        return {k: n * by for k, n in a.items() if by}
    if expr.op == "neg":
        return {k: -n for k, n in a.items()}
    sign = 1 if expr.op == "add" else -1
    summed = {k: a.get(k, 0) + sign * b.get(k, 0) for k in a | b}
    return {k: n for k, n in summed.items() if n}


def _made(statements: list[Any], held: Expr, slots: list[int], inputs: int) -> Map | None:
    numbers = [s for s in range(programs.GRID_SLOTS, inputs) if s not in slots]
    block = statements[0].shape[0]
    limit = _limit(held, block, numbers)
    if limit is None:
        return None
    effects = [item.effects[0] for item in statements]
    values = tuple(effect.value for effect in effects)
    loads = {n.attr[0]: n.dtype for n in ir.walk(*values) if n.op == "load"}
    places = {slot: k for k, slot in enumerate(loads)}
    values = ir.rewrite(values, lambda node, _: None if node.op != "load" else ir.load(
        places[node.attr[0]], node.dtype))
    given = {n.attr: n.dtype for n in ir.walk(*values) if n.op == "argument"}
    if not given.keys() <= set(numbers) or any(
            n.op in ("coord", "local") for n in ir.walk(*values)):
        return None  # the number of a point, or of a program, is part of its value
    words = {slot: k for k, slot in enumerate(given)}
    values = ir.rewrite(values, lambda node, _: None if node.op != "argument" else ir.argument(
        words[node.attr], node.dtype))
    stage = Stage(
        "flat", (*map(Buffer, loads.values()), *(Buffer(e.dtype, True) for e in effects)),
        tuple(given.values()), tuple(Store(len(loads) + k, v) for k, v in enumerate(values)))
    return Map(stage, tuple(slots.index(s) for s in (*loads, *(e.pointer for e in effects))),
               tuple(map(numbers.index, given)), block, *limit)


def _limit(held: Expr, block: int, numbers: list[int]) -> tuple[int | None, int | None] | None:
    """How many points a mask leaves: a constant, or which number of the launch says it."""
    if held is programs.TRUE:
        return None, None
    if held.op not in ("lt", "gt"):
        return None
    place, limit = held.args if held.op == "lt" else held.args[::-1]
    if not _inside(place, held, held, block):
        return None
    while limit.op == "cast" and limit.dtype.category == INTEGRAL:
        limit = limit.args[0]
    if limit.op == "const":
        return int(limit.attr), None
    if limit.op == "argument" and limit.attr in numbers:
        return None, numbers.index(limit.attr)
    return None
