"""Sums, means, extremes and what orders elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.dtypes import bool_, int32
from .._building import Graph
from .._tracing import Step, Value
from . import row

_REDUCED = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "amax": "ReduceMax",
            "amin": "ReduceMin", "any": "ReduceMax", "all": "ReduceMin",
            "logsumexp": "ReduceLogSumExp"}


def axes_of(x: Value, dim: Any) -> list[int]:
    """Dimensions as they are counted from the front; no ones are all."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return list(range(x.rank))
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    return sorted(d % x.rank if x.rank else 0 for d in given)


def _reduce(g: Graph, kind: str, x: Value, name: str, dim: Any, keepdim: bool) -> str:
    if not x.rank:
        return name
    return g.reduce(kind, name, axes_of(x, dim), keepdim)


@row(*_REDUCED)
def _reduction(g: Graph, s: Step, x: Value, dim: Any = None, keepdim: bool = False,
               *rest: Any) -> str:
    if s.name in ("any", "all"):
        name = g.cast(g.operand(x, bool_), int32)
        return g.cast(_reduce(g, _REDUCED[s.name], x, name, dim, keepdim), bool_)
    return _reduce(g, _REDUCED[s.name], x, g.operand(x, s.dtype), dim, keepdim)


@row("max_all", "min_all")
def _extreme(g: Graph, s: Step, x: Value) -> str:
    kind = "ReduceMax" if s.name == "max_all" else "ReduceMin"
    return _reduce(g, kind, x, g.operand(x), None, False)


@row("argmax", "argmin")
def _place(g: Graph, s: Step, x: Value, dim: Any = None, keepdim: bool = False) -> str:
    kind = "ArgMax" if s.name == "argmax" else "ArgMin"
    if dim is not None:
        return g.op(kind, g.operand(x), axis=dim, keepdims=int(keepdim))
    flat = g.op("Reshape", g.operand(x), g.ints([-1]))
    return g.reshape(g.op(kind, flat, axis=0, keepdims=0), s.shape)


@row("max_dim", "min_dim")
def _extreme_and_place(g: Graph, s: Step, x: Value, dim: int, keepdim: bool = False) -> Any:
    most = s.name == "max_dim"
    return (_reduce(g, "ReduceMax" if most else "ReduceMin", x, g.operand(x), dim, keepdim),
            g.op("ArgMax" if most else "ArgMin", g.operand(x), axis=dim, keepdims=int(keepdim)))


@row("var", "std", "var_mean", "std_mean")
def _spread(g: Graph, s: Step, x: Value, dim: Any = None, unbiased: Any = None,
            keepdim: bool = False, correction: Any = None) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    axes = axes_of(x, dim)
    count = prod(g.fixed(x.shape[d], 1)[0] for d in axes) if correction else 1
    name = g.operand(x)
    away = g.op("Sub", name, g.reduce("ReduceMean", name, axes))
    made = g.reduce("ReduceMean", g.op("Mul", away, away), axes, keepdim)
    if correction:
        with np.errstate(all="ignore"):
            ratio = float(np.float64(count) / max(count - correction, 0))
        made = g.op("Mul", made, g.operand(ratio, s.dtype))
    if s.name.startswith("std"):
        made = g.op("Sqrt", made)
    if len(s.results) == 1:
        return made
    return made, g.reduce("ReduceMean", name, axes, keepdim)


@row("norm", "linalg_vector_norm")
def _norm(g: Graph, s: Step, x: Value, p: Any = 2, dim: Any = None, keepdim: bool = False,
          *rest: Any) -> str:
    if p not in ("fro", None, 1, 2):
        raise g.unable(f"the norm of {p!r}")
    kind = "ReduceL1" if p == 1 else "ReduceL2"
    return _reduce(g, kind, x, g.operand(x, s.dtype), dim, keepdim)


@row("cumsum")
def _cumsum(g: Graph, s: Step, x: Value, dim: int, *rest: Any) -> str:
    return g.op("CumSum", g.operand(x, s.dtype), g.constant(np.array(dim)))


@row("topk")
def _topk(g: Graph, s: Step, x: Value, k: Any, dim: int = -1, largest: bool = True,
          ordered: bool = True) -> Any:
    return g.op("TopK", g.operand(x), g.ints([k]), outputs=2, axis=dim, largest=int(largest),
                sorted=int(ordered))


@row("sort")
def _sort(g: Graph, s: Step, x: Value, dim: int = -1, descending: bool = False,
          *rest: Any) -> Any:
    return g.op("TopK", g.operand(x), g.ints([x.shape[dim]]), outputs=2, axis=dim,
                largest=int(descending), sorted=1)
