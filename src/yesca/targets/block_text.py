"""Programs over blocks as LLVM text: statements, and the numbers of a program.

Words of a launch: the grid's three extents, then the numbers and addresses of the launch. The
machine function runs programs [lo, hi). Loops over blocks are in `block_nests.py`.
"""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int32, int64
from ..loops.blocks import (
    GRID_SLOTS, Branch, Let, Loop, Nest, Place, Product, Program, While, axes_of,
)
from ..loops.ir import Expr, argument
from .llvm_function import FunctionText
from .llvm_values import (
    Text, Value, literal, operation, scalar_type, splat, vector_type,
)

ON_STACK = 1 << 20  # bytes of places up to which they are on the stack of the thread
ALIGNED = 64
_PLACED = ("load", "local")  # their operands say where, which is not computed lane by lane
_PLAIN = ("const", "argument")


class Level:
    """Values known at one depth of a nest's loops; `axis` is the dimension that the loop is over.

    What is known at a level is known at those inside of it.
    """

    def __init__(self, parent: Level | None, axis: int | None = None, index: str = "",
                 lanes: int = 1) -> None:
        self.parent, self.axis, self.index, self.lanes = parent, axis, index, lanes
        self.values: dict[Expr, Value] = {}


class BlockText(FunctionText):
    """Writes one program."""

    def __init__(self, program: Program, symbol: str) -> None:
        super().__init__(symbol)
        self.program = program
        self.entry = Level(None)
        self.slots: dict[int, str] = {}
        self.offsets, self.bytes = _layout(program.places)

    def write(self) -> str:
        """The text of the function."""
        text = self.text
        extents = [self.word(k) for k in range(3)]
        self.read_inputs(extents)
        self.memory = self._memory()
        for slot in (0, 1, 2):
            self.slots[slot] = self.alloca("i32")

        def program(position: str) -> None:
            rest = position
            for axis in range(3):
                here = rest
                if axis < 2:
                    upper = text.let(f"udiv i64 {rest}, {extents[axis]}")
                    below = text.let(f"mul i64 {upper}, {extents[axis]}")
                    here = text.let(f"sub i64 {rest}, {below}")
                    rest = upper
                narrow = text.let(f"trunc i64 {here} to i32")
                text.line(f"store i32 {narrow}, ptr {self.slots[axis]}")
            self.statements(self.program.statements)

        self.loop("%lo", "%hi", "1", program)
        if self.bytes > ON_STACK:
            text.declarations.add("declare void @free(ptr)")
            text.line(f"call void @free(ptr {self.block})")
        return self.finish()

    def read_inputs(self, extents: list[str]) -> None:
        for axis, extent in enumerate(extents):
            narrow = self.text.let(f"trunc i64 {extent} to i32")
            self.entry.values[argument(3 + axis, int32)] = Value(narrow, int32)
        self.pointers: dict[int, str] = {}
        for slot in range(GRID_SLOTS, self.program.inputs):
            word = slot - GRID_SLOTS + 3
            if slot in self.program.pointers:
                self.pointers[slot] = self.word(word, "ptr")
            else:
                dtype = self.program.slots[slot]
                self.entry.values[argument(slot, dtype)] = self.argument(word, dtype)

    def _memory(self) -> str:
        """The address of the places of one program, which the next one uses again."""
        text = self.text
        if self.bytes <= ON_STACK:
            self.allocas.append(f"  %places = alloca i8, i64 {max(self.bytes, 1)}, align {ALIGNED}")
            return "%places"
        text.declarations.add("declare ptr @malloc(i64)")
        self.block = text.let(f"call ptr @malloc(i64 {self.bytes + ALIGNED})")
        number = text.let(f"ptrtoint ptr {self.block} to i64")
        up = text.let(f"and i64 {text.let(f'add i64 {number}, {ALIGNED - 1}')}, {-ALIGNED}")
        return text.let(f"inttoptr i64 {up} to ptr")

    def place(self, number: int) -> str:
        """The address of a place."""
        return self.text.let(f"getelementptr i8, ptr {self.memory}, i64 {self.offsets[number]}")

    # ---- statements --------------------------------------------------------------------------

    def statements(self, items: tuple[Any, ...]) -> None:
        for item in items:
            self.statement(item)

    def statement(self, item: Any) -> None:
        if isinstance(item, Let):
            self.set(item.slot, self.once(item.value))
        elif isinstance(item, Loop):
            self.counted(item)
        elif isinstance(item, While):
            self.repeated(item)
        elif isinstance(item, Branch):
            self.branch(self.once(item.condition).text, lambda: self.statements(item.then),
                        lambda: self.statements(item.otherwise))
        elif isinstance(item, Product):
            from .block_products import write_product

            write_product(self, item)
        else:
            assert isinstance(item, Nest)
            from .block_nests import write_nest

            write_nest(self, item)

    def once(self, expr: Expr) -> Value:
        """A number, as it is now."""
        return self.value(Level(self.entry), expr)

    def slot(self, number: int) -> str:
        """The memory of a number."""
        found = self.slots.get(number)
        if found is None:
            found = self.slots[number] = self.alloca(scalar_type(self.program.slots[number]))
        return found

    def set(self, slot: int, value: Value) -> None:
        self.text.line(f"store {value.typed}, ptr {self.slot(slot)}")

    def counted(self, item: Loop) -> None:
        text = self.text
        start, stop, step = (_wide(text, self.once(e)) for e in (item.start, item.stop, item.step))
        dtype = self.program.slots[item.slot]
        if item.step.op == "const" and item.step.attr > 0:
            count = stop
        else:  # a loop that counts down, or by a number of the launch, counts its turns
            count = self._turns(start, stop, step)

        def turn(index: str) -> None:
            here = index
            if count is not stop:
                here = text.let(f"add i64 {start}, {text.let(f'mul i64 {index}, {step}')}")
            narrow = here if dtype is int64 else text.let(f"trunc i64 {here} to i32")
            self.set(item.slot, Value(narrow, dtype))
            self.statements(item.body)

        if count is stop:
            self.loop(start, stop, step, turn)
        else:
            self.loop("0", count, "1", turn)

    def _turns(self, start: str, stop: str, step: str) -> str:
        """How often a loop runs whose step may be negative; a step of 0 runs never."""
        text = self.text
        down = text.let(f"icmp slt i64 {step}, 0")
        way = text.let(f"sub i64 {stop}, {start}")
        size = text.let(f"select i1 {down}, i64 {text.let(f'sub i64 0, {step}')}, i64 {step}")
        far = text.let(f"select i1 {down}, i64 {text.let(f'sub i64 0, {way}')}, i64 {way}")
        none = text.let(f"icmp eq i64 {size}, 0")
        safe = text.let(f"select i1 {none}, i64 1, i64 {size}")
        up = text.let(f"add i64 {far}, {text.let(f'sub i64 {safe}, 1')}")
        turns = text.let(f"sdiv i64 {up}, {safe}")
        return text.let(f"select i1 {none}, i64 0, i64 {turns}")

    def repeated(self, item: While) -> None:
        text = self.text
        head, inside, done = (text.label(s) for s in ("head", "body", "done"))
        text.line(f"br label %{head}")
        text.block(head)
        self.statements(item.before)
        condition = self.once(item.condition)
        text.line(f"br i1 {condition.text}, label %{inside}, label %{done}")
        text.block(inside)
        self.statements(item.body)
        text.line(f"br label %{head}")
        text.block(done)

    # ---- expressions -------------------------------------------------------------------------

    def value(self, level: Level, node: Expr) -> Value:
        """The value of an expression at a level, computed here unless one outside knows it."""
        if node.op == "const":
            return Value(literal(node.attr, node.dtype), node.dtype)
        if node.op == "argument" and node.attr in self.slots:
            kind = scalar_type(node.dtype)
            return Value(self.text.let(f"load {kind}, ptr {self.slots[node.attr]}"), node.dtype)
        known = self.known(level, node)
        stack = [] if known is not None else [node]  # long chains are too deep for calls
        while stack:
            top = stack[-1]
            inside = [a for a in top.args if top.op not in _PLACED and a.op not in _PLAIN
                      and self.known(level, a) is None]
            if inside:
                stack += inside
                continue
            stack.pop()
            if self.known(level, top) is None:
                level.values[top] = self.computed(level, top)
        return level.values[node] if known is None else known

    def known(self, level: Level, node: Expr) -> Value | None:
        """The value of an expression that was computed at a level or outside of it."""
        at: Level | None = level
        while at is not None:
            if node in at.values:
                return at.values[node]
            at = at.parent
        return None

    def computed(self, level: Level, node: Expr) -> Value:
        from .block_memory import load, load_local

        if node.op == "coord":
            return self.coordinate(level, node.attr)
        if level.lanes > 1 and level.axis not in axes_of(node):
            level = Level(level)  # one for all lanes
        if node.op == "load":
            return load(self, level, node)
        if node.op == "local":
            return load_local(self, level, node)
        if node.op == "argument":
            raise AssertionError(f"[block_text] slot {node.attr} is read before it is set")
        args = [self.value(level, a) for a in node.args]
        return operation(self.text, node, args)

    def coordinate(self, level: Level, axis: int) -> Value:
        """The index on a dimension, of each lane if the lanes run over it."""
        at: Level | None = level
        while at is not None and at.axis != axis:
            at = at.parent
        assert at is not None
        narrow = Value(self.text.let(f"trunc i64 {at.index} to i32"), int32)
        if at.lanes == 1:
            return narrow
        steps = ", ".join(f"i32 {k}" for k in range(at.lanes))
        base = splat(self.text, narrow, at.lanes)
        return Value(self.text.let(f"add {base.typed}, <{steps}>"), int32, at.lanes)

    def wide(self, value: Value) -> Value:
        """Whole numbers as int64."""
        if value.dtype is int64:
            return value
        kind = vector_type("i64", value.lanes)
        word = "sext" if value.dtype.is_signed else "zext"
        return Value(self.text.let(f"{word} {value.typed} to {kind}"), int64, value.lanes)


def _wide(text: Text, value: Value) -> str:
    if value.dtype is int64:
        return value.text
    return text.let(f"sext {value.typed} to i64")


def _layout(places: tuple[Place, ...]) -> tuple[dict[int, int], int]:
    """Where each place begins, and how many bytes they take."""
    at, total = {}, 0
    for place in places:
        at[place.number] = total
        size = place.dtype.itemsize
        for extent in place.shape:
            size *= extent
        total += -(-size // ALIGNED) * ALIGNED
    return at, total


def emit_program(program: Program, symbol: str, width: int = 512) -> str:
    """The LLVM module of one program."""
    from .llvm import FOOTER

    writer = BlockText(program, symbol)
    body = writer.write()
    return "\n".join([*sorted(writer.text.declarations), body, FOOTER.format(width=width)])

