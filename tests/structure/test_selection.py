"""The options of the tests' own: tenths of the tests, and a limit on compiled kernels."""

import gc
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def names(output):
    return {line for line in output.splitlines() if "::" in line}


def test_tenths_are_a_partition_and_all_hold_what_is_in_every_one(run_python):
    def collected(*options):
        found = run_python("-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider",
                           TESTS / "operators" / "test_values.py",
                           TESTS / "runtime" / "test_halves.py", *options)
        assert found.returncode == 0, found.stdout
        return names(found.stdout)

    whole, always = collected(), collected("-m", "smoke or every_cpu")
    assert {"test_values", "test_halves"} == {Path(name.split("::")[0]).stem for name in always}
    first, second = collected("--tenth", "0"), collected("--tenth", "1")
    assert first & second == always and always < first < whole
    assert 0.05 < len(first - always) / len(whole) < 0.2
    assert collected("--tenth", "0") == first


def test_the_collector_of_cycles_does_not_look_through_the_tests(request):
    """Those of a whole run are some million objects: a second each time."""
    assert gc.isenabled()
    assert not any(one is request.node for one in gc.get_objects())


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
@pytest.mark.parametrize(("most", "code"), [(0, 1), (10_000, 0)])
def test_too_many_kernels_fail_the_run(most, code, processes, run_python, tmp_path):
    found = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--most-kernels", most,
                       *processes,
                       TESTS / "runtime" / "test_folding.py",
                       YESCA_CACHE_DIR=str(tmp_path / "kernels"))
    assert found.returncode == code, found.stdout
    assert ("within" if code == 0 else "more than") in found.stdout
    assert "failed" not in found.stdout
