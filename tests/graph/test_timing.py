"""Launches run one at a time for their times; what they compute stays what it is."""

import pytest

import yesca as torch
from yesca.graph import recorder, timing


def test_every_launch_has_its_time_and_ordinary_calls_none():
    x = torch.randn(256, 256)
    function = torch.compile(lambda x: ((x + 1).relu() @ x).exp())
    before = recorder.current()
    with timing.timekeeper() as keeper:
        result = function(x)
        assert recorder.current() is keeper
    assert recorder.current() is before
    assert torch.equal(result, ((x + 1).relu() @ x).exp())
    assert len(keeper.seconds) == len(keeper.program.steps) > 1
    assert all(0 <= s < 1 for s in keeper.seconds)
    assert sum(keeper.seconds) > 0
    function(x + 1)
    assert len(keeper.seconds) == len(keeper.program.steps)


def test_what_is_written_over_is_written_once():
    """Each launch runs several times; in-place ones have to begin anew each time."""
    def stepped(x, w, index):
        w.add_(x.sum(0))
        w.mul_(2)
        table = torch.zeros(4, 3)
        table.index_add_(0, index, x)
        x.sub_(1)
        return table @ w

    def arguments():
        torch.manual_seed(3)
        return torch.randn(5, 3), torch.randn(3), torch.tensor([0, 1, 1, 3, 0])

    mine, other = arguments(), arguments()
    expected = stepped(*mine)
    found = torch.compile(stepped)
    with timing.timekeeper():
        assert found(*other).tolist() == expected.tolist()
    assert [t.tolist() for t in other] == [t.tolist() for t in mine]
    assert [t._version for t in other] == [t._version for t in mine]


def test_results_that_lie_over_operands():
    """The memory of a temporary is used again by the launch that reads it last."""
    x = torch.randn(64, 64) / 64

    def chained(x):
        return ((x @ x).exp() @ x).cumsum(0).cumsum(1) @ x

    expected = torch.compile(chained)(x)
    with timing.timekeeper() as keeper:
        assert torch.equal(torch.compile(chained)(x), expected)
    places = keeper.program.memories.values()
    assert len({place[:2] for place in places}) < len(places)


def test_a_training_step():
    def losses(wrap):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(),
                                    torch.nn.Linear(16, 3))
        optimizer = torch.optim.Adam(model.parameters())
        x, target = torch.randn(8, 20), torch.arange(8) % 3

        def step():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        return [step().item() for _ in range(4)]

    expected = losses(lambda step: step)
    with timing.timekeeper():
        assert losses(torch.compile) == expected


def test_errors_of_values_are_reported_as_ever():
    def picked(index):
        return torch.nn.functional.embedding(index + 0, torch.ones(2, 2) * 2)

    with timing.timekeeper(), pytest.raises(IndexError):
        torch.compile(picked)(torch.tensor([2]))
