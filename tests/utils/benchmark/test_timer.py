"""`Timer`, with a clock that the tests wind."""

import pytest

import yesca as torch
from yesca.utils.benchmark import Timer


class Clock:
    """Stands still but for what the measured statement adds, and a little for each look."""

    def __init__(self):
        self.now, self.runs = 0.0, 0

    def __call__(self):
        self.now += 1e-9
        return self.now

    def work(self, seconds=1e-6):
        self.now += seconds
        self.runs += 1


def made(stmt="clock.work()", **options):
    clock = Clock()
    return clock, Timer(stmt, timer=clock, globals={"clock": clock}, **options)


def test_timeit():
    clock, timer = made()
    result = timer.timeit(1000)
    assert clock.runs == 1010  # a hundredth as a warm-up
    assert (result.number_per_run, len(result.raw_times)) == (1000, 1)
    assert result.median == pytest.approx(1e-6, rel=1e-3)


def test_blocked_autorange():
    seen = []
    _, timer = made()
    result = timer.blocked_autorange(lambda runs, seconds: seen.append((runs, seconds)), 0.05)
    assert result.number_per_run == 100  # the clock itself is below a ten thousandth of that
    assert sum(result.raw_times) >= 0.05 > sum(result.raw_times[:-1])
    assert seen == [(100, time) for time in result.raw_times]
    assert result.median == pytest.approx(1e-6, rel=1e-3)


def test_slow_statements_run_few_times():
    clock, timer = made("clock.work(2.0)")
    assert len(timer.blocked_autorange(min_run_time=0.1).raw_times) == 1
    assert clock.runs == 2


def test_adaptive_autorange():
    _, timer = made("clock.work()")
    result = timer.adaptive_autorange(min_run_time=1e-5)
    assert len(result.raw_times) == 4 and result.meets_confidence()
    _, timer = made("clock.work(1e-3 * (1 + clock.runs % 3))")
    noisy = timer.adaptive_autorange(threshold=1e-9, max_run_time=0.5)
    assert sum(noisy.raw_times) >= 0.5 and not noisy.meets_confidence(1e-9)


def test_threads_and_names():
    before = torch.get_num_threads()
    seen = []
    timer = Timer("seen.append((torch.get_num_threads(), x.sum().item()))",
                  setup="x = torch.ones(3)", globals={"seen": seen}, num_threads=before + 1)
    timer.timeit(1)
    assert set(seen) == {(before + 1, 3.0)}
    assert torch.get_num_threads() == before


def test_indented_statements():
    result = Timer("""
        y = 1
        z = y + 1
        """, setup="""
        pass
        """).timeit(1)
    assert result.task_spec.stmt == "y = 1\nz = y + 1"
    assert result.task_spec.setup == "pass"


def test_wrong_use():
    for options, message in (
            ({"stmt": 3}, "Currently only a `str` stmt is supported."),
            ({"global_setup": "x"}, "global_setup is C.. only, got `x`."),
            ({"language": "java"}, "Invalid language `java`.")):
        with pytest.raises(ValueError, match=message):
            Timer(**{"stmt": "1", **options})
    with pytest.raises(NotImplementedError, match="See `Timer.blocked_autorange.`"):
        Timer("1").repeat()
    with pytest.raises(NotImplementedError, match="See `Timer.blocked_autorange.`"):
        Timer("1").autorange()
    with pytest.raises(NameError):
        Timer("no_such_name").timeit(1)
