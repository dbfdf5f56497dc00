"""A kernel's function and the kinds of its arguments to machine code."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..base import settings
from ..core.dtypes import DType, int32, int64
from ..loops import blocks as programs
from ..loops import ir
from ..loops.block_printer import describe
from . import types
from .arguments import aliases, argument_kind
from .blocks import Block, size_of
from .maps import Map, map_of
from .recording import Recorder
from .sources import Function, constant_key
from .tracing import trace

CHUNK = 16384  # points of blocks that a thread takes at least at once
PIECES = 64  # at most, of the programs of a grid
_TURNS = 8  # guessed for a loop whose length is known at run time only


@dataclass(frozen=True, eq=False)
class Compiled:
    """Machine code of a kernel for some kinds of arguments.

    arguments  (name, whether it is a pointer) of each word after the grid; `format` packs them
    read       tensors that it reads of, by their number among these
    written    tensors that it writes to
    ordered    its programs run one after the other
    grain      how many programs a thread takes at least at once
    loops      whether it has loops, so that one program may take long
    outer      (what looks a name up, what it gave) of numbers from around the kernel
    map        what it does as a flat stage, if it can be said so
    plans      of launches that compiled programs record, see `plans.py`
    """

    name: str
    program: programs.Program
    text: str = field(repr=False)
    address: int
    arguments: tuple[tuple[str, bool], ...]
    format: str
    read: tuple[int, ...]
    written: tuple[int, ...]
    ordered: bool
    grain: int
    loops: bool
    outer: tuple[tuple[Callable[[], Any], Any], ...] = field(default=(), repr=False)
    map: Map | None = field(default=None, repr=False)
    plans: dict[Any, Any] = field(default_factory=dict, repr=False)

    def holds(self) -> bool:
        """Whether all that was read from around the kernel is as it was."""
        return all(constant_key(read()) == key for read, key in self.outer)

    def pieces(self, total: int) -> tuple[int, bool]:
        """How many programs of a grid are one piece of work, and whether the launch may take long
        enough for other threads to have the GIL meanwhile."""
        grain = total if self.ordered else max(self.grain, -(-total // PIECES))
        return grain, self.loops or total > self.grain

    @cached_property
    def pointers(self) -> tuple[bool, ...]:
        """Which words after the grid are addresses."""
        return tuple(pointer for _, pointer in self.arguments)

    @cached_property
    def pack(self) -> Callable[..., bytes]:
        """The words of a launch: its grid, then its arguments."""
        return struct.Struct(self.format).pack

    @cached_property
    def asm(self) -> dict[str, str]:
        """"ttir": statements over blocks; "llir": LLVM text; "asm": assembly of this machine."""
        return {"ttir": describe(self.program), "llir": self.text, "asm": _assembly(self.text)}


def _assembly(text: str) -> str:
    from ..runtime import machine
    from ..runtime.compiler import Compiler

    import llvmlite.binding as llvm

    maker = Compiler(llvm.get_process_triple(), *machine.target())
    module = maker.parse(text)
    maker.optimise(module)
    return maker.assembly(module)


def compiled(function: Function, fixed: dict[str, bool], values: list[Any]) -> Compiled:
    """The machine code of a kernel for arguments like these.

    fixed: of each parameter, whether its value is known when the kernel is compiled
    """
    slots: list[DType] = [int32] * programs.GRID_SLOTS
    names: dict[str, Any] = {}
    words: list[tuple[str, bool, str]] = []
    pointers: list[int] = []
    tensors: list[Any] = []
    for (name, known), value in zip(fixed.items(), values, strict=True):
        kind = None if known else argument_kind(name, value)
        if kind is None:
            names[name] = value
            continue
        slot = len(slots)
        if kind == "pointer":
            pointers.append(slot)
            tensors.append(value)
            slots.append(int64)
            pointer = types.pointer_type(types.of(value._spec.dtype))
            names[name] = Block(ir.const(0, int64), pointer, (), slot)
        else:
            slots.append(kind.core)
            names[name] = Block(ir.argument(slot, kind.core), kind)
        words.append((name, kind == "pointer", _letter(kind)))
    recorder = Recorder(dict(zip(pointers, aliases(tensors), strict=True)), slots)
    trace(function, names, recorder)
    return _made(function, recorder, words)


def _letter(kind: Any) -> str:
    return "d" if kind != "pointer" and kind.is_floating() else \
        "Q" if kind == "pointer" or kind is types.uint64 else "q"


def _made(function: Function, recorder: Recorder, words: list[tuple[str, bool, str]]) -> Compiled:
    from ..passes.block_programs import expanded, prepare
    from ..runtime import machine
    from ..targets.block_text import emit_program

    program = prepare(programs.Program(
        function.name, tuple(recorder.statements), tuple(recorder.slots), recorder.inputs,
        frozenset(recorder.aliases), tuple(recorder.places), recorder.ordered))
    if settings.DEBUG.get() >= 3:
        print(describe(program), file=sys.stderr)
    text = emit_program(expanded(program), "SYMBOL")
    key = machine.hash_key("blocks", text)
    symbol = machine.symbol("kernel", key)
    text = text.replace("@SYMBOL(", f"@{symbol}(")
    if "output_code" in settings.LOGS.get():
        print(f"; {function.name}\n{text}", file=sys.stderr)
    address = machine.load(function.name, text, key).address(symbol)
    pointers = sorted(recorder.aliases)
    read = loaded(program.statements)
    written = {e.pointer for s in walked(program.statements) if isinstance(s, programs.Nest)
               for e in s.effects if isinstance(e, (programs.Write, programs.Atomic))}
    weight = sum(_points(s) for s in program.statements)
    return Compiled(
        function.name, program, text, address, tuple((n, p) for n, p, _ in words),
        "=qqq" + "".join(letter for _, _, letter in words),
        *(tuple(k for k, slot in enumerate(pointers) if slot in touched)
          for touched in (read, written)),
        program.ordered, max(1, CHUNK // max(weight, 1)),
        any(isinstance(s, (programs.Loop, programs.While)) for s in walked(program.statements)),
        tuple(recorder.outer.values()),
        map_of(recorder.statements, recorder.aliases, recorder.inputs))


def loaded(statements: tuple[Any, ...]) -> set[int]:
    """The pointers that statements read through."""
    found = {e.pointer for s in walked(statements) if isinstance(s, programs.Nest)
             for e in s.effects if isinstance(e, programs.Atomic)}

    def look(expr: ir.Expr) -> ir.Expr:
        found.update(node.attr[0] for node in ir.walk(expr) if node.op == "load")
        return expr

    for item in statements:
        programs.mapped_statement(item, look)
    return found


def walked(statements: tuple[Any, ...]) -> Any:
    """All statements, those inside of others included."""
    for item in statements:
        yield item
        for inside in _bodies(item):
            yield from walked(inside)


def _bodies(item: Any) -> tuple[Any, ...]:
    if isinstance(item, programs.Loop):
        return (item.body,)
    if isinstance(item, programs.While):
        return (item.before, item.body)
    return (item.then, item.otherwise) if isinstance(item, programs.Branch) else ()


def _points(item: Any) -> int:
    """About how many points of blocks a statement visits."""
    if isinstance(item, programs.Nest):
        return size_of(item.shape)
    if isinstance(item, programs.Product):
        return size_of(item.into.shape) * item.a.shape[1]
    return sum(_points(s) for body in _bodies(item) for s in body) * (
        _TURNS if isinstance(item, (programs.Loop, programs.While)) else 1)
