"""The passes a stage goes through before a target sees it, in order."""

from __future__ import annotations

from collections.abc import Callable

from ..loops.ir import Stage
from .expand_math import expand
from .simplify import simplify
from .widths import widths

PASSES: tuple[Callable[[Stage], Stage], ...] = (
    simplify,  # fold constants, drop what does nothing
    widths,  # in what order folds combine
    expand,  # exp, log, tanh ... become arithmetic
)


def lower(stage: Stage) -> Stage:
    """The stage in terms of primitive operations only."""
    for one in PASSES:
        stage = one(stage)
    return stage
