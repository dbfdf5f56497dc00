"""What several rooms of the tests share."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def run_program(tmp_path):
    """Run a program as a user does, `python -m yesca FILE ARGUMENTS`; returns what it printed."""

    def run(path, *arguments):
        command = [sys.executable, "-m", "yesca", str(Path(path).resolve()), *map(str, arguments)]
        result = subprocess.run(
            command, capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=300
        )
        assert result.returncode == 0, f"{path} failed:\n{result.stdout}\n{result.stderr}"
        return result.stdout

    return run
