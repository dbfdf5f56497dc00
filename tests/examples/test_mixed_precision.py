"""examples/mixed_precision.py and half_precision.py: the figures of PyTorch, and a table.

The figures were printed by the same programs under PyTorch 2.13 with the same seed.
"""

import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FORMATS = """\
            bytes   largest    smallest   100000      1e-8        1/3
float32         4   3.4e+38     1.2e-38   100000   1.0e-08   0.333333
bfloat16        2   3.4e+38     1.2e-38    99840   1.0e-08   0.333984
float16         2   6.6e+04     6.1e-05      inf   0.0e+00   0.333252

weight   float32
product  bfloat16
loss     float32
gradient float32

scale       1: gradient 0.00e+00
scale   65536: gradient 1.00e-08
"""


def test_formats_of_half_precision(run_program):
    assert run_program(EXAMPLES / "half_precision.py") == FORMATS


def test_mixed_precision_learns_as_well(run_program):
    lines = run_program(
        EXAMPLES / "mixed_precision.py", "--samples", 6400, "--epochs", 1).splitlines()
    row = r"(\w+) +([\d,]+) +(\d+\.\d\d)x +(\d\.\d{4}) +(\d\.\d{4}) +(\d+)"
    found = {m[1]: m for m in (re.fullmatch(row, line) for line in lines[1:])}
    assert list(found) == ["float32", "bfloat16", "float16"]
    assert len({len(line) for line in lines}) == 1  # the columns line up
    for name, loss, accuracy in (
            ("float32", 0.9240, 0.8906), ("bfloat16", 0.9229, 0.8907), ("float16", 0.9252, 0.8898)):
        tolerance = 2e-3 if name == "float32" else 1e-2
        assert float(found[name][4]) == pytest.approx(loss, rel=tolerance)
        assert float(found[name][5]) == pytest.approx(accuracy, rel=tolerance)
        assert found[name][6] == "0"
    assert found["float32"][3] == "1.00"


def test_wide_layers_and_large_batches(run_program):
    printed = run_program(EXAMPLES / "mixed_precision.py", "--samples", 512, "--epochs", 1,
                          "--batch-size", 256, "--width", 64)
    assert printed.count("\n") == 4


def test_wrong_number_of_epochs_is_refused(run_python):
    done = run_python("-m", "yesca", EXAMPLES / "mixed_precision.py", "--epochs", 0)
    assert done.returncode == 2
    assert "--epochs must be at least 1" in done.stderr
