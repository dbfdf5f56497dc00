"""Runs a program in the process's real `__main__` module, as Python itself would.

`python -m yesca` has made `__main__` out of yesca's own file. Its namespace is emptied and given
to the program, so that pickling, worker processes, `python -i`, threads and exit handlers find
the program there, and no runner in between.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import os
import runpy
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn


def run_file(path: str, arguments: list[str]) -> None:
    """`python path arguments...`: a source or bytecode file, or a folder or zip file."""
    sys.argv[:] = [path, *arguments]
    finder = _path_finder(path)
    if finder is not None:  # a folder or an archive with a `__main__.py` in it
        _set_path(os.path.abspath(path), replace=True, always=True)
        _clear_main()
        _guarded(_run_module, "__main__", False)
        return
    full = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", full)
    _set_path(os.path.dirname(os.path.realpath(path)), replace=True)
    namespace = _clear_main(__loader__=loader, __file__=full, __cached__=None)
    source = _read(path, full)
    _guarded(_run_source, source, full, namespace)


def run_module(name: str, arguments: list[str]) -> None:
    """`python -m name arguments...`."""
    sys.argv[:] = [sys.argv[0], *arguments]  # runpy puts the file of the module first
    _set_path(os.getcwd(), replace=True)
    _clear_main()
    _guarded(_run_module, name, True)


def run_code(source: str, arguments: list[str]) -> None:
    """`python -c source arguments...`."""
    sys.argv[:] = ["-c", *arguments]
    if sys.version_info >= (3, 13):  # whose tracebacks show the lines of such programs
        import linecache

        lines = [line + "\n" for line in source.splitlines()]
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")
    _run_text(source, "<string>")


def run_stdin(arguments: list[str]) -> None:
    """`python - arguments...`, or a program piped into `python`."""
    sys.argv[:] = arguments or [""]
    _run_text(sys.stdin.buffer.read(), "<stdin>")


def _run_text(source: str | bytes, filename: str) -> None:
    _set_path("", replace=True)
    namespace = _clear_main(__loader__=importlib.machinery.BuiltinImporter)
    _guarded(_run_source, source, filename, namespace)


def _run_source(source: str | bytes | CodeType, filename: str, namespace: dict[str, Any]) -> None:
    if not isinstance(source, CodeType):
        source = compile(source, filename, "exec", dont_inherit=True)
    exec(source, namespace)


def _run_module(name: str, alter_argv: bool) -> None:
    # What the interpreter itself calls for -m: it uses the `__main__` that is there, and its two
    # frames are in the tracebacks of `python -m` too.
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]


#: A traceback starts below the last of these: what stands above is the runner.
_ENTRIES = (_run_source.__code__, _run_module.__code__)


def _guarded(run: Callable[..., None], *arguments: Any) -> None:
    """Run, and see to it that a traceback shows the program only."""
    try:
        run(*arguments)
    except BaseException as error:
        # An exit is shown as an error only where `python -i` goes on at the prompt.
        if not isinstance(error, SystemExit) or sys.flags.inspect:
            _hide_runner()
        raise


def _hide_runner() -> None:
    """Wrap `sys.excepthook`, which may be the program's own, for the error on its way out."""
    show = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        sys.excepthook = show
        traceback = program_part(traceback)
        error.__traceback__ = sys.last_traceback = traceback
        show(kind, error, traceback)

    sys.excepthook = hook


def program_part(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback below the runner's frames; all of it where the runner itself failed."""
    part = traceback
    while part is not None:
        if part.tb_frame.f_code in _ENTRIES:
            return part.tb_next
        part = part.tb_next
    return traceback


def _clear_main(**names: Any) -> dict[str, Any]:
    """Empty the namespace of `__main__`, but for what every main module has, and `names`."""
    namespace = _main_module().__dict__
    annotated = "__annotations__" in namespace
    namespace.clear()
    namespace.update(
        __name__="__main__", __doc__=None, __package__=None, __loader__=None, __spec__=None
    )
    if annotated:
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    namespace.update(names)
    return namespace


def _main_module() -> ModuleType:
    return sys.modules["__main__"]


def _set_path(first: str, replace: bool, always: bool = False) -> None:
    """Put the program's folder where Python puts it; -P and PYTHONSAFEPATH leave the path be."""
    if sys.flags.safe_path and not always:
        return
    if replace and not sys.flags.safe_path and sys.path:
        sys.path[0] = first
    else:
        sys.path.insert(0, first)


def _path_finder(path: str) -> Any:
    """What imports from a folder or an archive; None for an ordinary file."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            continue
    return None


def _read(path: str, full: str) -> bytes | CodeType:
    import pkgutil

    try:
        with io.open_code(full) as file:
            if path.endswith(".pyc"):
                code = pkgutil.read_code(file)  # type: ignore[attr-defined]
                if code is not None:
                    return code
                file.seek(0)
            return file.read()
    except OSError as error:
        _stop(f"can't open file {full!r}: [Errno {error.errno}] {error.strerror}")


def _stop(message: str) -> NoReturn:
    # the name Python was started by, as its own message has it; `sys.executable` is a tidied path
    print(f"{sys.orig_argv[0]}: {message}", file=sys.stderr)
    raise SystemExit(2)
