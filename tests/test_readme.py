"""The README is true: its example prints what it says, its commands name what is there."""

import contextlib
import io
from pathlib import Path

import readme


def test_example():
    code, output = readme.blocks("python")[0], readme.blocks("")[0]
    lines = [line for line in code.splitlines() if line]
    assert len(lines) == 6
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_two_commands():
    run, test = readme.commands()
    assert run.endswith(".venv/bin/python -m yesca examples/mnist.py")
    assert test.endswith(".venv/bin/python -m pytest -q -n auto")
    root = Path(readme.__file__).parents[2]
    assert (root / "examples" / "mnist.py").is_file()
    assert any((root / "examples" / "data" / "mnist").iterdir())
