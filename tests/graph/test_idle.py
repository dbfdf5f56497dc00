"""Functions whose programs save nothing: most of their calls just run, nobody can tell which."""

import pytest

import yesca as torch
from yesca.base import settings
from yesca.graph import public, recorder, trie


@pytest.fixture(autouse=True)
def as_users_have_it():
    with settings.RECORD.override(False):
        yield


def short(x):
    return (x * 2 + 1).relu()


def recorded(call, times):
    """How many of so many calls were replayed."""
    before = recorder.replays
    for _ in range(times):
        call()
    return recorder.replays - before


def test_most_calls_of_what_saves_nothing_are_not_recorded():
    run, x = torch.compile(short), torch.randn(5)
    assert recorded(lambda: run(x), 2) == 2
    rounds = 3
    assert recorded(lambda: run(x), rounds * public.RECORDED_EVERY) == rounds
    assert run(x).equal(short(x))


def test_what_saves_much_is_recorded_at_every_call():
    run, x = torch.compile(short), torch.randn(1 << 15)
    assert recorded(lambda: run(x), 100) == 100


def test_a_setting_records_every_call():
    run, x = torch.compile(short), torch.randn(5)
    with settings.RECORD.override(True):
        assert recorded(lambda: run(x), 100) == 100


def test_more_work_is_noticed_and_recorded_from_then_on():
    run, small, large = torch.compile(short), torch.randn(5), torch.randn(1 << 15)
    recorded(lambda: run(small), 10)
    recorded(lambda: run(large), public.RECORDED_EVERY)  # one of these was recorded
    assert recorded(lambda: run(large), 20) == 20
    assert recorded(lambda: run(small), 20) == 20
    assert run(large).equal(short(large))


def test_fullgraph_still_refuses_what_it_refuses():
    def undecided(x, decide):
        return x + 1 if not decide or x.sum() > 0 else x

    run, x = torch.compile(undecided, fullgraph=True), torch.ones(3)
    for _ in range(5):
        run(x, False)
    with pytest.raises(RuntimeError, match="needs the value"):
        run(x, True)


def test_a_part_that_may_not_break_is_recorded():
    def guarded(x, read):
        with torch._dynamo.error_on_graph_break(True):
            return x * 2 if not read or x.sum() > 0 else x

    run, x = torch.compile(guarded), torch.ones(3)
    assert recorded(lambda: run(x, False), 10) == 10
    with pytest.raises(RuntimeError, match="needs the value"):
        run(x, True)


def test_explain_records_what_idles():
    run, x = torch.compile(short), torch.randn(5)
    recorded(lambda: run(x), 10)
    found = torch.compiler.explain(run)(x)
    assert found.graphs[0].ops == ["mul", "add", "relu"]


def test_it_is_compiling_in_calls_that_are_not_recorded():
    seen = []

    @torch.compiler.disable
    def outside():
        return torch.compiler.is_compiling()

    @torch.compile
    def asks(x):
        seen.append((torch.compiler.is_compiling(), outside()))
        return x + 1

    for _ in range(10):
        asks(torch.ones(2))
    assert seen == [(True, False)] * 10
    assert not torch.compiler.is_compiling()


def test_a_compiled_function_inside_is_part_of_it():
    inner = torch.compile(short)
    outer = torch.compile(lambda x: inner(x) - 1)
    x = torch.randn(4)
    recorded(lambda: outer(x), 10)
    assert recorded(lambda: outer(x), 5) == 0
    assert recorded(lambda: inner(x), 2) == 2  # alone it is recorded anew


def test_an_error_leaves_nothing_behind():
    def fails(x, late):
        y = short(x)
        if late:
            raise KeyError("late")
        return y

    run, x = torch.compile(fails), torch.ones(3)
    recorded(lambda: run(x, False), 10)
    with pytest.raises(KeyError):
        run(x, True)
    assert not torch.compiler.is_compiling()
    assert torch.compile(short)(x).equal(short(x))


def test_reset_starts_anew():
    run, x = torch.compile(short), torch.randn(5)
    recorded(lambda: run(x), 10)
    torch.compiler.reset()
    assert recorded(lambda: run(x), 2) == 2


def test_the_bound_is_where_recording_pays(monkeypatch):
    """The rule counts what programs save, so a bound of nothing lets none idle."""
    monkeypatch.setattr(trie, "LEAST_SAVED", 0)
    run, x = torch.compile(short), torch.randn(5)
    assert recorded(lambda: run(x), 100) == 100
