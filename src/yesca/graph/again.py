"""Values computed again instead of kept: where memory is scarcest, for values that are cheap.

At the step where most bytes are alive, a value that waits for a far reader is dropped if all that
it is made of is there when the reader comes, and little to do: it is made anew for the reader. What
the same launch has stored besides (the mean and the deviation of a row, say) need not be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import accumulate

from ..loops.ir import Expr, Stage, Store, load, rewrite, walk
from ..loops.nests import Nest, pruned
from . import groups, steps
from .arena import last_uses
from .steps import CELLS, Step, moved

LEAST_SHARE = 128  # a value is worth it from this part of the peak on
LEAST_BYTES = 1 << 20
MOST_NODES, MOST_FOLDS = 64, 2  # of the expressions that make it
ROUNDS = 64


def computed_again(given: list[Step], sizes: dict[int, int], kept: frozenset[int]) -> list[Step]:
    """The steps with less alive at their peak; new memories enter `sizes`.

    kept: memories that are read afterwards
    """
    made = list(given)
    for _ in range(ROUNDS):
        found = _best(made, sizes, kept)
        if found is None:
            break
        memory, nest, at = found
        other = min(CELLS, *sizes) - 1
        sizes[other] = sizes[memory]
        change = {memory: other}
        made = [*made[:at], *(moved(step, change) for step in (steps.of_nest(nest), *made[at:]))]
    return made


def _best(given: list[Step], sizes: dict[int, int], kept: frozenset[int]
          ) -> tuple[int, Nest, int] | None:
    """The largest value to make again: its memory, the nest that makes it, before which step."""
    last = last_uses(given)
    first = {m: k for k in range(len(given) - 1, -1, -1) for m in given[k].touched}
    temporary = [m for m in first if m in sizes and m not in kept]
    alive = bytes_alive(temporary, first, last, sizes, len(given))
    size = max(alive, default=0)
    peak = alive.index(size) if alive else 0
    for memory in sorted(temporary, key=lambda m: -sizes[m]):
        if sizes[memory] < max(LEAST_BYTES, size // LEAST_SHARE):
            return None
        if not first[memory] < peak < last[memory] or memory in given[peak].touched:
            continue
        at = next(k for k in range(peak, len(given)) if memory in given[k].touched)
        if alive[at] >= size:
            continue  # there it is alive again, and as much as here with it
        there = {m for m in last if last[m] >= at or m not in sizes or m in kept}
        nest = _maker(given, memory, first[memory], there)
        if nest is not None and not any(
                step.writes & nest.memories[0] for step in given[first[memory] + 1:at]):
            return memory, nest, at
    return None


def bytes_alive(temporary: Iterable[int], first: Mapping[int, int], last: Mapping[int, int],
                sizes: Mapping[int, int], count: int) -> list[int]:
    """How many bytes are alive at each step."""
    change = [0] * (count + 1)
    for m in temporary:
        change[first[m]] += sizes[m]
        change[last[m] + 1] -= sizes[m]
    return list(accumulate(change[:count]))


def _maker(given: list[Step], memory: int, first: int, there: set[int]) -> Nest | None:
    """What makes a memory as a whole, by itself, from memory that is there."""
    nest = given[first].nest
    if nest is None or any(memory in s.writes for s in given[first + 1:]):
        return None
    stores = [s for s in nest.stage.stores if nest.operands[s.buffer].place.memory == memory]
    if len(stores) != 1 or stores[0].guard is not None or stores[0].offset is not None:
        return None
    alone = _from_results(nest, stores[0], there)
    reads, writes = alone.memories
    nodes = list(walk(*alone.stage.roots()))
    folds = sum(n.op == "fold" for n in nodes)
    if len(nodes) > MOST_NODES or folds > MOST_FOLDS or not reads <= there - writes:
        return None
    return None if folds and not groups.same_order(nest, alone) else alone


def _from_results(nest: Nest, wanted: Store, there: set[int]) -> Nest:
    """The nest with one store, whose value reads what the others have stored."""
    buffers, operands = list(nest.stage.buffers), list(nest.operands)
    loads: dict[Expr, Expr] = {}
    for store in nest.stage.stores:
        kept = nest.operands[store.buffer].place.memory in there
        if store is not wanted and kept and store.guard is None and store.offset is None \
                and store.value.op != "const":
            loads[store.value] = load(len(buffers), buffers[store.buffer].dtype)
            buffers.append(replace(buffers[store.buffer], output=False))
            operands.append(nest.operands[store.buffer])
    value, = rewrite((wanted.value,), lambda node, _: loads.get(node))
    stage = Stage(nest.stage.kind, tuple(buffers), nest.stage.arguments,
                  (Store(wanted.buffer, value),))
    return pruned(replace(nest, stage=stage, operands=tuple(operands)), stage.stores)
