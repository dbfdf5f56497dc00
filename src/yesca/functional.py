"""Every free function by PyTorch's name, made from the records when it is first asked for."""

from __future__ import annotations

from typing import Any

from . import _tensor  # noqa: F401 - sets up what operators wrap their results in
from .dispatch.call import OPERATORS
from .dispatch.functions import names, public


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        made = getattr(OPERATORS, name)
    except AttributeError:
        raise AttributeError(f"module 'torch' has no attribute {name!r}") from None
    made = public(name, made)
    globals()[name] = made  # hides builtins of the same name: this module uses none of them
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *names()})
