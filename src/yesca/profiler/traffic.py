"""How many bytes a call moves, and how many the machine can move.

The bytes of a call come from the buffers of the stages that its plan launches: an operand counts
once if a stage reads it, a result once, a temporary twice (written, then read), and so does what
is changed in place. That is what the call moves at least: what a later stage reads again counts as
found in a cache.
"""

from __future__ import annotations

import time
from functools import cache
from math import prod
from weakref import WeakKeyDictionary

from ..core.dtypes import uint8
from ..core.spec import Spec
from ..dispatch.call import OPERATORS
from ..runtime.plan import Plan

_COPIED = 32 << 20  # beyond every cache of most machines
_TIMES = 5
_known: WeakKeyDictionary[Plan, int] = WeakKeyDictionary()


def moved(plan: Plan) -> int:
    """The bytes that a run of the plan reads and writes."""
    found = _known.get(plan)
    if found is None:
        found = _known[plan] = 0 if plan.meta or plan.view is not None else _moved(plan)
    return found


def _moved(plan: Plan) -> int:
    starts = _starts(plan)
    made = sum(_distinct(spec) for spec in plan.results)
    total = 2 * sum(plan.temporaries) + (0 if plan.inplace else made)
    changed = {*plan.writes, *((0,) if plan.inplace else ())}
    for slot in range(plan.operands):
        nbytes = _distinct(plan.operand_spec(slot))
        if plan.record.kind == "gather":  # rows of a table: no more is read than is given
            nbytes = min(nbytes, made)
        total += nbytes * min(starts.get(slot, 0), 2 if slot in changed else 1)
    return total


def _starts(plan: Plan) -> dict[int, int]:
    """How often one stage names each slot's first byte: twice where it reads and writes it."""
    found: dict[int, int] = {}
    stages = [[(slot, beyond) for _, slot, beyond in one.pointers] for one in plan.launches]
    stages += [[(slot, beyond) for slot, beyond, _ in step.operands] for step in plan.host]
    for places in stages:
        for slot, beyond in places:
            found[slot] = max(found.get(slot, 0), 1 if beyond else places.count((slot, 0)))
    return found


def _distinct(spec: Spec) -> int:
    """Bytes of a tensor's own elements: an expanded dimension repeats the same ones."""
    return spec.dtype.itemsize * prod(
        size for size, stride in zip(spec.shape, spec.strides, strict=True) if stride or not size)


@cache
def bandwidth() -> float:
    """Bytes a second between memory and the threads of an operator, measured once a process.

    The best of a few copies of one large block; a copied byte counts twice, read and written.
    """
    source = OPERATORS.zeros((_COPIED,), dtype=uint8)
    target = OPERATORS.clone(source)
    best = float("inf")
    for _ in range(_TIMES):
        start = time.perf_counter()
        OPERATORS.copy_(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * _COPIED / best
