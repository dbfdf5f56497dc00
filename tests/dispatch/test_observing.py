"""Observers see every call; while there is none, nothing stands in the way."""

from contextlib import nullcontext

import pytest

import yesca as torch
from yesca.dispatch import call, fast, functions, observing


class Log(observing.Observer):
    def __init__(self):
        self.seen = []

    def call(self, record, values, target=None, out=None):
        self.seen.append(record.name + "_" * (target is not None))
        return call.unobserved(record, values, target, out)

    def function(self, function, args, kwargs):
        self.seen.append(function.__name__)
        return function(*args, **kwargs)

    def node(self, name, sequence):
        self.seen.append(name)
        return nullcontext()

    def range(self, name, annotation=True):
        self.seen.append(name)
        return nullcontext()


@pytest.fixture
def log():
    made = Log()
    observing.observe(made)
    yield made
    observing.observe(None)


def test_operators_functions_and_nodes(log):
    x = torch.ones(2, requires_grad=True)
    torch.sin(x).exp().sum().backward()
    with torch.no_grad():
        x.mul_(2).uniform_()
    order = [name for name in log.seen if name in (
        "ones", "sin", "exp", "ExpBackward0", "SinBackward0", "mul_", "uniform_")]
    assert order == ["ones", "sin", "exp", "ExpBackward0", "SinBackward0", "mul_", "uniform_"]


def test_below_the_levels(log):
    torch.vmap(lambda row: row * 2)(torch.ones(2, 2))
    assert log.seen.count("mul") == 1


def test_ranges(log):
    assert observing.observed("work", lambda a, b: a - b)(5, b=2) == 3
    assert log.seen == ["work"]


def test_nobody():
    def function():
        return 1

    assert observing.observed("work", function) is function
    assert call.run is call.base and observing.current is None


def test_plans_are_found_again():
    record = functions.record("add")
    x, y = torch.ones(3), torch.ones(3)
    for values in ((x, y, 1), (x, 2, 1), (x, 2.0, 1)):
        call.unobserved(record, values)
        plan = call.known_plan(record, values, False)
        assert plan is not None and plan.record is record
        assert call.known_plan(record, values, True) is not plan
    joined = functions.record("cat_list")
    call.unobserved(joined, ((x, y), 0))
    assert call.known_plan(joined, ((x, y), 0), False).operands == 2
    assert call.known_plan(joined, (5, 0), False) is None


def test_builtins_in_spite_of_an_observer(log):
    if fast.FAST is None:
        assert torch.ones(1).item() == 1  # nothing but the portable path
        return
    record = functions.record("add")
    made = []

    def twin(*values):
        made.append(values)
        return call.unobserved(record, values)

    function = fast.FAST.function(record, twin, "add")
    x = torch.ones(3)
    for _ in range(3):
        assert fast.FAST.unobserved(function, (x, x, 1)).tolist() == [2.0] * 3
    assert len(made) == 1  # for the plan
    assert fast.FAST.flags.value & 2
    with torch.inference_mode():
        assert fast.FAST.unobserved(function, (x, x, 1)).is_inference()
    assert len(made) == 2
