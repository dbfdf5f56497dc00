"""Measurements say what PyTorch's say."""

import copy
import pickle

import pytest

import yesca as torch
from yesca.utils.benchmark import (
    Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig,
    unit_to_english,
)


def measured(times, runs=1, stmt="x", setup="pass", **options):
    return Measurement(runs, times, TaskSpec(stmt, setup, **options))


def shown(*arguments, **options):
    """The report without its first line, which names the object."""
    return repr(measured(*arguments, **options)).partition("\n")[2]


@pytest.mark.parametrize(("made", "expected"), [
    (shown([1e-6]), "x\n  1.00 us\n  1 measurement, 1 runs , 1 thread"),
    (shown([1e-6, 1.02e-6, 1.04e-6]),
     "x\n  Median: 1.02 us\n  3 measurements, 1 runs per measurement, 1 thread"),
    (shown([1e-6, 1.1e-6, 1.2e-6, 1.05e-6]),
     "x\n  Median: 1.07 us\n  IQR:    0.09 us (1.04 to 1.12)\n"
     "  4 measurements, 1 runs per measurement, 1 thread"),
    (shown([1e-6, 1.3e-6]),
     "x\n  Median: 1.15 us\n  2 measurements, 1 runs per measurement, 1 thread\n"
     "  WARNING: Interquartile range is 13.0% of the median measurement.\n"
     "           This could indicate system fluctuation."),
    (shown([1e-6, 1.1e-6, 5e-6, 1e-6, 3e-6]),
     "x\n  Median: 1.10 us\n  IQR:    2.00 us (1.00 to 3.00)\n"
     "  5 measurements, 1 runs per measurement, 1 thread\n"
     "  WARNING: Interquartile range is 181.8% of the median measurement.\n"
     "           This suggests significant environmental influence."),
    (shown([1e-4], 10, label="L", env="E", num_threads=3, description="D"),
     "L\nD\n  10.00 us\n  1 measurement, 10 runs , 3 threads"),
    (shown([1e-4], sub_label="S"), "x: S\n  100.00 us\n  1 measurement, 1 runs , 1 thread"),
    (shown([1e-4], stmt="f(x)\ng", setup="a"),
     "stmt:\n  f(x)\n  g\n\nsetup: a\n  100.00 us\n  1 measurement, 1 runs , 1 thread"),
    (shown([1e-4], stmt="f(x)", setup="a\nb", description="dd"),
     "f(x)\ndd\nsetup:\n  a\n  b\n\n  100.00 us\n  1 measurement, 1 runs , 1 thread"),
])
def test_reports(made, expected):
    assert made == expected


@pytest.mark.parametrize(("times", "digits"), [
    ([1e-6] * 5, 1), ([1e-3] * 5, 4), ([1e-3, 1.1e-3, 1e-3, 1.2e-3], 1), ([1, 2, 3, 4, 5], 1),
    ([1e-4, 1.001e-4] * 3, 3),
])
def test_significant_figures(times, digits):
    assert measured(times).significant_figures == digits


def test_statistics():
    made = measured([1.0, 4.0, 2.0, 3.0, 10.0], 2)
    assert made.times == [0.5, 2.0, 1.0, 1.5, 5.0]
    assert (made.median, made.mean, made.iqr) == (1.5, 2.0, 1.0)
    assert made.has_warnings and not made.meets_confidence() and made.meets_confidence(0.7)
    nothing = measured([])
    assert (nothing.mean, nothing.median, nothing.has_warnings) == (-1.0, -1.0, False)


def test_names():
    made = measured([1.0], label="L", sub_label="s")
    assert (made.title, made.as_row_name, made.env) == ("L: s", "s", "Unspecified env")
    assert (made.stmt, made.num_threads, made.description) == ("x", 1, None)
    assert measured([1.0], env="E").env == "E"
    assert TaskSpec("a\nb", "c", sub_label="s").title == "stmt: (s)\n  a\n  b"
    with pytest.raises(AttributeError, match="'Measurement' object has no attribute 'nothing'"):
        made.nothing


def test_merging():
    parts = [measured([1e-6], label="a"), measured([2e-6], label="b"),
             measured([3e-6], label="a"), measured([8e-6, 6e-6], 2, label="b")]
    first, second = Measurement.merge(parts)
    assert (first.task_spec.label, first.raw_times) == ("a", [1e-6, 3e-6])
    assert (second.number_per_run, second.times) == (1, [2e-6, 4e-6, 3e-6])


def test_copies():
    made = measured([1e-6, 2e-6], label="a")
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert made != measured([1e-6], label="a")


@pytest.mark.parametrize(("time", "unit"), [
    (1e-10, "s"), (5e-9, "ns"), (1e-6, "us"), (2.5e-3, "ms"), (1e-3, "ms"), (1, "s"), (100, "s"),
])
def test_units(time, unit):
    assert select_unit(time)[0] == unit


def test_helpers():
    assert [unit_to_english(u) for u in ("ns", "s")] == ["nanosecond", "second"]
    assert (trim_sigfig(1234.5, 2), trim_sigfig(-5.55, 1), trim_sigfig(0, 3)) == (1200, -6, 0)
    assert ordered_unique("abca") == ["a", "b", "c"]
    before = torch.get_num_threads()
    with pytest.raises(KeyError), set_torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise KeyError
    assert torch.get_num_threads() == before
