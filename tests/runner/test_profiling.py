"""`python -m yesca --profile program.py`."""

import json

import pytest

from yesca._runner.command import UsageError, parse

PROGRAM = """
import atexit, sys, torch
atexit.register(lambda: print("the program's own end"))
with torch.profiler.record_function("training"):
    x = torch.ones(8, requires_grad=True)
    x.exp().sum().backward()
print(sys.argv[1:], x.grad.numel())
"""


@pytest.fixture
def run(run_python, tmp_path):
    def run(*words):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM, encoding="utf-8")
        return run_python("-m", "yesca", *words[:-1], str(path), words[-1])

    return run


def test_a_report_comes_last(run):
    result = run("--profile", "--profile")
    assert result.returncode == 0
    assert result.stdout == "['--profile'] 8\nthe program's own end\n"
    for name in ("aten::exp", "ExpBackward0", "training", "Self CPU time total:"):
        assert name in result.stderr


def test_a_trace_and_options_of_python(run, tmp_path):
    trace = tmp_path / "trace.json"
    result = run(f"--profile={trace}", "-W", "error", "word")
    assert result.returncode == 0 and result.stdout.startswith("['word'] 8")
    names = [e["name"] for e in json.loads(trace.read_text("utf-8"))["traceEvents"]]
    assert "aten::exp" in names


def test_the_words():
    request = parse(["--profile=x.json", "a.py", "--profile"])
    assert (request.profile, request.target) == ("--profile=x.json", "a.py")
    assert request.arguments == ["--profile"]
    assert parse(["a.py", "--profile"]).profile == ""
    for words in (["--profile", "env"], ["--profile", "--help"]):
        with pytest.raises(UsageError, match="--profile needs a program"):
            parse(words)
    with pytest.raises(UsageError):
        parse(["--profiler", "a.py"])
