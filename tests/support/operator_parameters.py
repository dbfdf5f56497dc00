"""What the generated operator tests share: the records as parameters, a smoke selection."""

import operator_cases
import pytest

#: Operators of every kind, for the run that takes seconds.
SMOKE = ("add", "exp", "where", "sum", "amax", "view", "select", "clone", "cumsum")


def pytest_generate_tests(metafunc):
    """A test with an argument `one` runs once for every record that its module and it select."""
    if "one" not in metafunc.fixturenames:
        return
    wanted = getattr(metafunc.module, "WANTED", operator_cases.every)
    also = getattr(metafunc.function, "selects", operator_cases.every)
    chosen = [one for one in operator_cases.sampled() if wanted(one) and also(one)]
    assert chosen, f"{metafunc.function.__name__} selects no record"
    metafunc.parametrize("one", [
        pytest.param(one, id=one.name, marks=[pytest.mark.smoke] if one.name in SMOKE else [])
        for one in chosen])
