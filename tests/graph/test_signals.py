"""The handler of a signal may run operators at any moment, while a recording is run as well."""

import contextlib
import itertools
import signal

import pytest
from interpreted import python_path

import yesca as torch
from yesca.graph import recorder, trie


@pytest.fixture
def handled():
    """Let a function handle the signal; gives what says so."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda function: signal.signal(signal.SIGUSR1, lambda number, frame: function())
    signal.signal(signal.SIGUSR1, before)


def raising(monkeypatch, owner, name, number=0):
    """The function raises the signal before it does its work, at its first or a later call."""
    work, calls = getattr(owner, name), itertools.count()

    def first(*args, **kwargs):
        if next(calls) == number:
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


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("reads", [True, False])
def test_handlers_while_a_call_is_written_down(portable, number, reads, handled, monkeypatch):
    """Between the parts of the first, second or third call, by machine code or by Python."""
    state, kept, found = torch.zeros(2), [], []

    @torch.compile
    def run(x):
        kept.append(x * 2)
        state.add_(kept[0])
        return kept[0] + state, state * 3

    def handler():
        found.append(torch.ones(2) * 5 + 1)
        if reads:
            found.extend([t + 1 for t in kept])
            state.mul_(10)
            found.append(state + 1)

    handled(handler)
    with monkeypatch.context() as patched:
        raising(patched, trie.Trie, "branch", number)
        x = torch.tensor([1.0, 2.0])
        with python_path() if portable else contextlib.nullcontext():
            outer = run(x)
    assert found[0].tolist() == [6.0, 6.0]
    factor = 10 if reads and number == 2 else 1  # the write to the state is the second call
    wanted = torch.tensor([2.0, 4.0])
    assert kept[0].tolist() == wanted.tolist()
    assert state.tolist() == (wanted * factor).tolist()
    assert [t.tolist() for t in outer] == [(wanted + wanted * factor).tolist(),
                                           (wanted * factor * 3).tolist()]
    if reads:
        assert [t.tolist() for t in found[1:-1]] == [[3.0, 5.0]] * min(number, 1)
        written = wanted * factor if number == 2 else wanted * 0
        assert found[-1].tolist() == (written + 1).tolist()
    kept.clear()
    state.zero_()
    assert run(x)[0].tolist() == [4.0, 8.0]


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("number", range(2))
def test_handlers_that_raise_while_a_call_is_written_down(portable, number, handled, monkeypatch):
    """What was recorded before the call is there; the call is not made."""
    kept = []

    @torch.compile
    def run(x):
        try:
            kept.append(x * 2)
            kept.append(kept[0] + 1)
        except KeyboardInterrupt:
            kept.append(None)
        return x * 5

    def handler():
        raise KeyboardInterrupt

    handled(handler)
    x = torch.ones(2)
    with monkeypatch.context() as patched:
        raising(patched, trie.Trie, "branch", number)
        with python_path() if portable else contextlib.nullcontext():
            assert run(x).tolist() == [5.0, 5.0]
    assert [t if t is None else t.tolist() for t in kept] == [[2.0, 2.0]][:number] + [None]
    kept.clear()
    assert run(x).tolist() == [5.0, 5.0] and kept[1].tolist() == [3.0, 3.0]


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
