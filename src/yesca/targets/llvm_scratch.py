"""Values that several passes over a row need: made once, kept in a row of scratch memory.

A rows stage goes over its inner axis once for each level of folds and once more for its stores.
What is dear and wanted by more than one pass goes to the stack when it is first made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.dtypes import bool_
from ..loops.folds import WIDE
from ..loops.ir import Expr, walk
from .llvm_values import Value, memory_type, splat, vector_type

if TYPE_CHECKING:
    from .llvm import Frame, StageText

DEAR = 12  # operations from which a value is kept


class Scratch:
    """The rows of scratch memory of one stage, and which pass fills or reads which."""

    def __init__(self, writer: StageText, passes: list[list[Expr]]) -> None:
        self.writer = writer
        self.rows: dict[Expr, str] = {}
        self.first: dict[Expr, int] = {}
        self.now = 0
        needs = [_needed(writer, roots) for roots in passes]
        for node in _shared(needs):
            self.first[node] = next(k for k, need in enumerate(needs) if node in need)
        self.last = {node: max(k for k, need in enumerate(needs) if node in need)
                     for node in self.first}
        for node in self.first:
            size = writer.text.let(f"add i64 {writer.size}, {WIDE}")
            self.rows[node] = writer.text.let(
                f"alloca {memory_type(node.dtype)}, i64 {size}, align 64", "s")

    def enter(self, inside: Frame) -> None:
        """At a point of a pass: what earlier passes have made is read."""
        text = self.writer.text
        for node, row in self.rows.items():
            if self.first[node] < self.now <= self.last[node]:
                kind = vector_type(memory_type(node.dtype), inside.lanes)
                name = text.let(f"load {kind}, ptr {self._at(inside, node, row)}, "
                                f"align {node.dtype.itemsize}")
                inside.values[node] = Value(name, node.dtype, inside.lanes)

    def leave(self, inside: Frame) -> None:
        """At the end of a point: what this pass has made first is kept."""
        text = self.writer.text
        for node, row in self.rows.items():
            if self.first[node] == self.now:
                value = splat(text, self.writer.value(inside, node), inside.lanes)
                text.line(f"store {value.typed}, ptr {self._at(inside, node, row)}, "
                          f"align {node.dtype.itemsize}")

    def _at(self, inside: Frame, node: Expr, row: str) -> str:
        return self.writer.text.let(
            f"getelementptr {memory_type(node.dtype)}, ptr {row}, i64 {inside.index}")


def _needed(writer: StageText, roots: list[Expr]) -> set[Expr]:
    """What a pass computes at each point: below its roots, folds left out."""
    found: set[Expr] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in found or node.op == "fold" or node not in writer.varying:
            continue
        found.add(node)
        stack.extend(node.args)
    return found


def _shared(needs: list[set[Expr]]) -> list[Expr]:
    """The topmost dear values that more than one pass needs."""
    often = {n for k, need in enumerate(needs) for n in need
             if any(n in other for other in needs[k + 1:])}
    under = {a for need in needs for n in need for a in n.args
             if n in often and all(n in other for other in needs if a in other)}
    return [n for n in walk(*often) if n in often and n not in under
            and n.dtype is not bool_ and _work(n, often) >= DEAR]


def _work(node: Expr, within: set[Expr]) -> int:
    return sum(n.op not in ("load", "const", "argument") for n in walk(node) if n in within)
