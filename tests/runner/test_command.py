"""The command line: what is asked for, and the sub-commands."""

import pytest

from yesca import version
from yesca._runner.command import UsageError, parse


@pytest.mark.parametrize(
    ("words", "kind", "target", "arguments"),
    [
        (["a.py", "-m", "x"], "file", "a.py", ["-m", "x"]),
        (["-m", "pkg.mod", "-q", "--x"], "module", "pkg.mod", ["-q", "--x"]),
        (["-mpkg", "-c"], "module", "pkg", ["-c"]),
        (["-c", "pass", "env"], "code", "pass", ["env"]),
        (["-cpass"], "code", "pass", []),
        (["-", "x"], "stdin", "-", ["-", "x"]),
        (["./env"], "file", "./env", []),
        (["--", "env"], "file", "env", []),
        (["env"], "env", "", []),
        (["cache", "pack", "folder"], "cache", "", ["pack", "folder"]),
        (["-V"], "version", "", []),
        (["--help"], "help", "", []),
    ],
)
def test_parse(words, kind, target, arguments):
    request = parse(words)
    assert (request.kind, request.target, request.arguments) == (kind, target, arguments)
    assert not request.python_options


def test_options_of_python_are_kept_apart():
    request = parse(["-iO", "-W", "error", "-Xdev", "-m", "x", "-v"])
    assert request.python_options == ["-i", "-O", "-W", "error", "-X", "dev"]
    assert request.rest == ["-m", "x", "-v"]
    assert parse(["-ic", "pass", "a"]).rest == ["-c", "pass", "a"]


@pytest.mark.parametrize("words", [["-m"], ["-c"], ["-W"], ["-z"], ["--nothing"]])
def test_what_makes_no_sense(words):
    with pytest.raises(UsageError):
        parse(words)


def test_version_and_help(run_python):
    assert run_python("-m", "yesca", "--version").stdout.startswith(f"yesca {version.yesca} ")
    assert "usage: python -m yesca" in run_python("-m", "yesca", "-h").stdout
    wrong = run_python("-m", "yesca", "--nothing")
    assert wrong.returncode == 2
    assert "unknown option --nothing" in wrong.stderr


def test_env(run_python):
    done = run_python("-m", "yesca", "env", YESCA_DEBUG="3", OMP_NUM_THREADS="1",
                      YESCA_NUM_THREADS=None)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["variable", "value", "from", "meaning"]
    debug = next(line for line in lines if line.startswith("YESCA_DEBUG"))
    assert debug.split()[1:3] == ["3", "YESCA_DEBUG"]
    threads = next(line for line in lines if line.startswith("YESCA_NUM_THREADS"))
    assert threads.index(" OMP_NUM_THREADS ") + 1 == lines[0].index("from")


def test_a_reader_that_has_gone_is_no_error(run_python):
    """`python -m yesca env | head -1`"""
    script = ("import os, subprocess, sys; "
              "r, w = os.pipe(); os.close(r); "
              "done = subprocess.run([sys.executable, '-m', 'yesca', 'env'], stdout=w, "
              "stderr=subprocess.PIPE, text=True); print(done.returncode, repr(done.stderr))")
    assert run_python("-c", script).stdout == "1 ''\n"


def test_files_named_like_a_subcommand(run_python, tmp_path):
    (tmp_path / "env").write_text("print('a file')")
    assert run_python("-m", "yesca", "./env").stdout == "a file\n"
    assert run_python("-m", "yesca", "env", "x").returncode == 2


def test_cache(run_python, tmp_path):
    def cache(*words):
        return run_python("-m", "yesca", "cache", *words, YESCA_CACHE_DIR=str(tmp_path / "k"))

    assert cache().stdout == cache("info").stdout
    assert str(tmp_path / "k") in cache("info").stdout
    assert cache("clear").returncode == 0
    packed = cache("pack", str(tmp_path / "packed"))
    assert packed.returncode == 0
    assert packed.stdout == f"0 kernels written to {tmp_path / 'packed'}\n"
    for words in (["pack"], ["nothing"], ["info", "x"]):
        assert cache(*words).returncode == 2


def test_console_script(run_python):
    from importlib.metadata import entry_points

    for script in entry_points(group="console_scripts", name="yesca"):
        assert script.value == "yesca.__main__:console"
    source = "import sys; sys.argv = ['yesca', '-c', 'print(__name__, list(globals())[0])']\n"
    source += "from yesca.__main__ import console\nsys.exit(console())"
    assert run_python("-c", source).stdout == "__main__ __name__\n"
