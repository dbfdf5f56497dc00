"""How many bytes a call moves, and how many the machine can move."""

from __future__ import annotations

import time
from functools import cache
from weakref import WeakKeyDictionary

from ..core.dtypes import uint8
from ..dispatch.call import OPERATORS
from ..runtime.inspection import cost
from ..runtime.plan import Plan

_COPIED = 32 << 20  # beyond every cache of most machines
_TIMES = 5
_known: WeakKeyDictionary[Plan, int] = WeakKeyDictionary()


def moved(plan: Plan) -> int:
    """The bytes that the stages of a plan read and write: each buffer's elements once a stage."""
    found = _known.get(plan)
    if found is None:
        found = _known[plan] = cost(plan).nbytes
    return found


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
