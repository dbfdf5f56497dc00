"""Tensors that are made of sizes and numbers: `zeros`, `arange`, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._building import Graph
from .._tracing import Step, Value
from . import row


@row("filled", "uninitialised", "filled_like", "uninitialised_like")
def _filled(g: Graph, s: Step, source: Any, dtype: Any = None, value: Any = 0, *rest: Any) -> str:
    return g.op("Expand", g.operand(value, s.dtype), g.ints(s.shape))


@row("ramp")
def _ramp(g: Graph, s: Step, count: Any, dtype: Any, start: Any, step: Any) -> str:
    made = g.op("Range", g.constant(np.array(0)), g.scalar(s.shape[0]), g.constant(np.array(1)))
    made = g.cast(made, s.dtype)
    if step != 1:
        made = g.op("Mul", made, g.operand(step, s.dtype))
    return made if start == 0 else g.op("Add", made, g.operand(start, s.dtype))


@row("tril", "triu")
def _triangle(g: Graph, s: Step, x: Value, diagonal: Any = 0) -> str:
    if g.opset < 14:
        offset = g.fixed(diagonal)
        rows, columns = x.shape[-2:]
        kept = g.below(rows, columns, offset if s.name == "tril" else offset - 1)
        kept = kept if s.name == "tril" else g.op("Not", kept)
        return g.op("Where", kept, g.operand(x), g.operand(0, s.dtype))
    return g.op("Trilu", g.operand(x), g.constant(np.array(g.fixed(diagonal))),
                upper=int(s.name == "triu"))
