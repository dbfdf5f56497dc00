"""Bytes that calls move, from their plans."""

import pytest

import yesca as torch
from yesca.profiler import traffic


def moved(function):
    """Bytes of the last operator that a function runs."""
    function()
    with torch.profiler.profile() as prof:
        function()
    return [e.bytes_moved for e in prof.events() if e.bytes_moved][-1]


X = torch.ones(100, 50)
TABLE = torch.ones(1000, 8)
NUMBER = 4


@pytest.mark.parametrize(("function", "expected"), [
    (lambda: X + X, 3 * 5000 * NUMBER),
    (lambda: X + 1, 2 * 5000 * NUMBER),
    (lambda: X + X[0], (2 * 5000 + 50) * NUMBER),
    (lambda: X + X[0, 0].expand(100, 50), (2 * 5000 + 1) * NUMBER),
    (lambda: X.clone().add_(1), 2 * 5000 * NUMBER),
    (lambda: X.clone().add_(X), 3 * 5000 * NUMBER),
    (lambda: X.clone().fill_(1), 5000 * NUMBER),
    (lambda: X.sum(), 5001 * NUMBER),
    (lambda: X > 0, 5000 * (NUMBER + 1)),
    (lambda: torch.softmax(X, 1), 2 * 5000 * NUMBER),
    (lambda: torch.cat([X, X]), 4 * 5000 * NUMBER),
    (lambda: torch.zeros_like(X), 5000 * NUMBER),
    (lambda: X.to(torch.complex64) * 1, 2 * 5000 * 2 * NUMBER),
])
def test_bytes(function, expected):
    assert moved(function) == expected


def test_rows_of_a_table():
    """Only those count that are read."""
    assert 2 * 2 * 8 * NUMBER < moved(lambda: TABLE[torch.tensor([1, 2])]) < 1000 * 8 * NUMBER


def test_views_and_meta_tensors_move_nothing():
    with torch.profiler.profile() as prof:
        for _ in range(2):
            X.t()
            X.to("meta") + 1
    assert not any(e.bytes_moved for e in prof.events() if e.name in ("aten::t", "aten::add"))


def test_bandwidth_is_measured_once():
    first = traffic.bandwidth()
    assert 1e8 < first < 1e13
    assert traffic.bandwidth() == first


def test_share_of_the_bandwidth():
    with torch.profiler.profile() as prof:
        X + X
    average = next(a for a in prof.key_averages() if a.key == "aten::add")
    spent = average.self_cpu_time_total
    assert average.bytes_per_second == pytest.approx(60_000 * 1e6 / spent)
