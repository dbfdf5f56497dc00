"""What the modules of this folder share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class FP32Precision:
    """The precision of one kind of float32 operator, kept as it is set."""

    def __init__(self) -> None:
        self.fp32_precision = "none"


@contextmanager
def changed(module: str, **values: Any) -> Iterator[None]:
    """Set switches of a module inside a `with` block; None leaves a switch as it is."""
    namespace = vars(sys.modules[module])
    before = {name: namespace[name] for name in values}
    namespace.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        namespace.update(before)


def set_all(module: str, **values: Any) -> tuple[Any, ...]:
    """Set switches of a module; what they were before, in the same order."""
    namespace = vars(sys.modules[module])
    before = tuple(namespace[name] for name in values)
    namespace.update({name: value for name, value in values.items() if value is not None})
    return before
