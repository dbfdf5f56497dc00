"""What the steps of a program do: points, bytes, kernels, and which values are never stored.

All of it is read from the program and from the calls that it was made of; nothing is run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.spec import Spec
from ..loops.cost import Cost
from ..loops.cost import cost as stage_cost
from ..loops.nests import Nest
from ..loops.printer import describe
from ..runtime import inspection, machine
from .program import Entry, Program
from .steps import Step, symbol_name


@dataclass(frozen=True)
class Value:
    """A storage that a recorded call made: which operator, and what it gave."""

    memory: int
    operator: str
    spec: Spec

    def __str__(self) -> str:
        return f"{self.operator} {shape_text(self.spec)}"


@dataclass(frozen=True)
class Figures:
    """One step of a program.

    parts: the launches that it took the place of; kernel: the symbol of its machine code;
    points: what its loops visit; unstored: values that exist within it only.
    """

    step: Step
    parts: tuple[str, ...]
    kernel: str
    points: str
    cost: Cost
    unstored: tuple[Value, ...]

    @property
    def name(self) -> str:
        """A short name: each part once."""
        return symbol_name(self.step.name)

    def loop(self) -> str:
        """The kernel, what it visits, and its loop as a person reads it."""
        texts = ["machine code of the engine's own" if one.nest is None else
                 describe(one.nest.stage) for one in self.step.parts or (self.step,)]
        kernel = self.kernel or "a kernel without a name"
        return f"{kernel}: {self.points}\n" + "\n  -- for each row of blocks --\n".join(texts)


def figures(program: Program, entries: Sequence[Entry]) -> list[Figures]:
    """The figures of each step, in order; entries: the calls that the program computes."""
    specs = memory_specs(entries)
    lost = _unstored(program.steps, entries)
    return [Figures(step, tuple(step.name.split("+")), _kernel(step), _points(step, specs),
                    cost(step, entries), tuple(lost.get(k, ())))
            for k, step in enumerate(program.steps)]


def uncomputed(program: Program, entries: Sequence[Entry]) -> list[Value]:
    """Results of calls that nobody can see and no step has a part in."""
    return _unstored(program.steps, entries).get(-1, [])


def memory_specs(entries: Iterable[Entry]) -> dict[int, Spec]:
    """The largest tensor that was seen in each storage."""
    found: dict[int, Spec] = {}
    for entry in entries:
        seen = [(o.number, entry.plan.operand_spec(k)) for k, o in enumerate(entry.operands)]
        seen += zip(entry.results, entry.plan.results, strict=False)
        for number, spec in seen:
            if number not in found or spec.nbytes > found[number].nbytes:
                found[number] = spec
    return found


def called(entries: Iterable[Entry]) -> Cost:
    """What the calls would cost one by one."""
    return sum((inspection.cost(entry.plan) for entry in entries), Cost())


# ---- bytes -------------------------------------------------------------------------------------

def cost(step: Step, entries: Iterable[Entry]) -> Cost:
    """What a step reads and writes: each element of an operand once, broadcast ones not again."""
    if step.parts:
        product, after = step.parts
        assert after.nest is not None
        return cost(product, entries) + _nest_cost(after.nest, product.writes)
    if step.nest is not None:
        return _nest_cost(step.nest)
    for entry in entries:  # it is a launch of one of the calls, as it was
        plan = entry.plan
        for launch, stage in zip(plan.launches, plan.stages, strict=True):
            if launch.address == step.address and launch.words == step.words:
                return inspection.launch_cost(launch, stage)
    return Cost()


def _nest_cost(nest: Nest, near: frozenset[int] = frozenset()) -> Cost:
    """near: memories that it finds in the cache"""
    elements = [math.prod(n for n, s in zip(nest.sizes, o.strides, strict=True) if s)
                if o.place.memory not in near else 0 for o in nest.operands]
    if nest.rows:
        return stage_cost(nest.stage, math.prod(nest.sizes[1:]), nest.sizes[0], elements)
    return stage_cost(nest.stage, nest.total, elements=elements)


# ---- text --------------------------------------------------------------------------------------

def shape_text(spec: Spec) -> str:
    """Shape and dtype."""
    return f"{tuple(spec.shape)} {spec.dtype.name}"


def _kernel(step: Step) -> str:
    names = [machine.symbol_at(one.address) for one in step.parts or (step,)]
    return " + ".join(filter(None, names))


def _points(step: Step, specs: dict[int, Spec]) -> str:
    """What the loops visit; of a launch that has no nest, the shape of what it writes."""
    if step.parts:
        return _points(step.parts[0], specs)
    nest = step.nest
    if nest is None:
        written = [specs[m] for m in sorted(step.writes) if m in specs]
        if len(written) != 1:
            return f"{len(written)} tensors" if written else str(step.total)
        return "x".join(map(str, written[0].shape)) or "1"
    outer = "x".join(map(str, nest.sizes[:0:-1]))
    if nest.rows:
        return f"{outer or 1} {'rows' if outer else 'row'} of {nest.sizes[0]}"
    return f"{outer}x{nest.sizes[0]}" if outer else str(nest.sizes[0])


# ---- values that are not stored ------------------------------------------------------------------

def _unstored(steps: Sequence[Step], entries: Sequence[Entry]) -> dict[int, list[Value]]:
    """By step, the values that only it knows; under -1 those that no step computes.

    What is not stored is read by the step that makes it and by no other: whoever reads it leads on
    to a memory that this step does write.
    """
    stored = {m for step in steps for m in step.touched}
    readers: dict[int, list[Entry]] = {}
    for entry in entries:
        for number in {o.number for o in entry.operands}:
            readers.setdefault(number, []).append(entry)
    found: dict[int, list[Value]] = {}
    for entry in entries:
        for number, spec in zip(entry.results, entry.plan.results, strict=False):
            if number not in stored and spec.nbytes:
                home = _home(number, readers, steps)
                found.setdefault(home, []).append(Value(number, entry.plan.record.name, spec))
    return found


def _home(number: int, readers: dict[int, list[Entry]], steps: Sequence[Step]) -> int:
    """The step inside which a value lives."""
    waiting, seen = [number], {number}
    while waiting:
        for entry in readers.get(waiting.pop(), ()):
            names = {launch.name for launch in entry.plan.launches}
            for m in (*entry.results, *entry.written()):
                for k, step in enumerate(steps):
                    if m in step.writes and names & set(step.name.split("+")):
                        return k
                if m not in seen:
                    seen.add(m)
                    waiting.append(m)
    return -1


def counted(number: int, thing: str) -> str:
    """`1 launch`, `2 launches`.

    >>> counted(1, "call"), counted(2, "launch")
    ('1 call', '2 launches')
    """
    ending = "" if number == 1 else "es" if thing.endswith("ch") else "s"
    return f"{number} {thing}{ending}"


def lined_up(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows of a table as lines: all columns to the right, but the last one, which ends where it
    ends."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[c]) for row in texts) for c in range(len(texts[0]) - 1)]
    return ["  ".join([*map(str.rjust, row, widths), row[-1]]) for row in texts]
