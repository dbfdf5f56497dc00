"""The sub-commands of `python -m yesca` that run no program: env, cache."""

from __future__ import annotations

import sys
from typing import Any

_CACHE_ACTIONS = {"info": 0, "clear": 0, "pack": 1}  # action -> words that follow it


def run(name: str, arguments: list[str]) -> int:
    """Run a sub-command; the exit code."""
    return _env(arguments) if name == "env" else _cache(arguments)


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

    result: Any = getattr(cache, action)(*rest)
    if result is not None:
        print(_lined_up(result))
    return 0


def _lined_up(result: Any) -> str:
    """A mapping as two columns; anything else as it prints itself."""
    if not isinstance(result, dict):
        return str(result)
    width = max(map(len, map(str, result)), default=0)
    return "\n".join(f"{name!s:<{width}}  {value}" for name, value in result.items())


def _usage(message: str) -> int:
    print(f"yesca: {message}", file=sys.stderr)
    return 2
