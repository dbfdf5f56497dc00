"""Which steps become one: the order of steps, what stands between them, whether it pays.

Steps are taken in order. Each moves up to the latest earlier step that it can be joined with,
past steps that do not touch the same memory; or an earlier step that it reads from moves down to
it. Values that only the joined steps read are not stored at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..loops.nests import Nest, conflict, pruned
from ..passes.fuse import fusions
from . import steps
from .steps import CELLS, Step

REACH = 32  # how many steps back a partner is looked for
LEAST = 4096  # points from which a kernel of its own pays
SMALL = 32768  # points that one thread may do alone
PIECES = 4  # pieces of work below which a joined nest would leave threads idle


def grouped(given: list[Step], wanted: frozenset[int]) -> list[Step]:
    """The steps, joined where it pays. wanted: memories that are read afterwards."""
    found = alive(given, wanted)
    uses = Counter([*wanted, *(m for step in found for m in step.reads)])
    made: list[Step] = []
    for step in found:
        if not (_joined_upward(made, step, uses) or _joined_downward(made, step, uses)):
            made.append(step)
    return [_settled(step) for step in alive(made, wanted)]


def alive(given: Iterable[Step], wanted: frozenset[int]) -> list[Step]:
    """The steps that matter, without the stores that nobody reads."""
    needed = set(wanted) | {CELLS}
    made = []
    for step in reversed(list(given)):
        if not step.writes & needed:
            continue
        if step.nest is not None:
            step = _without(step, step.nest, needed)
        made.append(step)
        needed |= step.reads
    made.reverse()
    return made


def _without(step: Step, nest: Nest, needed: set[int]) -> Step:
    """The step without stores to memory that is not needed."""
    stores = tuple(s for s in nest.stage.stores
                   if nest.operands[s.buffer].place.memory in needed)
    if stores == nest.stage.stores or step.address and nest.total < LEAST:
        return step
    return _pending(pruned(nest, stores))


def _pending(nest: Nest) -> Step:
    """A step for a nest that may still grow: its kernel is looked for at the end."""
    reads, writes = nest.memories
    return Step(nest.name, 0, (), (), (), nest.total, 0, reads, writes, nest)


def _settled(step: Step) -> Step:
    made = step.address and not step.own
    return step if made or step.nest is None else steps.of_nest(step.nest)


# ---- moving ----------------------------------------------------------------------------------

def _joined_upward(made: list[Step], step: Step, uses: Counter[int]) -> bool:
    """Put a step into an earlier one, if it may move there."""
    for k in _back(made):
        joined = _join(made[k], step, uses)
        if joined is not None:
            made[k] = joined
            return True
        if clash(made[k], step):
            return False
    return False


def _joined_downward(made: list[Step], step: Step, uses: Counter[int]) -> bool:
    """Move an earlier step down into this one, if nothing between stands in its way."""
    for k in _back(made):
        between = made[k + 1:]
        if made[k].writes & step.reads and not any(clash(made[k], b) for b in between):
            joined = _join(made[k], step, uses)
            if joined is not None:
                del made[k]
                made.append(joined)
                return True
    return False


def _back(made: list[Step]) -> Iterator[int]:
    return iter(range(len(made) - 1, max(-1, len(made) - 1 - REACH), -1))


def clash(a: Step, b: Step) -> bool:
    """Whether the order of two steps matters."""
    if not (a.writes & b.touched or a.reads & b.writes):
        return False
    return a.nest is None or b.nest is None or conflict(a.nest, b.nest)


# ---- joining ---------------------------------------------------------------------------------

def _join(a: Step, b: Step, uses: Counter[int]) -> Step | None:
    """One step in place of a and, after it, b; None where that is impossible or does not pay.

    uses: how many steps read a memory
    """
    if a.nest is None or b.nest is None or min(a.nest.total, b.nest.total) < 2 \
            or max(a.nest.total, b.nest.total) < LEAST or not a.touched & b.touched:
        return None
    for nest in fusions(a.nest, b.nest):
        if _pays(a.nest, b.nest, nest, uses):
            return _pending(nest)
    return None


def _pays(a: Nest, b: Nest, joined: Nest, uses: Counter[int]) -> bool:
    """Whether folds keep their order, no loop gets worse, and threads have enough to do."""
    if not joined.rows:
        return True
    if not all(same_order(n, joined) for n in (a, b) if n.rows):
        return False
    if a.rows and b.rows:
        return True
    over = steps.layout(joined)
    if over.variant.columns and not a.rows and any(uses[m] > 1 for m in a.memories[1]):
        return False  # what stays in memory is written along rows, not across
    return joined.total <= SMALL or over.total >= PIECES * over.grain


def same_order(a: Nest, b: Nest) -> bool:
    """Whether folds of two rows nests take values in the same order."""
    columns = steps.layout(a).variant.columns
    return steps.layout(b).variant.columns == columns and (columns or _straight(a) == _straight(b))


def _straight(nest: Nest) -> bool:
    """Whether the inner axis is contiguous in every buffer that varies along it, so that folds
    keep several partial results."""
    return all(o.strides[0] == b.dtype.itemsize
               for o, b in zip(nest.operands, nest.stage.buffers, strict=True) if b.inner)

