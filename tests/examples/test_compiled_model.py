"""examples/compiled_model.py: one line wraps the model, and its operators become one loop."""

import re
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "compiled_model.py"


def test_results_are_those_of_the_model(run_program):
    lines = run_program(EXAMPLE).splitlines()
    assert lines[0] == "largest difference: 0.0e+00"
    assert lines[1] == "parameters shared:  True"
    assert [line.split(":")[0] for line in lines[2:]] == ["first call", "later calls", "one by one"]
    assert all(re.search(r": +\d+\.\d{3} ms$", line) for line in lines[2:])


def test_the_log_shows_one_loop(run_python):
    done = run_python("-m", "yesca", EXAMPLE, TORCH_LOGS="fusion")
    assert done.returncode == 0, done.stderr
    first, *_ = done.stderr.splitlines()
    assert first.startswith("[fusion] Scaled (")
    assert "compiled_model.py:" in first
    # Where the weights are packed for the product, that is a launch more.
    assert re.search(r"4 calls in [23] launches, 12\.13 MB moved \(28\.13 MB call by call\)", first)
    assert re.search(r"^ +1 +1024x1024 +4\.01 MB +4\.00 MB +3 +add\+mul\+relu$", done.stderr,
                     re.MULTILINE)
    assert "not stored: add (1024, 1024) float32; mul (1024, 1024) float32" in done.stderr
    assert done.stderr.count("[fusion]") == 1  # the later calls found their program
