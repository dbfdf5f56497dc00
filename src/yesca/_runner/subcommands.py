"""The sub-commands of `python -m yesca` that run no program: env, cache."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import Any

_CACHE_ACTIONS = {"info": 0, "clear": 0, "pack": 1}  # action -> words that follow it


def run(name: str, arguments: list[str]) -> int:
    """Run a sub-command; the exit code, 1 where the reader of its output has gone."""
    try:
        code = _env(arguments) if name == "env" else _cache(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # what is left goes nowhere, lest the interpreter tell of it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _env(arguments: list[str]) -> int:
    from ..base import settings

    if arguments:
        return _usage("env takes no arguments (to run a file of that name: ./env)")
    print(settings.table())
    return 0


def _cache(arguments: list[str]) -> int:
    action, *rest = arguments or ["info"]
    if action not in _CACHE_ACTIONS or len(rest) != _CACHE_ACTIONS[action]:
        return _usage("cache [info | clear | pack FOLDER]")
    from ..runtime import cache

    if action == "info":
        print(_lined_up(dataclasses.asdict(cache.info())))
    elif action == "clear":
        cache.clear()
    else:  # this process has used no kernel itself: all that are stored
        print(f"{cache.pack(rest[0], everything=True)} kernels written to {rest[0]}")
    return 0


def _lined_up(values: dict[str, Any]) -> str:
    """Names and values in two columns; tuples with commas."""
    width = max(map(len, values), default=0)
    lines = []
    for name, value in values.items():
        text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        lines.append(f"{name:<{width}}  {text}")
    return "\n".join(lines)


def _usage(message: str) -> int:
    print(f"yesca: {message}", file=sys.stderr)
    return 2
