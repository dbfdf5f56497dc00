"""`torch._logging`: `set_logs` says what YESCA_LOGS (or TORCH_LOGS) would."""

from __future__ import annotations

import logging
from typing import Any

from .base import settings
from .graph import logs

__all__ = ["set_logs"]

_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG,
           logging.NOTSET)  # fmt: skip


def set_logs(*, modules: dict[str, int | bool] | None = None, **wanted: Any) -> None:
    """Choose what compiling reports: `set_logs(graph_breaks=True, recompiles=True)`.

    Reports take True or False, parts and modules a level of `logging`; `set_logs()` is what the
    environment says.
    """
    for name in wanted:
        if name not in logs.PARTS and name not in logs.ARTIFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
    chosen = {name: value for name, value in {**wanted, **(modules or {})}.items()
              if value is not None}
    for name, value in chosen.items():
        _check(name, value)
    if chosen:
        settings.LOGS.set(tuple(name for name, value in chosen.items()
                                if value is True or value is not False and value <= logging.INFO))
    else:
        settings.LOGS.reset()


def _check(name: str, value: Any) -> None:
    if name in logs.ARTIFACTS:
        if not isinstance(value, bool):
            raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
    elif not logs.known(name):
        raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
    elif name in logs.PARTS and value not in _LEVELS:
        raise ValueError(f"Unrecognized log level for log {name}: {value}, valid level values "
                         f"are: {','.join(map(str, _LEVELS))}")
