"""What several rooms of the tests share. Warnings are errors everywhere (pyproject.toml).

    pytest tests/operators --tenth 3              # a tenth of the tests, and those of every tenth
    pytest tests/operators --most-kernels 3000    # fails where more kernels are compiled
"""

import gc
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

os.environ.setdefault("YESCA_VERIFY", "1")  # of this process, and of those that tests start
os.environ.setdefault("YESCA_RECORD", "1")  # what is compiled is recorded, however small it is
# A shell has what runs in its background ignore Ctrl-C, and so would the programs of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Marks of the tests that are in every tenth.
ALWAYS = ("smoke", "every_cpu")
OF_WORKERS = pytest.StashKey[int]()  # kernels that the processes of `-n` have compiled


def pytest_addoption(parser):
    group = parser.getgroup("yesca")
    group.addoption("--tenth", type=int, choices=range(10), metavar="0-9",
                    help="run this tenth of the tests, and all marked smoke or every_cpu")
    group.addoption("--most-kernels", type=int, metavar="N",
                    help="fail if more than N kernels are compiled (needs an empty cache)")


def tenth_of(name):
    """Which tenth a test belongs to: the same in every process, whatever else is collected."""
    return zlib.crc32(name.encode()) % 10


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collected tests live to the end: the collector of cycles never looks through them.

    There are some million objects; each full collection during a test would take a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    tenth = config.getoption("tenth")
    if tenth is None:
        return
    chosen = [item for item in items
              if tenth_of(item.nodeid) == tenth or any(map(item.get_closest_marker, ALWAYS))]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def pytest_sessionfinish(session, exitstatus):
    if hasattr(session.config, "workeroutput"):  # one of several processes: its parent adds up
        session.config.workeroutput["compiled"] = compiled(session.config)
        return
    most = session.config.getoption("most_kernels")
    if most is not None and exitstatus == 0 and compiled(session.config) > most:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """A process of pytest-xdist has ended; one that crashed has fewer kernels and failed tests."""
    node.config.stash[OF_WORKERS] = (
        node.config.stash.get(OF_WORKERS, 0) + getattr(node, "workeroutput", {}).get("compiled", 0))


def pytest_terminal_summary(terminalreporter):
    most = terminalreporter.config.getoption("most_kernels")
    if most is not None:
        count = compiled(terminalreporter.config)
        sign = "more than" if count > most else "within"
        terminalreporter.write_line(f"{count} kernels compiled, {sign} the limit of {most}")


def compiled(config):
    """How many kernels this process and its workers have compiled, those found in the cache not."""
    from yesca.runtime import machine

    return machine.counters.compiles + config.stash.get(OF_WORKERS, 0)


def environment(**changes):
    """The environment of a child process, in which the yesca under test is the one imported.

    A variable that is None is left out. Options of this run are not those of a run in the child.
    """
    import yesca

    folder = str(Path(yesca.__file__).resolve().parents[1])
    path = [folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    path = [os.path.abspath(part) for part in path]
    whole = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
             "PYTEST_ADDOPTS": None, **changes}
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
