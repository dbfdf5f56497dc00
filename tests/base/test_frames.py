"""Warnings name the program's line, from however deep inside the package they come."""

import warnings

import pytest

import yesca
from yesca.base.frames import warn


def line_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    return {(one.filename, one.lineno) for one in caught}


CALLS = [
    lambda: warn("here"),
    lambda: yesca.add(yesca.ones(3), 1, out=yesca.ones(2)),
    lambda: yesca.nn.functional.grid_sample(yesca.ones(1, 1, 2, 2), yesca.zeros(1, 2, 2, 2)),
    lambda: yesca.nn.functional.softmax(yesca.ones(2)),
    lambda: yesca.nn.functional.mse_loss(yesca.ones(2), yesca.ones(2, 2)),
    lambda: yesca.range(3, 4),
]


@pytest.mark.parametrize("call", CALLS)
def test_the_line_that_called(call):
    for _ in range(3):  # also once the builtin path knows the call
        assert line_of(call) == {(__file__, call.__code__.co_firstlineno)}
