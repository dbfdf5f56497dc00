"""Calls that check values (an index, a target) need not run for it: their checks alone do.

Where a check reads only memory that is there already, as the tokens and labels that a training
step gets, or only numbers of the call, its stores to the error words are run by themselves when
the call is recorded. What it reports makes the recording run, so that the error is raised where
eager mode raises it.
"""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from ..core.storage import UntypedStorage
from ..loops.ir import walk
from ..loops.nests import Nest, Place, pruned
from ..runtime.plan import Plan
from . import steps, tape
from .steps import ARENA, CELLS, Step


@dataclass(frozen=True, eq=False)
class Probe:
    """The checks of a plan: steps that write error words only. reads: slots of operands.

    room: words before the error words, for those of a launch; table: the launches
    """

    reads: tuple[int, ...]
    room: int
    table: Any

    def fails(self, addresses: dict[int, int], numbers: int, cells: int) -> bool:
        """Whether a check fails on operands, and the call's numbers, at these addresses."""
        from .recorder import native_replay

        if not self.table[0]:  # nothing is looked at: there are no elements
            return False
        arena = (ctypes.c_int64 * (self.room + cells))()
        bases = array("q", (ctypes.addressof(arena), *(addresses[slot] for slot in self.reads)))
        native_replay()(ctypes.addressof(self.table), bases.buffer_info()[0], numbers, False)
        return any(arena[self.room:])


def _probe_of(found: list[Step], reads: set[int]) -> Probe:
    slots, room = tuple(sorted(reads)), max((len(step.words) for step in found), default=0)
    bases = {slot: (1 + k, 0) for k, slot in enumerate(slots)} | {CELLS: (ARENA, 8 * room)}
    words = [word for step in found for word in steps.table_words(step, bases.__getitem__)]
    return Probe(slots, room, (ctypes.c_int64 * (1 + len(words)))(len(found), *words))


_probes: WeakKeyDictionary[Plan, Probe | None] = WeakKeyDictionary()


def probe(plan: Plan) -> Probe | None:
    """The checks of a plan by themselves; None where they need what its launches compute."""
    if plan not in _probes:
        _probes[plan] = _made(plan)
    return _probes[plan]


def _made(plan: Plan) -> Probe | None:
    errors = plan.operands + (1 if plan.inplace else len(plan.results)) + len(plan.temporaries)
    places = [Place(slot) for slot in range(errors)] + [Place(CELLS)]
    found: list[Step] = []
    reads: set[int] = set()
    for launch, stage in zip(plan.launches, plan.stages, strict=True):
        step = steps.of_launch(launch, stage, places, lambda slot: slot >= plan.operands, 0)
        if CELLS not in step.touched:
            continue
        nest = None if step.nest is None else _checks_of(step.nest)
        if nest is None or not nest.memories[0] <= set(range(plan.operands)):
            return None
        found.append(steps.of_nest(nest))
        reads |= nest.memories[0]
    return _probe_of(found, reads)


def _checks_of(nest: Nest) -> Nest | None:
    """The stores to error words, at each place that they read once."""
    stores = tuple(s for s in nest.stage.stores
                   if nest.operands[s.buffer].place.memory == CELLS)
    made = pruned(nest, stores)
    if made.rows or any(n.op == "coord" for n in walk(*made.stage.roots())):
        return made
    moving = [d for d in range(len(made.sizes)) if any(o.strides[d] for o in made.operands)]
    return replace(made, sizes=tuple(made.sizes[d] for d in moving) or (1,), operands=tuple(
        replace(o, strides=tuple(o.strides[d] for d in moving) or (0,)) for o in made.operands))


def passes(entry: Any, written: frozenset[int], recording: tape.Tape) -> bool:
    """Whether the checks of the call recorded last can be seen to hold already.

    written: storages that the recording writes, which existed before it
    """
    plan = entry.plan
    found = probe(plan)
    if found is None:
        return False
    addresses = {}
    for slot in found.reads:
        operand = entry.operands[slot]
        if operand.value < 0 or operand.number in written:
            return False
        storage: UntypedStorage = recording.storages[operand.number]
        addresses[slot] = tape.address_of(storage) + recording.values[operand.value]
    numbers = recording.values_address + 8 * entry.numbers
    return not found.fails(addresses, numbers, plan.checks)
