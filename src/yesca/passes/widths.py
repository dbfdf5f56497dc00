"""Decide how many partial results each fold keeps side by side.

Part of what a fold gives: sums of rounded numbers depend on their order. So it is decided here, by
the record's own stage, and stays as it is when `fuse` joins the stage with others.
"""

from __future__ import annotations

from ..loops.folds import LANES, WIDE, levels
from ..loops.ir import (
    FUNCTIONS, Expr, Stage, fold, fold_kind, fold_lanes, inner_varying, map_stage, walk,
)

CHEAP = 8  # operations for each folded value up to which wide folds pay


def _work(node: Expr) -> int:
    if node.op in FUNCTIONS:
        return CHEAP + 1
    return node.op not in ("load", "const", "argument", "fold")


def widths(stage: Stage) -> Stage:
    """The stage with every fold's width decided."""
    if stage.kind != "rows":
        return stage
    varying = inner_varying(stage)
    decided: dict[Expr, int] = {}
    for level in levels(stage):
        work = sum(_work(n) for n in walk(*(f.args[0] for f in level)) if n in varying)
        for node in level:
            decided[node] = fold_lanes(node) or (WIDE if work <= CHEAP else LANES)

    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "fold":
            return None
        return fold(fold_kind(node), args[0], decided[node])

    return map_stage(stage, rule)
