"""Names that live from one turn of a loop to the next."""

from __future__ import annotations

from typing import Any

from ..loops import blocks as program
from ..loops import ir
from ..loops.blocks import Keep, Let, Nest
from . import blocks
from .blocks import Block
from .recording import Recorder


class Carry:
    """A name that lives from one turn of a loop to the next.

    straight: of offsets and pointers that move by one number each turn, only that is carried
    """

    def __init__(self, recorder: Recorder, name: str, start: Block, straight: bool) -> None:
        self.recorder, self.name, self.start, self.straight = recorder, name, start, straight
        self.next: Any = None
        dtype = start.value.dtype
        self.into = recorder.slot(dtype) if straight else recorder._result(dtype, start.shape)
        self.old = ir.argument(self.into, dtype) if straight else recorder._read(self.into, dtype)
        value = recorder.operate("add", start.value, self.old) if straight else self.old
        self.block = Block(value, start.type, start.shape, start.base)

    def begin(self) -> None:
        """Before the loop."""
        dtype = self.start.value.dtype
        if self.straight:
            self.recorder.statements.append(Let(self.into, ir.const(0, dtype)))
        elif not self.start.shape:
            self.recorder.statements.append(Let(self.into, self.start.value))
        else:
            self.recorder.statements.append(Nest(self.start.shape, (
                Keep(self.into, self.start.value),)))

    def accepts(self, value: Any) -> bool:
        """Take the value of the end of a turn; false if it does not move by one number."""
        value = blocks.block(value, self.start.type if not self.start.type.is_ptr() else None) \
            if not isinstance(value, Block) else value
        if value.type != self.start.type or value.shape != self.start.shape \
                or value.base is not self.start.base:
            raise TypeError(
                f"Loop-carried variable {self.name} has initial type {kind_of(self.start)} but is "
                f"re-assigned to {kind_of(value)} in loop! Please make sure that the type stays "
                "consistent: start with a value of the latter type, or cast")
        self.next = value.value if value.value is not self.block.value else None
        if self.straight and self.next is not None:
            self.next = _advance(self.next, self.block.value, self.old)
            return self.next is not None
        return True

    def in_place(self, value: Any) -> bool:
        """Whether the new value reads the old one only where it is written."""
        return all(n is self.old for n in ir.walk(value) if n.op == "local" and
                   not isinstance(self.into, int) and n.attr == self.into.number)

    def read_by(self, value: Any) -> bool:
        """Whether another name's new value needs this one's old one."""
        if isinstance(self.into, int):
            return self.old in set(ir.walk(value))
        return any(n.op == "local" and n.attr == self.into.number for n in ir.walk(value))

    def apart(self, value: Any) -> Any:
        """A value for the next turn, kept where no old one is."""
        shape = () if isinstance(self.into, int) else self.start.shape
        return self.recorder.kept(Block(value, self.start.type, shape)).value

    def set(self, value: Any) -> None:
        """The value for the next turn."""
        self.recorder.current(value)
        if isinstance(self.into, int):
            self.recorder.statements.append(Let(self.into, value))
        else:
            self.recorder.statements.append(Nest(self.start.shape, (Keep(self.into, value),)))


def _advance(new: Any, old: Any, number: Any) -> Any:
    """number + what was added to `old`, if that is one number for the whole block."""
    if new is old:
        return number
    if new.op not in ("add", "sub"):
        return None
    for x, y in (new.args, new.args[::-1]) if new.op == "add" else (new.args,):
        if not program.axes_of(y):
            inner = _advance(x, old, number)
            if inner is not None:
                return ir.operate(new.op, inner, y)
    return None


def kind_of(block: Block) -> str:
    return f"<{list(block.shape)}, {block.type}>" if block.shape else str(block.type)
