"""Plans as the builtin path reads them: blocks of words, laid out in `runtime/native/fastrun.py`.

A call that casts its operands first has a block that leads to several (`native/fastcasts.py`).
"""

from __future__ import annotations

import ctypes
from typing import Any

from ..runtime.native import fastrun
from ..runtime.plan import Launch, Plan, number_word
from ..runtime.recording import number_words
from .shortcuts import Shortcut

SLOTS, WORDS, RESULTS, VIEWS, OPERANDS = 144, 512, 15, 4096, 62


def block(found: Shortcut, mask: int) -> tuple[list[int], list[Any]]:
    """The block of a call, and what it refers to; empty if the builtin cannot run it.

    mask: which of its tensors want a gradient.
    """
    words, kept = _plan(found, mask)
    if not words or not any(found.casts):
        return words, kept
    inner = _stored(words)
    casts: list[int] = []
    kept.append(inner)
    for k, cast in enumerate(found.casts):
        if cast is None:
            casts += [0, 0, 0]
            continue
        one = Shortcut(cast.plan, fastrun.COMPUTE, (), None, -1)
        made, more = _plan(one, mask >> k & 1)
        if not made:
            return [], []
        stored = _stored(made)
        kept += [one, stored, more]
        casts += [ctypes.addressof(stored), int(cast.keeps), id(cast.plan.results[0])]
    return [fastrun.CASTS, ctypes.addressof(inner), len(found.casts), *casts], kept


def _stored(words: list[int]) -> Any:
    return (ctypes.c_int64 * len(words))(*words)


def _plan(found: Shortcut, mask: int) -> tuple[list[int], list[Any]]:
    """A plan as `fastrun` reads it, and what it refers to; empty if it cannot run."""
    plan, kind = found.plan, found.kind
    if not _fits(plan, kind):
        return [], []
    saved = plan.saves(mask) if plan.differentiable and mask else ()
    slow = any(one.total > one.grain for one in plan.launches)
    offset = plan.view[1] if plan.view is not None else int(slow)
    numbers = [word for number in found.scalars for word in number_words(number)]
    fixed = _stored(numbers)
    words = [kind, plan.operands, len(plan.results), len(plan.temporaries),
             len(plan.launches), int(plan.differentiable), offset,
             id(plan), plan.checks, len(saved), len(plan.writes),
             0 if found.several is None else id(found.several),
             _recording(found), found.pick, int(plan.record.meets == "none"),
             *((id(found.scalars), ctypes.addressof(fixed)) if found.scalars else (0, 0))]
    words += [plan.operand_spec(k).dtype.itemsize for k in range(plan.operands)]
    plan.native = sizes = [spec.nbytes for spec in plan.results]  # new results refer to them
    for k, (spec, size) in enumerate(zip(plan.results, sizes, strict=True)):
        place = plan.views[k][1] if plan.views else size
        words += [id(spec), place, id(size), int(plan.carries(k))]
    words += plan.temporaries
    for is_result, which in saved:
        words += [int(is_result), which]
    words += plan.writes
    for one in plan.launches:
        words += _launch_words(one, found.scalars)
    return words, [sizes, fixed]


def _recording(found: Shortcut) -> int:
    """How the builtin records a plan."""
    if found.plan.record.kind == "random":
        return fastrun.DRAWS
    complex_ = any(isinstance(number, complex) for number in found.scalars)
    return fastrun.BY_TWIN if complex_ else fastrun.RECORDED


def _fits(plan: Plan, kind: int) -> bool:
    """Whether the builtin has room for a plan and what it asks for."""
    if plan.inplace and len(plan.results) != 1:
        return False
    new = 0 if plan.views else len(plan.results)
    slots = plan.operands + new + len(plan.temporaries)
    if plan.meta or plan.host or plan.negated or slots >= SLOTS or plan.operands > OPERANDS or \
            plan.checks > 8 or any(len(one.words) > WORDS for one in plan.launches):
        return False
    if any(n[2] not in "ifs" for one in plan.launches for n in one.numbers):
        return False
    if plan.view is None:
        return len(plan.results) <= RESULTS and plan.record.schema.results != 0
    item = plan.operand_spec(0).dtype.itemsize
    several = kind == fastrun.VIEWS
    return (len(plan.views) <= VIEWS and several) or len(plan.views) == 1 and all(
        spec.dtype.itemsize == item for spec, _ in plan.views)


def _launch_words(one: Launch, scalars: tuple[Any, ...]) -> list[int]:
    """A launch of a plan block; `scalars`: the numbers that the key fixes."""
    given, numbers = [*one.words], list(one.numbers)
    if scalars:
        for word, position, kind in numbers:
            given[word] = number_word(scalars[position], kind)
        numbers = []
    words = [one.address, one.total, one.grain, len(given), len(one.pointers), len(numbers),
             *given]
    for entry in one.pointers:
        words += entry
    for word, position, kind in numbers:
        words += [word, position, "ifs".index(kind)]
    return words
