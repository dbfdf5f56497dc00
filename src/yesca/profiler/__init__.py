"""`torch.profiler`: what a program spends its time, memory and bandwidth on; loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base import absent

_HOMES = {
    "actions": "ProfilerAction ProfilerActivity schedule supported_activities",
    "events": "DeviceType",
    "ranges": "record_function",
    "scheduled": "profile tensorboard_trace_handler",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_NAMES, "kineto_available"])


def kineto_available() -> bool:
    """Whether profiles can be recorded: always."""
    return True


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise absent.error(__name__, name)
    made = getattr(import_module(f".{_NAMES[name]}", __package__), name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
