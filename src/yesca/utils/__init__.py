"""`torch.utils`: its parts are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..base import absent


def __getattr__(name: str) -> Any:
    if name.startswith("__") or find_spec(f"{__package__}.{name}") is None:
        raise absent.error(__name__, name)
    return import_module(f"{__package__}.{name}")
