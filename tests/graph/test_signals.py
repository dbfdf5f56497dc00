"""The handler of a signal may run operators at any moment, while a recording is run as well."""

import signal

import pytest

import yesca as torch
from yesca.graph import recorder, trie


@pytest.fixture
def handled():
    """Let a function handle the signal; gives what says so."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda function: signal.signal(signal.SIGUSR1, lambda number, frame: function())
    signal.signal(signal.SIGUSR1, before)


def raising(monkeypatch, owner, name, times=1):
    """The function raises the signal before it does its work, the first few times."""
    work, left = getattr(owner, name), [times]

    def first(*args, **kwargs):
        if left[0]:
            left[0] -= 1
            signal.raise_signal(signal.SIGUSR1)
        return work(*args, **kwargs)

    monkeypatch.setattr(owner, name, first)


@pytest.mark.parametrize(("owner", "name"), [
    (trie.Trie, "program"), (recorder.Recorder, "_replay"), (recorder.Recorder, "_mark"),
    (recorder.Recorder, "_live"), (recorder.Recorder, "_go_on"), (recorder.Recorder, "flush")])
@pytest.mark.parametrize("reads", [True, False])
def test_handlers_while_a_recording_is_run(owner, name, reads, handled, monkeypatch):
    if recorder.current().native is None:
        pytest.skip("without builtins the parts of a run are calls of Python")
    state, kept, found = torch.zeros(2), [], []

    @torch.compile
    def run(x):
        y = x * 2
        kept.append(y)
        state.add_(1)
        return y + 1, state * 3

    def handler():
        found.append(torch.ones(2) * 5 + 1)
        if reads:
            found.extend([kept[-1] + 1, state.clone()])
            state.mul_(10)
            found.append(state + kept[-1])

    handled(handler)
    raising(monkeypatch, owner, name)
    x = torch.tensor([1.0, 2.0])
    outer = run(x)
    assert found[0].tolist() == [6.0, 6.0]
    assert outer[0].tolist() == [3.0, 5.0]
    assert outer[1].tolist() == [3.0, 3.0]
    if reads:
        assert [t.tolist() for t in found[1:]] == [[3.0, 5.0], [1.0, 1.0], [12.0, 14.0]]
        assert state.tolist() == [10.0, 10.0]
    again = run(x)  # with nothing left of the interrupted one
    assert [t.tolist() for t in again] == [[3.0, 5.0], [33.0, 33.0] if reads else [6.0, 6.0]]


def test_handlers_that_raise(handled, monkeypatch):
    """The error is the program's; what was to be computed is lost, what was there is not."""
    def handler():
        raise KeyboardInterrupt

    kept = []

    @torch.compile
    def run(x):
        kept.append(x * 2)
        return kept[-1] + 1

    handled(handler)
    raising(monkeypatch, trie.Trie, "program")
    x = torch.ones(2)
    with pytest.raises(KeyboardInterrupt):
        run(x)
    with pytest.raises(RuntimeError, match="This tensor has no value"):
        kept[0].tolist()
    assert x.tolist() == [1.0, 1.0]
    assert run(x).tolist() == [3.0, 3.0]
