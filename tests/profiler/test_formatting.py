"""Numbers as tables show them."""

import pytest

from yesca.profiler import formatting


@pytest.mark.parametrize(("given", "shown"), [
    (0, "0.000us"), (999.9994, "999.999us"), (1000, "1.000ms"), (1_000_000, "1.000s"),
])
def test_times(given, shown):
    assert formatting.time(given) == shown


def test_times_in_one_unit():
    assert formatting.time(1234, "s") == "0.001s"
    with pytest.raises(ValueError, match="time_unit"):
        formatting.time(1, "minutes")


@pytest.mark.parametrize(("given", "shown"), [
    (0, "0 B"), (1023, "1023 B"), (-1024, "-1.00 KB"), (3 << 20, "3.00 MB"), (1 << 30, "1.00 GB"),
])
def test_memory(given, shown):
    assert formatting.memory(given) == shown


def test_shares():
    assert formatting.share(1, 8) == "12.50%"
    assert formatting.share(1, 0) == "NaN"


def test_flops():
    assert formatting.flops_unit([]) == ("FLOPs", 1.0)
    assert formatting.flops_unit([3, 10**9]) == ("FLOPs", 1.0)
    assert formatting.flops_unit([2 * 10**9, 0]) == ("GFLOPs", 1e9)
