"""Negated views: kernels get copies of them with the sign settled, and know nothing of signs.

Only views keep the flag. Where a call writes to a negated view, what the copy has become is negated
back into the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core import registry
from ..core.spec import Spec, negated
from ..operators import families
from ..runtime.plan import Plan
from .state import STATE, set_grad


def unsigned(tensor: Any) -> Any:
    """The memory of a negated view as it is, off the tape."""
    return registry.wrap(tensor._storage, negated(tensor._spec, False), tensor._offset)


def settled_spec(tensor: Any) -> Spec:
    """How the copy will be laid out."""
    from .call import make_plan

    plain = unsigned(tensor)
    return make_plan(families.get("neg"), (plain,), [plain], None).results[0]


@contextmanager
def _aside() -> Iterator[None]:
    """Calls that are no part of what the user's call is about."""
    before, seen, STATE.seen = STATE.grad, STATE.seen, None
    set_grad(False)
    try:
        yield
    finally:
        set_grad(before)
        STATE.seen = seen


def run(plan: Plan, tensors: list[Any], launch: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """Launch a plan on settled copies of its negated operands; gives the results' storages."""
    from .call import unobserved

    given = list(tensors)
    with _aside():
        for k in plan.negated:
            given[k] = unobserved(families.get("neg"), (unsigned(tensors[k]),))
    made = launch(given)
    written = (0, *plan.writes) if plan.inplace else plan.writes
    with _aside():
        for k in plan.negated:
            if k in written:
                target = unsigned(tensors[k])
                unobserved(families.get("copy"), (target, unobserved(
                    families.get("neg"), (given[k],)), False), target)
    return made


__all__ = ["run", "settled_spec", "unsigned"]
