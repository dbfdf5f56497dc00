"""The machine that runs a kernel as Python, one program after the other, and checks each access.

Blocks are NumPy arrays; `print`, `breakpoint()` and a debugger work inside of kernels. Memory
outside of a tensor is never touched: the access is reported with its line, program and lanes. So
are two programs that touch one element of which one stores to it, unless the kernel synchronises
them itself by atomic operations.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from ..core.dtypes import DType, bfloat16, bool_, int32
from ..core.tensor_base import address_of
from ..loops.folds import neutral
from . import blocks, types
from .blocks import Block
from .errors import OutOfBounds, Race

_PACKAGE = str(Path(__file__).parent)
_SHOWN = 4  # offsets and lanes that a report lists


class Held(NamedTuple):
    """An array and its dtype (bfloat16 is carried as float32)."""

    data: Any
    dtype: DType


class Memory:
    """A tensor that pointers point into, and which program touched which element last."""

    def __init__(self, name: str, tensor: Any) -> None:
        import numpy as np

        from ..loops.interpret import numpy_dtype

        self.name, self.tensor, self.dtype = name, tensor, tensor._spec.dtype
        raw = np.dtype(np.uint16) if self.dtype is bfloat16 else numpy_dtype(self.dtype)
        shape, steps = tensor._spec.shape, tensor._spec.strides
        reach = [(n - 1) * s for n, s in zip(shape, steps, strict=True)]
        self.low = sum(r for r in reach if r < 0) if tensor._spec.numel else 0
        self.high = sum(r for r in reach if r > 0) if tensor._spec.numel else -1
        self.data = np.empty(0, raw)
        if self.high >= self.low:
            import ctypes

            start = address_of(tensor) + self.low * raw.itemsize
            span = (self.high - self.low + 1) * raw.itemsize
            bytes_there = (ctypes.c_char * span).from_address(start)
            self.data = np.frombuffer(bytes_there, raw)
            self.data.flags.writeable = True
        self.stored = np.full(self.data.size, -1, np.int64)
        self.loaded = np.full(self.data.size, -1, np.int64)

    def read(self, index: Any) -> Any:
        import numpy as np

        found = self.data[index]
        return (found.astype(np.uint32) << 16).view(np.float32) if self.dtype is bfloat16 else found

    def write(self, index: Any, values: Any) -> None:
        import numpy as np

        if self.dtype is bfloat16:
            values = (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16
                      ).astype(np.uint16)
        self.data[index] = values


class Interpreter:
    """Blocks as NumPy arrays; see `Recorder` for what compiled kernels do instead."""

    def __init__(self, name: str, grid: tuple[int, int, int]) -> None:
        self.name, self.grid = name, grid
        self.at = (0, 0, 0)
        self.synchronised = False

    def positions(self) -> Iterator[tuple[int, int, int]]:
        """The programs of the grid in order."""
        wide, high, deep = self.grid
        for number in range(wide * high * deep):
            self.at = (number % wide, number // wide % high, number // wide // high)
            yield self.at

    # ---- values ------------------------------------------------------------------------------

    def constant(self, value: Any, dtype: DType) -> Held:
        import numpy as np

        from ..loops.interpret import convert, numpy_dtype

        if dtype.is_floating_point:
            return Held(convert(np.asarray(float(value)), dtype), dtype)
        return Held(np.asarray(value).astype(numpy_dtype(dtype)), dtype)

    def operate(self, op: str, *values: Held) -> Held:
        import numpy as np

        from ..loops.interpret import OPERATORS, convert

        dtype = bool_ if op in blocks.COMPARISONS else values[-1].dtype
        with np.errstate(all="ignore"):
            return Held(convert(OPERATORS[op](*(v.data for v in values)), dtype), dtype)

    def cast(self, value: Held, dtype: DType) -> Held:
        from ..loops.interpret import convert

        return Held(convert(value.data, dtype), dtype)

    def bitcast(self, value: Held, dtype: DType) -> Held:
        import numpy as np

        from ..loops.interpret import numpy_dtype

        data = np.ascontiguousarray(value.data)
        if value.dtype is bfloat16:
            data = (data.view(np.uint32) >> 16).astype(np.uint16)
        if dtype is bfloat16:
            wide = data.view(np.uint16).astype(np.uint32) << 16
            return Held(wide.view(np.float32), dtype)
        return Held(data.view(numpy_dtype(dtype)).reshape(value.data.shape), dtype)

    def arange(self, size: int) -> Held:
        import numpy as np

        return Held(np.arange(size, dtype=np.int32), int32)

    def broadcast(self, value: Held, old: Any, new: tuple[int, ...]) -> Held:
        import numpy as np

        return Held(np.broadcast_to(value.data, new), value.dtype)

    def expand(self, value: Held, shape: Any, axis: int) -> Held:
        import numpy as np

        return Held(np.expand_dims(value.data, axis), value.dtype)

    def permute(self, value: Held, shape: Any, order: tuple[int, ...]) -> Held:
        return Held(value.data.transpose(order), value.dtype)

    def reshape(self, value: Held, old: Any, new: tuple[int, ...]) -> Held:
        return Held(value.data.reshape(new), value.dtype)

    def flip(self, value: Held, shape: Any, axis: int) -> Held:
        import numpy as np

        return Held(np.flip(value.data, axis), value.dtype)

    def gather(self, source: Block, index: Block, axis: int) -> Held:
        import numpy as np

        places = index.value.data.astype(np.int64) & (source.shape[axis] - 1)
        return Held(np.take_along_axis(source.value.data, places, axis), source.value.dtype)

    def paired(self, block: Block, step: int, axis: int) -> tuple[Held, Held]:
        import numpy as np

        data, dtype = block.value
        other = np.take(data, np.arange(block.shape[axis]) ^ step, axis)
        return block.value, Held(other, dtype)

    def shown(self, block: Block) -> str:
        return str(block.value.data)

    def number(self, block: Block, what: str) -> Any:
        if block.numel != 1:
            raise ValueError("the truth of a block of several elements is not one value; use "
                             "tl.where, or `&` and `|`")
        return block.value.data.item()

    def program(self, axis: int) -> Held:
        return self.constant(self.at[axis], int32)

    def programs(self, axis: int) -> Held:
        return self.constant(self.grid[axis], int32)

    def counted(self, start: Any, stop: Any, step: Any) -> range:
        return range(int(start), int(stop), int(step))

    # ---- memory ------------------------------------------------------------------------------

    def load(self, pointer: Block, mask: Block | None, other: Block | None) -> Held:
        import numpy as np

        from ..loops.interpret import numpy_dtype

        memory: Memory = pointer.base
        places, held = self._places("load", "reads", pointer, mask)
        dtype = pointer.type.element_ty.core
        made = np.zeros(pointer.shape, numpy_dtype(dtype))
        if other is not None:
            made[...] = other.value.data
        self._ordered(memory, places, "reads", memory.stored)
        memory.loaded[places] = self._program()
        made[held] = memory.read(places)
        return Held(made, dtype)

    def store(self, pointer: Block, value: Block, mask: Block | None) -> None:
        memory: Memory = pointer.base
        places, held = self._places("store", "writes", pointer, mask)
        self._ordered(memory, places, "writes", memory.stored, memory.loaded)
        memory.stored[places] = self._program()
        memory.write(places, value.value.data[held])

    def _program(self) -> int:
        x, y, z = self.at
        return x + self.grid[0] * (y + self.grid[1] * z)

    def _places(self, function: str, does: str, pointer: Block, mask: Block | None
                ) -> tuple[Any, Any]:
        """Elements of the tensor's memory that are touched, and which lanes touch them."""
        import numpy as np

        memory: Memory = pointer.base
        offsets = pointer.value.data.astype(np.int64)
        held = np.ones(pointer.shape, bool) if mask is None else mask.value.data
        wrong = held & ((offsets < memory.low) | (offsets > memory.high))
        if wrong.any():
            raise OutOfBounds(self._outside(function, does, pointer, offsets, wrong, mask))
        return offsets[held] - memory.low, held

    def _outside(self, function: str, does: str, pointer: Block, offsets: Any, wrong: Any,
                 mask: Block | None) -> str:
        import numpy as np

        memory: Memory = pointer.base
        lanes = np.argwhere(wrong)[:_SHOWN]
        first = ", ".join(str(offsets[tuple(lane)]) for lane in lanes)
        where = ", ".join(str(tuple(map(int, lane))) if len(lane) != 1 else str(int(lane[0]))
                          for lane in lanes)
        more = ", ..." if int(wrong.sum()) > len(lanes) else ""
        said = f"no mask was given: tl.{function}(..., mask=...)" if mask is None else \
            "the mask lets these lanes through"
        has = "has no elements" if memory.high < memory.low else \
            f"has the offsets {memory.low}..{memory.high}"
        return (f"{self._here()}program {self.at} {does} {memory.name} at offset {first}{more} "
                f"(lane {where}{more}; {int(wrong.sum())} of {wrong.size} lanes), but the tensor "
                f"of shape {tuple(memory.tensor._spec.shape)} {has}; {said}")

    def _ordered(self, memory: Memory, places: Any, does: str, *others: Any) -> None:
        """Another program must not have touched the elements before."""
        if self.synchronised:
            return
        own = self._program()
        for touched in others:
            found = touched[places]
            wrong = (found >= 0) & (found != own)
            if wrong.any():
                k = int(wrong.argmax())
                number = int(found[k])
                first = (number % self.grid[0], number // self.grid[0] % self.grid[1],
                         number // self.grid[0] // self.grid[1])
                did = "written" if touched is memory.stored else "read"
                raise Race(
                    f"{self._here()}program {self.at} {does} {memory.name} at offset "
                    f"{int(places[k]) + memory.low}, which program {first} has {did}; programs run "
                    "in any order: let each store to elements of its own, or use tl.atomic_add")

    def _here(self) -> str:
        """Kernel and line of the statement that runs."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        if frame is None:
            return f"[{self.name}] "
        file, line = frame.f_code.co_filename, frame.f_lineno
        text = linecache.getline(file, line, frame.f_globals).strip()
        return f"[{self.name}] {file}:{line}, in {frame.f_code.co_name}:\n    {text}\n"

    def atomic(self, kind: str, pointer: Block, values: list[Block], mask: Block | None) -> Held:
        import numpy as np

        memory: Memory = pointer.base
        self.synchronised = True
        places, held = self._places(f"atomic_{kind}", "changes", pointer, mask)
        operands = [np.broadcast_to(v.value.data, pointer.shape)[held] for v in values]
        made = np.zeros(pointer.shape, memory.data.dtype)
        before = np.zeros(places.shape, memory.data.dtype)
        for k, place in enumerate(places.reshape(-1)):
            old = before.reshape(-1)[k] = memory.data[place]
            value = operands[0].reshape(-1)[k]
            if kind == "cas":
                new = value if old == operands[1].reshape(-1)[k] else old
            else:
                new = _CHANGES[kind](old, value)
            memory.data[place] = new
        made[held] = before
        return Held(made, memory.dtype)

    # ---- reductions --------------------------------------------------------------------------

    def fold(self, kind: str, block: Block, axis: int) -> Held:
        import numpy as np

        data, dtype = block.value
        if kind in ("max", "min"):
            function = np.fmax if kind == "max" else np.fmin
            return Held(np.asarray(function.reduce(data, axis, initial=neutral(kind, dtype))),
                        dtype)
        return Held(np.asarray(np.sum(data, axis, dtype=data.dtype)), dtype)

    def scan(self, values: tuple[Block, ...], axis: int, combine: Any, reverse: bool, last: bool
             ) -> tuple[Block, ...]:
        import numpy as np

        shape = values[0].shape
        rest = (*shape[:axis], *shape[axis + 1:])
        order = range(shape[axis])[::-1] if reverse else range(shape[axis])
        turns: list[tuple[Block, ...]] = []
        for k in order:
            here = tuple(Block(Held(np.take(v.value.data, k, axis), v.value.dtype), v.type, rest)
                         for v in values)
            if turns:
                made = combine(*turns[-1], *here)
                made = made if isinstance(made, tuple) else (made,)
                here = tuple(blocks.cast(blocks.block(m), v.type)
                             for m, v in zip(made, values, strict=True))
            turns.append(here)
        if last:
            return turns[-1]
        turns = turns[::-1] if reverse else turns
        return tuple(Block(Held(np.stack([t[n].value.data for t in turns], axis), v.value.dtype),
                           v.type, shape) for n, v in enumerate(values))

    def dot(self, a: Block, b: Block, start: Block | None, shape: tuple[int, int]) -> Held:
        made = a.value.data @ b.value.data
        return Held(made if start is None else made + start.value.data, a.value.dtype)

    # ---- what only the interpreter does ------------------------------------------------------

    def say(self, prefix: Any, values: list[Block]) -> None:
        import numpy as np

        if not values:
            print(f"pid {self.at} {prefix}")
        for n, value in enumerate(values):
            for index in np.ndindex(value.shape):
                place = f" idx {index}" if index else ""
                operand = f" (operand {n})" if len(values) > 1 else ""
                print(f"pid {self.at}{place} {prefix}{operand} {value.value.data[index]}")

    def require(self, failed: Block, message: str) -> None:
        import numpy as np

        if failed.value.data.any():
            lane = np.argwhere(failed.value.data)[0].tolist()
            raise AssertionError(f"{self._here()}program {self.at}, lane {lane}: "
                                 f"{message or 'device_assert failed'}")


_CHANGES: dict[str, Any] = {
    "add": lambda a, b: a + b, "max": max, "min": min, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "xchg": lambda a, b: b,
}


def number(machine: Interpreter, value: Any, kind: types.dtype) -> Block:
    """A number of the launch."""
    return Block(machine.constant(value, kind.core), kind)
