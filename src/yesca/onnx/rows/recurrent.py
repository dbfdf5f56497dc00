"""One direction of a recurrent layer: what `nn.modules._recurrence.walk` does as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._building import Graph
from .._tracing import Step, Value
from . import row

#: ONNX's order of the gates, by their places in PyTorch's.
_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN_TANH": (0,), "RNN_RELU": (0,)}


@row("recurrence")
def _recurrence(g: Graph, s: Step, mode: str, sequence: Value, states: Any, weights: Any,
                backward: bool) -> Any:
    """Output (L, N, H), then the last states (N, H)."""
    if weights.get("weight_hr") is not None:
        raise g.unable("a projection (proj_size)")
    hidden = g.fixed(weights["weight_hh"].shape[1])
    input_weight, state_weight = (_ordered(g, mode, weights[k]) for k in ("weight_ih", "weight_hh"))
    biases = [_ordered(g, mode, weights[k]) for k in ("bias_ih", "bias_hh")
              if weights.get(k) is not None]
    bias = g.op("Concat", *biases, axis=1) if biases else ""
    front = g.ints([0])
    starts = [g.op("Unsqueeze", g.operand(state), front) for state in states]
    named: dict[str, Any] = {"hidden_size": hidden,
                             "direction": "reverse" if backward else "forward"}
    if mode == "GRU":
        named["linear_before_reset"] = 1
    if mode.startswith("RNN"):
        named["activations"] = ["Tanh" if mode == "RNN_TANH" else "Relu"]
    made = g.op(mode.partition("_")[0], g.operand(sequence),
                input_weight, state_weight, bias, "", *starts, outputs=1 + len(starts), **named)
    across = g.ints([1])
    return (g.op("Squeeze", made[0], across), *[g.op("Squeeze", m, front) for m in made[1:]])


def _ordered(g: Graph, mode: str, weight: Value) -> str:
    """Weights with the gates in ONNX's order, and a dimension of directions."""
    order = _ORDER[mode]
    name = g.operand(weight)
    if len(order) > 1:
        parts = g.op("Split", name, g.ints([weight.shape[0] // len(order)] * len(order)),
                     outputs=len(order), axis=0)
        name = g.op("Concat", *[parts[k] for k in order], axis=0)
    return g.op("Unsqueeze", name, g.constant(np.array([0])))
