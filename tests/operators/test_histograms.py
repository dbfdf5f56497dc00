"""Histograms of numbers and of points: counts, weights, densities, and what is refused."""

import math

import numpy as np
import pytest

import yesca as torch


def test_points_are_counted_as_numpy_counts_them() -> None:
    numbers = np.random.default_rng(0)
    points = numbers.normal(size=(50, 3))
    weight = numbers.uniform(size=50)
    edges = [np.array([-2.0, -0.5, 0.0, 2.5]), np.linspace(-1, 1, 5), np.array([-3.0, 3.0])]
    for density in (False, True):
        made = torch.histogramdd(torch.from_numpy(points), [torch.from_numpy(e) for e in edges],
                                 weight=torch.from_numpy(weight), density=density)
        wanted, _ = np.histogramdd(points, edges, weights=weight, density=density)
        assert np.allclose(made.hist.numpy(), wanted)
    made = torch.histogramdd(torch.from_numpy(points.reshape(5, 10, 3)), (4, 3, 2))
    wanted, ends = np.histogramdd(points, (4, 3, 2))
    assert np.array_equal(made.hist.numpy(), wanted) and isinstance(made.bin_edges, tuple)
    assert all(np.allclose(a.numpy(), b) for a, b in zip(made.bin_edges, ends, strict=True))
    within = torch.histogramdd(torch.from_numpy(points), 2, range=(0, 1, 0, 1, -1.0, 1))
    wanted, _ = np.histogramdd(points, 2, range=((0, 1), (0, 1), (-1, 1)))
    assert np.array_equal(within.hist.numpy(), wanted)


def test_ranges_of_nothing_and_of_one_value() -> None:
    assert torch.histogram(torch.empty(0), 2).bin_edges.tolist() == [0, 0.5, 1]
    made = torch.histogram(torch.tensor(1.0), 2)
    assert made.hist.tolist() == [0, 1] and made.bin_edges.tolist() == [0.5, 1, 1.5]
    made = torch.histogramdd(torch.empty(0, 2), (1, 2))
    assert made.hist.tolist() == [[0, 0]] and made.bin_edges[0].tolist() == [0, 1]
    assert torch.histogram(torch.tensor([1, 2, math.inf]), 3, range=(0, 3)).hist.tolist() == \
        [0, 1, 1]


POINTS = torch.tensor([[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("call,message", [
    (lambda: torch.histogramdd(POINTS[0], (2, 2)), "should have at least 2 dimensions"),
    (lambda: torch.histogramdd(POINTS, (2,)), "size of bins must be equal to the innermost"),
    (lambda: torch.histogramdd(POINTS, (2, 0)), "bins must be > 0, but got 0 for dimension 1"),
    (lambda: torch.histogramdd(POINTS, (2, 2), range=(0.0, 1.0)), "range should have 4 elements"),
    (lambda: torch.histogramdd(POINTS, (2, 2), range=(1.0, 0.0, 0.0, 1.0)),
     "min should not exceed max, but got min 1 max 0 for dimension 0"),
    (lambda: torch.histogramdd(POINTS * math.nan, (2, 2)), r"0's range \[nan, nan\] is not finite"),
    (lambda: torch.histogramdd(POINTS, (2, 2), weight=torch.ones(3)), "weight with shape"),
    (lambda: torch.histogramdd(POINTS, (2, 2), weight=torch.ones(2).double()),
     r"got input\(float\), and weight\(double\)"),
    (lambda: torch.histogramdd(POINTS, (torch.ones(2).double(), torch.ones(2))),
     "bins for dimension 0 with dtype double"),
    (lambda: torch.histogram(POINTS, torch.ones(1, 2)), "bins tensor should have one dimension"),
    (lambda: torch.histogram(POINTS, torch.ones(0)), "bins tensor should have at least 1 element"),
    (lambda: torch.histogram(POINTS, torch.ones(1)), "bins must be > 0, but got 0")])
def test_refused(call, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_dtypes_and_kinds_of_bins() -> None:
    for function in (lambda x: torch.histogram(x, 2), lambda x: torch.histogramdd(x, 2)):
        with pytest.raises(NotImplementedError, match="\"histogramdd\" not implemented for 'Long'"):
            function(POINTS.long())
    for bins in ("x", POINTS[0], True, (POINTS[0], 2)):
        with pytest.raises(TypeError, match=r"histogramdd\(\) received an invalid combination"):
            torch.histogramdd(POINTS, bins)
