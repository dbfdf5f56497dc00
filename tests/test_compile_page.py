"""docs/compile.md is true: its example prints what it says; logs, settings and files exist."""

import contextlib
import io
import re
from pathlib import Path

from yesca.base import settings
from yesca.graph import logs, stance

PAGE = Path(__file__).parents[1] / "docs" / "compile.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_example(tmp_path):
    code, output = re.findall(r"^```(?:python)?\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "compile.md", "exec"), {})
    assert printed.getvalue() == output


def test_logs_are_listed():
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == set(logs.WRITTEN)


def test_variables_and_stances_exist():
    known = {name for v in settings.ALL for name in (v.name, *v.aliases)}
    assert set(re.findall(r"(?:YESCA|TORCH)_[A-Z_]+", TEXT)) <= known
    assert set(re.findall(r'"(\w+_\w+)"', TEXT)) <= set(stance.STANCES)


def test_files_exist():
    for name in re.findall(r"`(examples/\S+)`", TEXT):
        assert (PAGE.parents[1] / name).is_file()
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / target).is_file()
