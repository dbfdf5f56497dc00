"""Each file of the tour runs and prints what its `#>` lines say."""

import subprocess
import sys
from pathlib import Path

import pytest

TOUR = sorted((Path(__file__).parents[2] / "docs" / "tour").glob("*.py"))


def promised_lines(text):
    lines = (line.strip() for line in text.splitlines())
    return [line[2:].removeprefix(" ") for line in lines if line.startswith("#>")]


@pytest.mark.parametrize("path", TOUR, ids=lambda path: path.stem)
def test_prints_what_it_promises(path, tmp_path):
    result = subprocess.run(
        [sys.executable, str(path)], capture_output=True, encoding="utf-8", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == promised_lines(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", TOUR, ids=lambda path: path.stem)
def test_is_short_and_listed(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 150
    assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")


def test_numbers_run_on():
    assert [int(path.name[:2]) for path in TOUR] == list(range(1, len(TOUR) + 1))
