"""`torch.multiprocessing` is Python's, with `spawn` and a choice of how memory is shared."""

import multiprocessing
import os
import pickle

import pytest

from yesca import multiprocessing as mp


def fail(index, value):
    if index == 1:
        raise ValueError(f"no {value}")


def leave(index):
    os._exit(3 + index)


def test_names_of_python():
    assert mp.Queue == multiprocessing.Queue
    assert mp.Process is multiprocessing.Process
    assert mp.connection is multiprocessing.connection
    assert {"spawn", "Queue", "ProcessRaisedException"} <= set(mp.__all__)
    assert callable(mp.spawn)


def test_sharing_strategy(monkeypatch):
    strategies = mp.get_all_sharing_strategies()
    assert mp.get_sharing_strategy() in strategies
    monkeypatch.setattr(mp, "_strategy", mp.get_sharing_strategy())
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x'"):
        mp.set_sharing_strategy("x")


def test_errors_of_processes():
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: no 7") as raised:
        mp.start_processes(fail, (7,), nprocs=2, start_method="fork")
    assert raised.value.error_index == 1
    assert str(raised.value).startswith("\n\n-- Process 1 terminated with the following error:")
    with pytest.raises(mp.ProcessExitedException, match="terminated with exit code 3$") as left:
        mp.start_processes(leave, nprocs=1, start_method="fork")
    assert (left.value.exit_code, left.value.signal_name) == (3, None)
    again = pickle.loads(pickle.dumps(left.value))
    assert (str(again), again.exit_code) == (str(left.value), 3)


def test_without_join():
    started = mp.start_processes(print, nprocs=1, join=False, start_method="fork")
    assert len(started.pids()) == 1
    while not started.join():
        pass


def test_spawn_takes_one_start_method():
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        assert mp.spawn(print, nprocs=0, start_method="fork") is None
