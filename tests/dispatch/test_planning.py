"""Plans are made with the garbage collector waiting: all of what is made stays."""

import gc

import pytest

import yesca as torch
from yesca.dispatch import call


@pytest.fixture
def collected(monkeypatch):
    """Whether the collector was on, for each plan that is made."""
    found = []

    def made(*arguments, known=call._made_plan):
        found.append(gc.isenabled())
        return known(*arguments)

    monkeypatch.setattr(call, "_made_plan", made)
    return found


def test_the_collector_waits_while_a_plan_is_made(collected):
    assert gc.isenabled()
    torch.ones(3, 1009) + torch.ones(1009)
    assert collected and not any(collected)
    assert gc.isenabled()


def test_it_goes_on_after_an_error_and_stays_off_where_it_was(collected):
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.ones(3, 1013) + torch.ones(1015)
    assert collected and gc.isenabled()
    gc.disable()
    try:
        torch.ones(3, 1019) + torch.ones(1019)
        assert not gc.isenabled()
    finally:
        gc.enable()
