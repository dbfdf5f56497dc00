"""`torch.multiprocessing`: Python's `multiprocessing`, with `spawn` and PyTorch's settings.

Worker processes of any start method can `import torch` where the program that starts them can.
"""

from __future__ import annotations

import multiprocessing as _python
import sys
from multiprocessing import *  # noqa: F403
from typing import Any

from ..base import absent

from ._reductions import init_reductions as _init_reductions
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import SpawnContext as SpawnContext
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

__all__ = [  # noqa: PLE0604
    *_python.__all__,  # type: ignore[attr-defined]
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes", "ProcessContext", "SpawnContext", "ProcessRaisedException",
    "ProcessExitedException",
]

_init_reductions()
_STRATEGIES = (
    {"file_descriptor", "file_system"} if sys.platform == "linux" else {"file_system"}
)
_strategy = "file_descriptor" if sys.platform == "linux" else "file_system"


def get_all_sharing_strategies() -> set[str]:
    """The ways in which memory may be shared between processes on this system."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The way in which memory is shared between processes."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose one of `get_all_sharing_strategies()`."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, choose one of {sorted(_STRATEGIES)}"
        )
    _strategy = new_strategy


def __getattr__(name: str) -> Any:
    try:
        return getattr(_python, name)  # what `multiprocessing` has and does not list
    except AttributeError:
        raise absent.error(__name__, name) from None
