"""Programs over blocks, made faster: reductions share loops, dear values are made once.

Both look at the statements of one list only; what a loop reads has been settled before it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ..core.dtypes import DType, bool_, int64
from ..loops.blocks import (
    Branch, Fold, Keep, Let, Loop, Nest, Place, Program, Scan, While, axes_of, beyond, common_bound,
    mapped, mapped_statement, roots_of, substitute, work,
)
from ..loops.ir import Expr, make, rewrite, walk
from .expand_math import bodies

DEAR = 12  # instructions from which a value is kept for a later loop


def prepare(program: Program) -> Program:
    """The program with reductions joined and dear values kept."""
    places = list(program.places)
    made = _prepared(program.statements, places)
    return replace(program, statements=made, places=tuple(places))


def _prepared(statements: tuple[Any, ...], places: list[Place]) -> tuple[Any, ...]:
    made = keep_shared(join_folds(list(statements)), places)
    return tuple(_inside(s, places) for s in made)


def _inside(statement: Any, places: list[Place]) -> Any:
    if isinstance(statement, Loop):
        return replace(statement, body=_prepared(statement.body, places))
    if isinstance(statement, While):
        return replace(statement, before=_prepared(statement.before, places),
                       body=_prepared(statement.body, places))
    if isinstance(statement, Branch):
        return replace(statement, then=_prepared(statement.then, places),
                       otherwise=_prepared(statement.otherwise, places))
    return statement


def expanded(program: Program) -> Program:
    """The program with elementary functions as arithmetic."""
    table = bodies()
    done: dict[Expr, Expr] = {}

    def rule(expr: Expr) -> Expr:
        if expr not in done:
            done[expr] = rewrite((expr,), lambda node, args: None if node.op not in table
                                 else table[node.op](*args))[0]
        return done[expr]

    return replace(program, statements=tuple(
        mapped_statement(s, rule) for s in program.statements))


# ---- reductions over the same points ---------------------------------------------------------

def join_folds(statements: list[Any]) -> list[Any]:
    """A reduction joins an earlier one over the same axis that it does not need."""
    made: list[Any] = []
    for statement in statements:
        at = _partner(made, statement)
        if at is None:
            made.append(statement)
        else:
            made[at] = replace(made[at], effects=(*made[at].effects, *statement.effects))
    return made


def _partner(made: list[Any], nest: Any) -> int | None:
    if not _only_folds(nest):
        return None
    needed = {n.attr for e in nest.effects for n in walk(*roots_of(e)) if n.op == "argument"}
    read = {n.attr for e in nest.effects for n in walk(*roots_of(e)) if n.op == "local"}
    for at in range(len(made) - 1, -1, -1):
        before = made[at]
        if isinstance(before, Let):
            if before.slot in needed:
                return None
            continue
        if not isinstance(before, Nest) or not _only_folds(before):
            return None
        if any(e.into in needed if isinstance(e.into, int) else e.into.number in read
               for e in before.effects):
            return None
        if before.shape == nest.shape and before.effects[0].axis == nest.effects[0].axis:
            return at
    return None


def _only_folds(nest: Any) -> bool:
    return isinstance(nest, Nest) and all(isinstance(e, Fold) for e in nest.effects)


# ---- values that several loops need ----------------------------------------------------------

def keep_shared(statements: list[Any], places: list[Place]) -> list[Any]:
    """Dear values that more than one nest of the list needs go to a place where first made."""
    at = [k for k, s in enumerate(statements) if isinstance(s, Nest)]
    needs = {k: {n for e in statements[k].effects for n in walk(*roots_of(e))} for k in at}
    made = list(statements)
    ahead: dict[int, list[Any]] = {}
    for node in _shared(statements, needs):
        first, *later = [k for k in at if node in needs[k]
                         and statements[k].shape == statements[_first(node, needs)].shape]
        if not later or len(axes_of(node)) != sum(n > 1 for n in statements[first].shape):
            continue
        place = Place(len(places), node.dtype, statements[first].shape)
        places.append(place)
        value: Expr = place.whole()
        if isinstance(made[first].effects[0], Scan):  # goes point after point, by itself
            ahead.setdefault(first, []).append(Nest(place.shape, (Keep(place, node),)))
            later = [first, *later]
        else:
            kept = replace(made[first], effects=(
                *made[first].effects, Keep(place, node, full=False)))
            found = common_bound(kept)
            if found is None:
                kept = replace(kept, effects=(*kept.effects[:-1], Keep(place, node)))
            else:
                kept = replace(kept, bound=found)
                value = make("where", node.dtype, (found[0], value, beyond(node, found[0])))
            made[first] = kept
        table = {node: value}
        for k in later:
            made[k] = replace(made[k], effects=tuple(
                mapped(e, partial(substitute, table=table)) for e in made[k].effects))
    return [one for k, s in enumerate(made) for one in (*ahead.get(k, ()), s)]


def _first(node: Expr, needs: dict[int, set[Expr]]) -> int:
    return next(k for k, need in needs.items() if node in need)


def _shared(statements: list[Any], needs: dict[int, set[Expr]]) -> list[Expr]:
    """The topmost dear values of several nests, in the order of evaluation."""
    often = {n for n in set().union(*needs.values()) if axes_of(n)
             and sum(n in need for need in needs.values()) > 1}
    under = {a for need in needs.values() for n in need if n in often for a in n.args
             if a in often and all(n in other for other in needs.values() if a in other)}
    return [n for n in walk(*often) if n in often and n not in under and n.dtype is not bool_
            and _stored(n.dtype) and work(n) >= DEAR]


def _stored(dtype: DType) -> bool:
    return dtype is not int64
