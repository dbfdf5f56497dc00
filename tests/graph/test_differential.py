"""Generated programs, eager against compiled: values, gradients, side effects and aliasing."""

import differential
import differential_autograd
import differential_flow
import differential_kinds
import differential_modules
import pytest

from yesca.graph import again, groups, trie

PROGRAMS = 12  # of each kind
JOINED = 1  # of them joined and computed again, however few their points: their kernels take long

#: They enter the kinds.
MODULES = (differential_autograd, differential_flow, differential_kinds, differential_modules)


@pytest.mark.parametrize("name", differential.KINDS)
def test_programs(name, monkeypatch):
    raised = sum(differential.check(name, seed) for seed in range(JOINED, PROGRAMS))
    monkeypatch.setattr(groups, "LEAST", 1)
    monkeypatch.setattr(again, "LEAST_BYTES", 1)
    monkeypatch.setattr(again, "LEAST_SHARE", 1 << 30)
    raised += sum(differential.check(name, seed) for seed in range(JOINED))
    assert raised < PROGRAMS * differential.CALLS / 2  # most calls run to their end


@pytest.mark.parametrize("name", differential.KINDS)
def test_programs_of_which_nothing_is_joined_at_first(name, monkeypatch):
    """Most calls leave their recording at the first call that is new."""
    monkeypatch.setattr(trie, "MOST_CALLS_ONCE", 0)
    differential.check(name, JOINED)


def test_there_are_enough():
    assert PROGRAMS >= 10
    assert PROGRAMS * len(differential.KINDS) >= 300
