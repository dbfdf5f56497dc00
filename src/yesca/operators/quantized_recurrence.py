"""Recurrent layers with int8 weights: one direction of one layer over all times, as one operator.

At each time the state is taken as bytes, by the range of all its elements, and multiplied by the
packed weights; the rest is what `recurrence` does.
"""

# Names: _quantized_gru_walk _quantized_lstm_walk _quantized_rnn_relu_walk _quantized_rnn_tanh_walk

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import SCALAR_NAMES, float32
from .kinds import rows
from .quantisation import bytes_of, check_packed, fill_bytes
from .recurrence import CELLS, Cell, walk


def _walk(cell: Cell) -> Callable[..., None]:
    def program(p: Any, from_input: Any, hidden: Any, memory: Any, weight: Any, bias: Any,
                top: int, reverse: bool) -> None:
        if hidden.spec.dtype is not float32:
            raise RuntimeError("expected scalar type Float but found "
                               f"{SCALAR_NAMES[hidden.spec.dtype]}")
        check_packed(weight, hidden.spec.shape[-1], from_input.spec.shape[-1])
        lines, found = bytes_of(p, tuple(hidden.spec.shape), weight)
        added = [bias] if p.is_ref(bias) else []

        def product(state: Any, gates: Any) -> None:
            if state.spec.numel:
                fill_bytes(p, state, lines, found, top)
                p.product_int8(lines, weight, added, found, gates)

        walk(cell, p, from_input, [hidden, memory], None, reverse, product, keeps=False)
    return program


for _cell in CELLS.values():
    rows(f"_quantized_{_cell.name}_walk(Tensor from_input, Tensor hidden, Tensor? memory, "
         "Tensor weight, Tensor? bias, int top, bool reverse) -> (Tensor, Tensor)", _walk(_cell),
         kind="contraction", method=False, node_name="WarnNotImplemented",
         doc="As the walk of plain weights, these packed and states taken as bytes of [0, top].")
