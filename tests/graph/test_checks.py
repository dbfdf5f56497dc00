"""Checks of values: those that read what is there already do not end a recording."""

import pytest

import yesca as torch
from yesca.graph import recorder
from yesca.nn import functional

table = torch.arange(40).float().view(10, 4)


def runs(function, *inputs):
    before = recorder.replays
    function(*inputs)
    return recorder.replays - before


def test_targets_that_are_there_are_checked_at_once():
    @torch.compile
    def loss(x, targets):
        return functional.cross_entropy(x * 2, targets) + 1

    targets = torch.tensor([1, 3, 0])
    assert runs(loss, table[:3], targets) == 1
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        loss(table[:3], torch.tensor([1, 7, 0]))
    assert loss(table[:3], targets).item() > 0  # nothing is left of the one that failed


def test_an_index_that_the_recording_makes_is_checked_when_it_is_known():
    @torch.compile
    def rows(x, k):
        return (x + 1)[k * 2]

    assert rows(table, torch.tensor([1, 2])).tolist() == (table + 1)[[2, 4]].tolist()
    with pytest.raises(IndexError, match="index 12 is out of bounds"):
        rows(table, torch.tensor([6]))


def test_an_index_that_the_recording_writes_is_not_read_too_early():
    @torch.compile
    def rows(x, k):
        y = x + 1
        k.add_(20)
        return y[k]

    with pytest.raises(IndexError, match="index 21 is out of bounds"):
        rows(table, torch.tensor([1]))


def test_what_ran_before_a_failed_check_has_happened():
    x = torch.zeros(4)

    @torch.compile
    def function(x, k):
        x.add_(1)
        return torch.nn.functional.embedding(k, table * 2)

    with pytest.raises(IndexError):
        function(x, torch.tensor([99]))
    assert x.tolist() == [1.0] * 4


def test_numbers_are_checked_at_once():
    """A fill is part of the program, and a number out of range raises where it stands."""
    lines = []

    @torch.compile
    def fill(x, number):
        made = x * 2 + torch.full((3,), 3, dtype=torch.int32)
        made = made.masked_fill(x > 1, number)
        lines.append("filled")
        return made + 1

    x = torch.tensor([0.0, 1.0, 2.0])
    for number in (-4.0, 5.0, 7.0):
        assert fill(x, number).tolist() == [4.0, 6.0, number + 1]
    with pytest.raises(RuntimeError, match="type float without overflow"):
        fill(x, 1e39)
    assert lines == ["filled"] * 3
    assert runs(fill, x, 5.0) == 1
