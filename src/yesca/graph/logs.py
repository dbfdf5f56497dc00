"""What YESCA_LOGS (or TORCH_LOGS) asks for is written here, to the standard error output."""

from __future__ import annotations

import sys

from ..base import settings


def on(name: str) -> bool:
    """Whether reports of this name are wanted; PyTorch's `+name` asks for more of the same."""
    names = settings.LOGS.get()
    return bool(names) and any(word.lstrip("+") in (name, "all") for word in names)


def write(name: str, text: str) -> None:
    """Write one report."""
    print(f"[{name}] {text}", file=sys.stderr)
