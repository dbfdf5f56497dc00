"""Warnings name the program's line, however deep they come from; errors show little else."""

import os
import re
import subprocess
import sys
import warnings

import pytest

import yesca
from yesca.base.frames import warn
from yesca.runtime import layout


def line_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    return {(one.filename, one.lineno) for one in caught}


CALLS = [
    lambda: warn("here"),
    lambda: yesca.add(yesca.ones(3), 1, out=yesca.ones(2)),
    lambda: yesca.nn.functional.grid_sample(yesca.ones(1, 1, 2, 2), yesca.zeros(1, 2, 2, 2)),
    lambda: yesca.nn.functional.softmax(yesca.ones(2)),
    lambda: yesca.nn.functional.mse_loss(yesca.ones(2), yesca.ones(2, 2)),
    lambda: yesca.range(3, 4),
]


@pytest.mark.parametrize("call", CALLS)
def test_the_line_that_called(call):
    for _ in range(3):  # also once the builtin path knows the call
        assert line_of(call) == {(__file__, call.__code__.co_firstlineno)}


# ---- errors that end a program -----------------------------------------------------------------

PROGRAM = """
import yesca as torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x @ torch.ones(3)  # does not fit


def run(model):
    try:
        model(torch.ones(2, 2))
    except RuntimeError as error:
        raise ValueError("no") from error


{start}
run(Model())
"""


def shown(tmp_path, start="", runner=(), **environment):
    """The files of the lines that a program's error shows, of each error that led to it."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(start=start))
    made = subprocess.run([sys.executable, *runner, str(path)], capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)
    assert made.returncode == 1 and made.stderr.rstrip().endswith("ValueError: no")
    parts = made.stderr.split("The above exception was the direct cause")
    return [["program" if name == str(path) else "yesca" for name in re.findall(
        r'File "(.*?)", line', part)] for part in parts]


@pytest.mark.parametrize("runner", [(), ("-m", "yesca")])
def test_errors_show_the_program(runner, tmp_path):
    call = [] if layout.uses_builtins() else ["yesca"]  # a module's, which no builtin makes
    assert shown(tmp_path, runner=runner) == [
        ["program", *call, "program", "yesca"], ["program", "program"]]


def test_errors_show_all_lines_where_asked_to(tmp_path):
    first, second = shown(tmp_path, YESCA_VERBOSE="1")
    assert first.count("yesca") > 4 and second == ["program", "program"]


def test_hooks_of_programs_stay(tmp_path):
    first, _ = shown(tmp_path, "import sys, traceback\nsys.excepthook = traceback.print_exception")
    assert first.count("yesca") > 4
