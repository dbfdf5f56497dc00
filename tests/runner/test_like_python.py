"""`python -m yesca X` prints, fails and exits as `python X` does."""

import zipfile

import pytest

PROGRAMS = {
    "main": """
        import sys
        names = {k: v for k, v in globals().items() if k[:2] == "__" and k != "__builtins__"}
        names["__loader__"] = getattr(names["__loader__"], "__name__", type(names["__loader__"]))
        print(sorted(map(str, names.items())))
        print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
    """,
    "error": """
        def inner():
            raise ValueError("wrong")
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("worse") from error
    """,
    "exit_code": "import sys; sys.exit(7)",
    "exit_text": "raise SystemExit('stopped')",
    "exit_none": "raise SystemExit",
    "interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "syntax": "x = = 1\n",
    "encoding": "# -*- coding: latin-1 -*-\nprint(ascii('é'))",
    "group": "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
    "own_hook": """
        import sys, traceback
        def hook(kind, error, trace):
            print(kind.__name__, [frame.name for frame in traceback.extract_tb(trace)])
        sys.excepthook = hook
        def f():
            1 / 0
        f()
    """,
    "at_exit": """
        import atexit, threading, time
        value = 5
        atexit.register(lambda: print("exit", value))
        thread = threading.Thread(target=lambda: (time.sleep(0.05), print("thread", value)))
        thread.start()
    """,
    "in_thread": """
        import threading
        def f():
            1 / 0
        thread = threading.Thread(target=f, name="worker"); thread.start(); thread.join()
    """,
    "future": """
        from __future__ import annotations
        def f(x: nothing):
            pass
        print(f.__annotations__)
    """,
    "pickle": """
        import pickle
        class A: pass
        print(type(pickle.loads(pickle.dumps(A()))) is A, pickle.dumps(A)[:20])
    """,
    "last": """
        import sys, atexit
        atexit.register(lambda: print(sys.last_traceback.tb_frame.f_code.co_name))
        raise KeyError("k")
    """,
}


@pytest.fixture
def both(run_python):
    """Run the same words with Python and with `python -m yesca`; the two must do the same."""

    def run(*words, stdin="", **environment):
        python = run_python(*words, stdin=stdin, **environment)
        ours = run_python("-m", "yesca", *words, stdin=stdin, **environment)
        assert ours.stdout == python.stdout
        assert ours.stderr == python.stderr
        assert ours.returncode == python.returncode
        return ours

    return run


def dedent(text):
    import textwrap

    return textwrap.dedent(text).strip() + "\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_files(both, tmp_path, name):
    (tmp_path / "program.py").write_bytes(dedent(PROGRAMS[name]).encode("latin-1"))
    both("program.py", "--option", "x")


def test_a_file_elsewhere(both, tmp_path):
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "helper.py").write_text("value = 3")
    (folder / "program.py").write_text("import helper, sys; print(helper.value, sys.path[0])")
    both("deep/er/program.py")
    (tmp_path / "link.py").symlink_to(folder / "program.py")
    assert both("link.py").stdout.startswith("3 ")


def test_modules(both, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("print('init', __name__)")
    (package / "part.py").write_text("import sys\nprint(sys.argv, sys.path[0], __spec__.name)\n1/0")
    (package / "__main__.py").write_text("from . import part")
    both("-m", "package.part", "-x")
    both("-m", "package")
    assert both("-m", "package.nothing").returncode == 1


def test_text_and_standard_input(both):
    both("-c", "import sys; print(sys.argv, repr(sys.path[0]), __name__); 1/0", "-a", "b")
    both("-cprint(1)")
    both(stdin="import sys; print(sys.argv, repr(sys.path[0])); 1/0")
    both("-", "a", "-b", stdin="import sys; print(sys.argv); sys.exit(3)")


def test_folders_and_archives(both, tmp_path):
    program = "import sys; print(sys.argv, sys.path[0], __name__, __spec__.name)"
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "__main__.py").write_text(program)
    both("app", "x")
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("__main__.py", program)
    both("app.zip", "y")


def test_bytecode(both, tmp_path):
    import py_compile

    (tmp_path / "program.py").write_text("print('compiled', __file__)")
    py_compile.compile(str(tmp_path / "program.py"), str(tmp_path / "program.pyc"))
    both("program.pyc")


def test_missing_file(both):
    assert both("nothing.py").returncode == 2


def test_safe_path(both, tmp_path):
    (tmp_path / "program.py").write_text("import sys; print(sys.path)")
    both("program.py", PYTHONSAFEPATH="1")
    both("-c", "import sys; print(sys.path)", PYTHONSAFEPATH="1")


def test_options_of_python(both, tmp_path):
    (tmp_path / "program.py").write_text("x = 3\nassert __debug__ is False or x")
    assert both("-O", "program.py").returncode == 0
    assert both("-Werror", "-c", "import warnings; warnings.warn('no')").returncode == 1
    interactive = both("-i", "-q", "program.py", stdin="print(x + 1)\n")
    assert "4" in interactive.stdout
    both("-i", "-q", "-c", "raise SystemExit(3)", stdin="print(5)\n")
