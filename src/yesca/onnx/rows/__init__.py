"""The table: an operator's record, and the ONNX nodes that do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: By the name of the record: `row(graph, step, *arguments)` gives the name of the result, or a
#: tuple of names.
ROWS: dict[str, Callable[..., Any]] = {}


def row(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a row: it is that of the records of these names."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in ROWS, name
            ROWS[name] = function
        return function

    return enter


def table() -> dict[str, Callable[..., Any]]:
    """All rows."""
    from . import elementwise, layers, made, moved, recurrent, reduced  # noqa: F401

    return ROWS
