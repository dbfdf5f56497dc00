"""`torch._logging`: `set_logs` says what YESCA_LOGS (or TORCH_LOGS) would."""

from __future__ import annotations

import logging
from typing import Any

from .base import settings

__all__ = ["set_logs"]


def set_logs(**wanted: Any) -> None:
    """Choose what compiling reports: `set_logs(graph_breaks=True, recompiles=True)`.

    A value is True, False or a level of `logging`; `set_logs()` is what the environment says.
    """
    if not wanted:
        settings.LOGS.reset()
        return
    modules = wanted.pop("modules", None) or {}
    names = {**wanted, **modules}
    settings.LOGS.set(tuple(
        name for name, level in names.items()
        if level is True or level is not False and int(level) <= logging.INFO))
