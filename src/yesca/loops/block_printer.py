"""Programs over blocks as text, for people."""

from __future__ import annotations

from typing import Any

from .blocks import (
    Atomic, Branch, Fold, Keep, Let, Loop, Nest, Place, Product, Program, Scan, While, Write,
)
from .ir import Expr, walk

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "idiv": "//", "irem": "%", "and": "&",
          "or": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
          "ne": "!=", "shl": "<<", "shr": ">>"}
_SHORT = 60  # characters up to which an expression stands inside another


def describe(program: Program) -> str:
    """The statements of a program, a line each; long expressions are named where they repeat.

    >>> from yesca.core.dtypes import int32
    >>> from yesca.loops import ir
    >>> made = Let(6, ir.argument(0, int32) * 2)
    >>> print(describe(Program("twice", (made,), (int32,) * 7, 6, frozenset(), (), False)))
    program twice
      s6 = (pid0 * 2)
    """
    lines = [f"program {program.name}"]
    lines += [f"  t{p.number}: {p.dtype.name}{list(p.shape)}" for p in program.places]
    _Writer(lines).statements(program.statements, 1)
    return "\n".join(lines)


class _Writer:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.names = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def statements(self, items: tuple[Any, ...], depth: int) -> None:
        for item in items:
            self.statement(item, depth)

    def statement(self, item: Any, depth: int) -> None:
        if isinstance(item, Let):
            self.line(depth, f"s{item.slot} = {self.text(depth, item.value)[0]}")
        elif isinstance(item, Loop):
            start, stop, step = self.text(depth, item.start, item.stop, item.step)
            self.line(depth, f"for s{item.slot} in {start}..{stop} by {step}")
            self.statements(item.body, depth + 1)
        elif isinstance(item, While):
            self.line(depth, "while")
            self.statements(item.before, depth + 1)
            self.line(depth + 1, f"holds {self.text(depth + 1, item.condition)[0]}")
            self.statements(item.body, depth + 1)
        elif isinstance(item, Branch):
            self.line(depth, f"if {self.text(depth, item.condition)[0]}")
            self.statements(item.then, depth + 1)
            self.line(depth, "else")
            self.statements(item.otherwise, depth + 1)
        elif isinstance(item, Product):
            start = "" if item.start is None else f" + t{item.start.number}"
            self.line(depth, f"t{item.into.number} = t{item.a.number} @ t{item.b.number}{start}")
        else:
            assert isinstance(item, Nest)
            self.line(depth, f"each of {list(item.shape)}")
            for effect in item.effects:
                self.effect(effect, depth + 1)

    def effect(self, item: Any, depth: int) -> None:
        if isinstance(item, Write):
            offset, value, mask = self.text(depth, item.offset, item.value, item.mask)
            self.line(depth, f"memory s{item.pointer}[{offset}] = {value} where {mask}")
        elif isinstance(item, Keep):
            self.line(depth, f"t{item.place.number} = {self.text(depth, item.value)[0]}")
        elif isinstance(item, Fold):
            self.line(depth, f"{_target(item.into)} = {item.kind} over {item.axis} of "
                             f"{self.text(depth, item.value)[0]}")
        elif isinstance(item, Scan):
            into, left = (", ".join(map(str, v)) for v in (map(_target, item.into), item.left))
            values = ", ".join(self.text(depth, *item.values))
            made = ", ".join(self.text(depth, *item.combined))
            self.line(depth, f"{into} = scan over {item.axis} of {values}: s{left} = {made}")
        else:
            assert isinstance(item, Atomic)
            offset, mask, *values = self.text(depth, item.offset, item.mask, *item.values)
            self.line(depth, f"{_target(item.into)} = atomic {item.kind} memory s{item.pointer}"
                             f"[{offset}], {', '.join(values)} where {mask}")

    def text(self, depth: int, *roots: Expr) -> list[str]:
        """Expressions; parts that are long go to lines of their own first."""
        made: dict[Expr, str] = {}
        for node in walk(*roots):
            text = _one(node, [made[a] for a in node.args])
            if len(text) > _SHORT and node not in roots:
                self.names += 1
                self.line(depth, f"v{self.names} = {text}")
                text = f"v{self.names}"
            made[node] = text
        return [made[r] for r in roots]


def _target(into: int | Place) -> str:
    return f"t{into.number}" if isinstance(into, Place) else f"s{into}"


def _one(node: Expr, args: list[str]) -> str:
    if node.op == "const":
        return str(node.attr)
    if node.op == "coord":
        return f"i{node.attr}"
    if node.op == "argument":
        return f"pid{node.attr}" if node.attr < 3 else \
            f"programs{node.attr - 3}" if node.attr < 6 else f"s{node.attr}"
    if node.op == "local":
        return f"t{node.attr}[{', '.join(args)}]"
    if node.op == "load":
        return f"memory s{node.attr[0]}[{args[0]}] where {args[1]} else {args[2]}"
    if node.op == "cast":
        return f"{node.dtype.name}({args[0]})"
    if node.op in _INFIX:
        return f"({args[0]} {_INFIX[node.op]} {args[1]})"
    return f"{node.op}({', '.join(args)})"
