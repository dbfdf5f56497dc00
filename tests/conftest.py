"""What several rooms of the tests share. Warnings are errors everywhere (pyproject.toml)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def environment(**changes):
    """The environment of a child process, in which the yesca under test is the one imported.

    A variable that is None is left out.
    """
    import yesca

    folder = str(Path(yesca.__file__).resolve().parents[1])
    path = [folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    path = [os.path.abspath(part) for part in path]
    whole = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), **changes}
    return {name: value for name, value in whole.items() if value is not None}


@pytest.fixture
def run_program(tmp_path):
    """Run a program as a user does, `python -m yesca FILE ARGUMENTS`; returns what it printed."""

    def run(path, *arguments):
        command = [sys.executable, "-m", "yesca", str(Path(path).resolve()), *map(str, arguments)]
        result = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            env=environment(),
            timeout=300,
        )
        assert result.returncode == 0, f"{path} failed:\n{result.stdout}\n{result.stderr}"
        return result.stdout

    return run


@pytest.fixture
def run_python(tmp_path):
    """Run `python ARGUMENTS` in an empty folder; returns the finished process."""

    def run(*arguments, stdin="", **variables):
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            env=environment(**variables),
            timeout=300,
        )

    return run


@pytest.fixture
def empty_kernel_cache(tmp_path, monkeypatch):
    """An empty folder for compiled kernels, for this process and those it starts."""
    from yesca.base import settings
    from yesca.runtime import cache

    folder = tmp_path / "kernels"
    monkeypatch.setenv("YESCA_CACHE_DIR", str(folder))
    with settings.CACHE_DIR.override((str(folder),)):
        before = cache.current()
        cache.use([folder])
        yield folder
        cache.use(before.directories, before.limit)
