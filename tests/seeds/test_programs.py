"""The programs of the lesson on minimal PyTorch print exactly what the lesson shows."""

from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_prints_what_the_lesson_shows(program, run_program):
    assert run_program(program) == program.with_suffix(".txt").read_text(encoding="utf-8")


def test_every_program_is_here():
    assert len(PROGRAMS) == 11
