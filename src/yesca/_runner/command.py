"""The command line of `python -m yesca`: which program to run, or which sub-command."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

HELP = """\
usage: python -m yesca [--profile[=TRACE]] [option ...]
                       [program.py | -m module | -c code | -] [argument ...]
       python -m yesca env | cache [info | clear | pack FOLDER]

Runs a program written for PyTorch: `import torch` and its submodules are answered by yesca.

  program.py    a file, a folder or a zip file (a file named like a sub-command: ./env)
  -m module     a module, as `python -m` runs it (-m pytest, for one)
  -c code       a program given as text
  -             a program read from standard input
  -i, -u, -O, -W arg, -X arg ...   options of Python itself
  --profile     report at the end what the program spent its time on; with =TRACE, write a
                trace for Perfetto to that file as well

  env           the environment variables that yesca reads, and their values
  cache info    where compiled kernels are kept, how many, how large
  cache clear   remove them
  cache pack FOLDER   write them to a folder that can be shipped with an application

  -V, --version  versions of yesca, of the API and of Python
  -h, --help     this text
"""

_ALONE = "bBdEiIOPqRsSuvx"  # options of Python without a value
_VALUED = "WX"
_SUBCOMMANDS = ("env", "cache")
_PROGRAMS = ("file", "module", "code", "stdin")


class UsageError(Exception):
    """A command line that makes no sense."""


class Request:
    """What a command line asks for (no dataclass: importing those takes as long as all else)."""

    def __init__(
        self,
        kind: str,  # file, module, code, stdin, repl, help, version, env, cache
        target: str = "",
        arguments: list[str] | None = None,
        python_options: list[str] | None = None,
        rest: list[str] | None = None,  # the words after the options of Python
    ) -> None:
        self.kind = kind
        self.target = target
        self.arguments = arguments or []
        self.python_options = python_options or []
        self.rest = rest or []
        self.profile = ""  # the word that asks for a profile


def parse(words: list[str]) -> Request:
    """Read a command line as Python reads its own.

    >>> parse(["-m", "pytest", "-q"]).arguments
    ['-q']
    """
    if words and words[0].partition("=")[0] == "--profile":
        found = _parse(words[1:])
        if found.kind not in _PROGRAMS:
            raise UsageError("--profile needs a program")
        found.profile = words[0]
        return found
    return _parse(words)


def _parse(words: list[str]) -> Request:
    options: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in ("--help", "--version"):
            return Request(word[2:])
        if word == "--":
            place += 1
            break
        if word == "-" or not word.startswith("-"):
            break
        found, place = _parse_option(words, place, options)
        if found is not None:
            return found
    rest = words[place:]
    if not rest:
        return Request("repl" if sys.stdin.isatty() else "stdin", python_options=options)
    if rest[0] == "-":
        return Request("stdin", "-", rest, options, rest)
    if rest[0] in _SUBCOMMANDS and words[place - 1:place] != ["--"]:
        return Request(rest[0], arguments=rest[1:])
    return Request("file", rest[0], rest[1:], options, rest)


def _parse_option(
    words: list[str], place: int, options: list[str]
) -> tuple[Request | None, int]:
    """One word of single-letter options; `-ic code` and `-Wignore` are words too."""
    word = words[place]
    for index, letter in enumerate(word[1:], start=1):
        value, after = word[index + 1:], place + 1
        if letter in "hV?":
            return Request("version" if letter == "V" else "help"), after
        if letter in "cm" + _VALUED:
            if not value:
                if after >= len(words):
                    raise UsageError(f"argument expected for the -{letter} option")
                value, after = words[after], after + 1
            if letter in _VALUED:
                options += [f"-{letter}", value]
                return None, after
            kind = "code" if letter == "c" else "module"
            rest = [f"-{letter}", value, *words[after:]]
            return Request(kind, value, words[after:], options, rest), after
        if letter not in _ALONE:
            raise UsageError(f"unknown option {word if word[1] == '-' else '-' + letter}")
        options.append(f"-{letter}")
    return None, place + 1


def main() -> int:
    """Do what `sys.argv` asks for. A program's own exit and errors pass through unchanged."""
    try:
        request = parse(sys.argv[1:])
    except UsageError as error:
        print(f"yesca: {error}\n{HELP.splitlines()[0]}", file=sys.stderr)
        return 2
    if request.kind in ("help", "version"):
        print(HELP if request.kind == "help" else _versions(), end="")
        return 0
    if request.kind in _SUBCOMMANDS:
        from . import subcommands

        return subcommands.run(request.kind, request.arguments)
    if request.kind == "repl":
        print(_versions().splitlines()[0] + "; `import torch` gives yesca", file=sys.stderr)
        _restart(["-i", "-q", *request.python_options], ["-c", ""])
    if request.python_options:
        asked = [request.profile] if request.profile else []
        _restart(request.python_options, [*asked, *(request.rest or ["-"])])
    _run(request)
    return 0


def _run(request: Request) -> None:
    from . import finder, program

    finder.install()
    if request.profile:
        from . import profiling

        profiling.begin(request.profile.partition("=")[2])
    if request.kind == "file":
        program.run_file(request.target, request.arguments)
    elif request.kind == "module":
        program.run_module(finder.to_yesca(request.target), request.arguments)
    elif request.kind == "code":
        program.run_code(request.target, request.arguments)
    else:
        program.run_stdin(request.arguments)


def _restart(options: list[str], rest: list[str]) -> NoReturn:
    """Start Python anew with its own options: only it can do what they ask for."""
    import subprocess

    kept: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *kept, *options, "-m", "yesca", *rest]
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform == "win32":  # execv would return to the shell at once there
        raise SystemExit(subprocess.call(command))
    os.execv(sys.executable, command)


def _versions() -> str:
    from .. import version

    python = ".".join(map(str, sys.version_info[:3]))
    return f"yesca {version.yesca} (PyTorch {version.__version__}'s API), Python {python}\n"
