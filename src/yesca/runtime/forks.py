"""One place for what must happen around a fork, in an order that cannot deadlock.

Locks are taken in the order in which they joined, which is the order in which threads nest them:
the machine's lock first, the allocator's inside it.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class _Participant:
    before: object
    in_parent: object
    in_child: object


_participants = []


def join(before=None, in_parent=None, in_child=None) -> None:
    """Call `before` ahead of each fork of this process, then one of the others."""
    if not _participants:
        os.register_at_fork(
            before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
        )
    _participants.append(_Participant(before, in_parent, in_child))


def _before() -> None:
    for participant in _participants:
        if participant.before is not None:
            participant.before()


def _after_in_parent() -> None:
    for participant in reversed(_participants):
        if participant.in_parent is not None:
            participant.in_parent()


def _after_in_child() -> None:
    for participant in reversed(_participants):
        if participant.in_child is not None:
            participant.in_child()
