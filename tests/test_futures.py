"""`torch.futures`: results that come later."""

import threading

import pytest

import yesca as torch
from yesca.futures import Future, collect_all, wait_all


def test_results_from_another_thread():
    future, seen = Future(), []
    doubled = future.then(lambda done: 2 * done.value())
    future.add_done_callback(lambda done: seen.append(done.wait()))
    assert not future.done() and not doubled.done()
    threading.Timer(0.02, lambda: future.set_result(torch.ones(1))).start()
    assert doubled.wait().tolist() == [2.0] and future.done()
    assert seen[0] is future.wait() and future.then(lambda done: 3).wait() == 3


def test_failures():
    future = Future()
    with pytest.raises(RuntimeError, match="not completed"):
        future.value()
    after = future.then(lambda done: 1 / 0)
    future.set_result(1)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        after.wait()
    with pytest.raises(RuntimeError, match="mark a completed Future as complete again"):
        future.set_result(2)
    failed = Future()
    failed.set_exception(ValueError("foo"))
    for ask in (failed.wait, failed.value, lambda: wait_all([future, failed])):
        with pytest.raises(ValueError, match="foo"):
            ask()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception(3)


def test_several():
    futures = [Future() for _ in range(3)]
    all_of_them = collect_all(futures)
    for number, future in enumerate(futures):
        assert not all_of_them.done()
        future.set_result(number)
    assert all_of_them.wait() is futures and wait_all(futures) == [0, 1, 2]
    assert collect_all([]).wait() == []
