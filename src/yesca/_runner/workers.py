"""Worker processes: `import torch` works in them as in the program that starts them.

A forked worker has the finder already. With the start methods spawn and forkserver Python runs
`python -c "from multiprocessing.spawn import ..."`, which knows nothing of yesca, and then the
program's main module again, as `__mp_main__`. The command gets a few words in front that install
the finder first; everything else is left to multiprocessing.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

#: Commands of multiprocessing after which code of the program runs (not the resource tracker's).
_COMMANDS = ("from multiprocessing.spawn import", "from multiprocessing.forkserver import")

_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The folder goes to the end of the path for as long as it takes: multiprocessing then gives the
# worker the path of its parent, in which yesca may not be found by name.
_BEGIN = (
    f"import sys; sys.path.append({_FOLDER!r}); "
    "from yesca._runner.finder import install; install(); "
)


def adopt(spawn: ModuleType) -> None:
    """Make `multiprocessing.spawn` (just loaded) and the fork server start yesca's workers."""
    from multiprocessing import util

    if getattr(spawn.get_command_line, "__wrapped__", None) is not None:
        return
    spawn.get_command_line = _returning(spawn.get_command_line)  # type: ignore[attr-defined]
    passing: Any = getattr(util, "spawnv_passfds", None)  # POSIX only; the fork server uses it
    if passing is not None:
        util.spawnv_passfds = _taking(passing)


def with_finder(command: Sequence[Any]) -> list[Any]:
    """A command line of multiprocessing that installs the finder before anything else."""
    words = list(command)
    for place in range(1, len(words)):
        if words[place - 1] in ("-c", b"-c"):
            text = os.fsdecode(words[place])
            if text.startswith(_COMMANDS):
                words[place] = _BEGIN + text
            break
    return words


def _returning(get_command_line: Callable[..., list[str]]) -> Callable[..., list[str]]:
    @functools.wraps(get_command_line)
    def command_line(**pipes: Any) -> list[str]:
        return with_finder(get_command_line(**pipes))

    return command_line


def _taking(spawnv_passfds: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(spawnv_passfds)
    def start(path: Any, arguments: Sequence[Any], passed: Any) -> int:
        return spawnv_passfds(path, with_finder(arguments), passed)

    return start
