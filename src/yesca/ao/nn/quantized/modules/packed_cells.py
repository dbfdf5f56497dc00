"""The weights of one direction of one recurrent layer, packed, and walking with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..... import functional as ops
from ....._tensor import Tensor
from .....nn.modules._recurrence import State, by_packed_steps, by_steps, in_blocks, settle
from .packing import FULL, REDUCED, PackedLinear
from .script_objects import ScriptObject

BYTES, HALVES = "quantized_dynamic", "quantized_fp16"


class PackedCell(ScriptObject):
    """Packed weights from the input and from the state, with their biases in them.

    reduced: whether activations take half of the integers that a byte has.
    """

    on_disk = "__torch__.torch.classes.rnn.CellParamsBase"

    def __init__(self, ih: PackedLinear, hh: PackedLinear, reduced: bool = True) -> None:
        self.ih, self.hh, self.reduced = ih, hh, reduced

    def of_input(self, x: Tensor) -> Tensor:
        """What inputs (*, I) give to the gates."""
        return self.ih.product(x, self.reduced)

    def advance(self, mode: str, from_input: Tensor, state: State) -> State:
        """One time: gates from the input (N, gates) and the state to the next state."""
        run = self.walk(mode, False)
        if run is None:
            return settle(mode, from_input, self.hh.product(state[0], self.reduced), state)
        memory = state[1] if len(state) > 1 else None
        made = run(from_input.unsqueeze(0), state[0], memory)
        return tuple(held[0] for held in made[:len(state)])

    def walk(self, mode: str, backward: bool) -> Callable[..., Any] | None:
        """What goes over many times at once; None where weights are no integers without zero."""
        if self.hh._operands is None:
            return None
        packed, bias, inputs, *_ = self.hh._operands
        run = getattr(ops, f"_quantized_{mode.lower()}_walk")
        top = REDUCED if self.reduced else FULL

        def over(block: Tensor, hidden: Tensor, memory: Tensor | None) -> Any:
            if hidden.size(-1) != inputs:
                raise RuntimeError("The number of rows in the packB should be equal to K: "
                                   f"{hidden.size(-1)}; the weights take {inputs}")
            return run(block, hidden, memory, packed, bias, top, backward)

        return over

    def parts(self) -> tuple[Any, ...]:
        """(kind, tensors, numbers, integers, packed weights), as a file holds them."""
        packed = [self.ih, self.hh]
        if not self.ih.weight.is_quantized:
            return HALVES, [], [], [], packed
        return BYTES, [self.ih.bias, self.hh.bias], [], [int(self.reduced)], packed

    def set_parts(self, parts: Any) -> None:
        """Become what `parts` tells; NotImplementedError for another kind."""
        kind, _, _, integers, packed = parts
        if kind not in (BYTES, HALVES):
            raise NotImplementedError(f"the file holds weights of a recurrent layer of the kind "
                                      f"{kind}; {BYTES} and {HALVES} are there")
        self.ih, self.hh = packed
        # Files from before there was a choice hold nothing.
        self.reduced = bool(integers[0]) if integers else False


def walk(mode: str, sequence: Tensor, state: State, cell: PackedCell, backward: bool
         ) -> tuple[Tensor, State]:
    """One direction of one layer over (L, N, I): outputs (L, N, H) and the last state."""
    from_input = cell.of_input(sequence)
    run = cell.walk(mode, backward)
    if run is None:
        return by_steps(partial(cell.advance, mode), from_input, state, backward)
    return in_blocks(run, from_input, state, backward)


def walk_packed(mode: str, data: Tensor, sizes: list[int], state: State, cell: PackedCell,
                backward: bool) -> tuple[Tensor, State]:
    """`walk` over packed sequences: `data` (sum of sizes, I), `sizes[t]` of them at time t."""
    return by_packed_steps(partial(cell.advance, mode), cell.of_input(data), sizes, state, backward)
