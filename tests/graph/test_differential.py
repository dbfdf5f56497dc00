"""Generated programs, eager against compiled: values, gradients, side effects and aliasing."""

import differential
import differential_autograd
import differential_flow
import differential_kinds
import differential_modules
import pytest

PROGRAMS = 12  # of each kind

#: They enter the kinds.
MODULES = (differential_autograd, differential_flow, differential_kinds, differential_modules)


@pytest.mark.parametrize("name", differential.KINDS)
def test_programs(name):
    raised = sum(differential.check(name, seed) for seed in range(PROGRAMS))
    assert raised < PROGRAMS * differential.CALLS / 2  # most calls run to their end


def test_there_are_enough():
    assert PROGRAMS >= 10
    assert PROGRAMS * len(differential.KINDS) >= 300
