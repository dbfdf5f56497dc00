"""What folds start with, and in which passes over a row they are made."""

from __future__ import annotations

from ..core.dtypes import FLOATING, DType, bool_
from .ir import Expr, Stage, fold_lanes, walk

LANES, WIDE = 16, 64  # partial results that a fold keeps side by side


def levels(stage: Stage) -> list[list[Expr]]:
    """Folds by depth: each level needs only folds of the levels before it."""
    depth: dict[Expr, int] = {}
    found: dict[int, list[Expr]] = {}
    for node in walk(*stage.roots()):
        below = max((depth[a] for a in node.args), default=0)
        depth[node] = below + (node.op == "fold")
        if node.op == "fold":
            found.setdefault(depth[node], []).append(node)
    return [found[k] for k in sorted(found)]


def passes(stage: Stage) -> list[list[Expr]]:
    """The folds that one loop over the inner axis makes: of one level and one width."""
    made = []
    for level in levels(stage):
        widths = dict.fromkeys(fold_lanes(f) for f in level)
        made += [[f for f in level if fold_lanes(f) == width] for width in widths]
    return made


def extreme(dtype: DType, largest: bool) -> object:
    """The largest or smallest value of a dtype."""
    if dtype.category == FLOATING:
        return float("inf") if largest else float("-inf")
    if dtype is bool_:
        return largest
    bits = dtype.itemsize * 8 - (1 if dtype.is_signed else 0)
    return (1 << bits) - 1 if largest else -(1 << bits) if dtype.is_signed else 0


def neutral(kind: str, dtype: DType) -> object:
    """The value that changes nothing when it is folded in."""
    if kind in ("sum", "any"):
        return 0
    if kind in ("prod", "all"):
        return 1
    return extreme(dtype, kind in ("min", "argmin"))
