"""What a plan's launches do, read from the words that the machine code reads.

`verify_order` is the verifier of barriers: inside a launch points run in any order, so what one
point writes another may read only behind a barrier, in a later stage. `cost` counts bytes and
floating-point operations (YESCA_DEBUG=1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..loops.cost import Cost
from ..loops.cost import cost as stage_cost
from ..loops.ir import Stage, walk
from ..loops.verify import InvalidStage
from .plan import Flat


@dataclass(frozen=True)
class _Operand:
    """One buffer of a launch: its tensor, its first byte there, and how it is walked."""

    slot: int
    first: int
    item: int
    walk: tuple[tuple[int, int], ...] = ()  # (size, byte stride) of the dimensions that move

    @property
    def span(self) -> tuple[int, int]:
        """The bytes between which all elements lie."""
        ends = [(size - 1) * step for size, step in self.walk]
        return (self.first + sum(min(e, 0) for e in ends),
                self.first + sum(max(e, 0) for e in ends) + self.item)

    def apart(self, other: _Operand) -> bool:
        """No byte belongs to both: one lies behind the other, or they are interleaved."""
        (low, high), (below, above) = self.span, other.span
        if high <= below or above <= low:
            return True
        period = math.gcd(*(abs(step) for _, step in self.walk + other.walk))
        shift = (other.first - self.first) % period if period else other.first - self.first
        return period > 0 and shift >= self.item and period - shift >= other.item


def _sizes(launch: Any, stage: Stage) -> tuple[list[int], list[list[int]]]:
    """Sizes of the dimensions, the inner one first, and the byte strides of each buffer."""
    count = len(stage.buffers)
    words = launch.words[count + len(stage.arguments):]
    sizes, steps = [words[0]], [[words[1 + b]] for b in range(count)]
    for d in range(words[1 + count]):
        row = words[2 + count + d * (count + 1):]
        sizes.append(row[0])
        for b in range(count):
            steps[b].append(row[1 + b])
    return sizes, steps


def _operands(launch: Any, stage: Stage) -> Iterator[list[_Operand]]:
    """The buffers of the launch; for a table, those of each of its rows."""
    count = len(stage.buffers)
    items = [b.dtype.itemsize for b in stage.buffers]
    if stage.kind == "table":
        for row in range(launch.total):
            part = launch.pointers[row * count:(row + 1) * count]
            size = launch.words[len(stage.arguments) + row * (count + 1) + count]
            yield [_Operand(slot, beyond, item, ((size, item),) if b.inner else ())
                   for (_, slot, beyond), item, b in zip(part, items, stage.buffers, strict=True)]
        return
    sizes, steps = _sizes(launch, stage)
    yield [_Operand(slot, beyond, item, tuple(
        (size, step) for size, step in zip(sizes, own, strict=True) if size > 1 and step))
           for (_, slot, beyond), item, own in zip(launch.pointers, items, steps, strict=True)]


def verify_order(plan: Any) -> None:
    """Raise InvalidStage unless every stage finds what it reads written by an earlier one."""
    written = set(range(plan.operands))
    results = 1 if plan.inplace else len(plan.results)
    if plan.inplace:
        written.add(plan.operands)  # the result is operand 0
    made = [1] * results + list(plan.temporaries)
    written |= {plan.operands + k for k, nbytes in enumerate(made) if not nbytes}  # nobody can
    for launch, stage in zip(plan.launches, plan.stages, strict=True):
        if not isinstance(stage, Stage):
            written |= {slot for _, slot, _ in launch.pointers}
            continue
        for operands in _operands(launch, stage):
            _verify_stage(launch.name, stage, operands, written, plan)
        for operands in _operands(launch, stage):
            written |= {o.slot for o, b in zip(operands, stage.buffers, strict=True) if b.output}


def _verify_stage(name: str, stage: Stage, operands: list[_Operand], written: set[int],
                  plan: Any) -> None:
    elsewhere = {n.attr for n in walk(*stage.roots()) if n.op == "load" and n.args}
    used = {n.attr for n in walk(*stage.roots()) if n.op == "load"}

    def slot(operand: _Operand) -> int:
        return 0 if plan.inplace and operand.slot == plan.operands else operand.slot

    for k in sorted(used):
        own = operands[k]
        if own.slot not in written:
            raise InvalidStage(f"[{name}] b{k} is read before any stage has written it")
        for j, other in enumerate(operands):
            if not stage.buffers[j].output or slot(other) != slot(own):
                continue
            same = (own.first, own.walk) == (other.first, other.walk)
            if k in elsewhere or not same and not own.apart(other):
                raise InvalidStage(
                    f"[{name}] b{k} is read where other points write b{j}: a barrier is missing; "
                    "write to memory of its own and copy in a later stage")


def cost(plan: Any) -> Cost:
    """The bytes and operations of one run of a plan."""
    total = Cost()
    for launch, stage in zip(plan.launches, plan.stages, strict=True):
        total += launch_cost(launch, stage)
    for step in plan.host:
        total += Cost(bytes_read=sum(seen.nbytes for _, _, seen in step.operands))
    return total


def launch_cost(launch: Any, stage: Any) -> Cost:
    """The bytes and operations of one launch; stage: what the plan says of it."""
    if isinstance(stage, Flat):
        return stage_cost(stage.stage, stage.points)
    if not isinstance(stage, Stage):
        return stage if isinstance(stage, Cost) else Cost()
    if stage.kind == "table":
        width = len(stage.buffers) + 1
        first = len(stage.arguments)
        counts = launch.words[first:]
        points = sum(counts[width - 1::width])
        elements = [points if b.inner else launch.total for b in stage.buffers]
        return stage_cost(stage, points, elements=elements)
    sizes, steps = _sizes(launch, stage)
    elements = [math.prod(size for size, step in zip(sizes, own, strict=True) if step)
                for own in steps]
    if stage.kind == "rows":
        return stage_cost(stage, math.prod(sizes[1:]), sizes[0], elements)
    return stage_cost(stage, math.prod(sizes), elements=elements)
