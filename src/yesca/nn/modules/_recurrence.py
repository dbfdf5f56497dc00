"""The steps of recurrent layers, and walking them over a sequence."""

from __future__ import annotations

from collections.abc import Callable

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import float32, float64
from ...dispatch.state import STATE
from ...operators.recurrence import CELLS, Tensors

# A step takes what the input gives to the gates (N, gates), the state and the hidden weights; it
# returns the new state. A state is a tuple whose first entry is the output (N, H).
State = tuple[Tensor, ...]

BLOCK = 64  # times that one operator walks: what planning costs stays bounded


GATES = {name.upper(): cell.gates for name, cell in CELLS.items()}
_TENSORS = Tensors(ops)


def settle(mode: str, from_input: Tensor, from_state: Tensor, state: State) -> State:
    """One time of a cell, given what both sides give to its gates, in PyTorch's order."""
    cell = CELLS[mode.lower()]
    if cell.apart:
        gates = (*from_input.chunk(cell.gates, -1), *from_state.chunk(cell.gates, -1))
    else:
        gates = (from_input + from_state).chunk(cell.gates, -1)
    after, _ = cell.forward(_TENSORS, gates, state)
    return after  # type: ignore[no-any-return]


def step(mode: str, from_input: Tensor, state: State, weights: tuple) -> State:
    """One time of a cell; with an optional projection of h."""
    from_state = ops.linear(state[0], weights[0], weights[1])
    hidden, *others = settle(mode, from_input, from_state, state)
    if len(weights) > 2 and weights[2] is not None:
        hidden = ops.linear(hidden, weights[2])
    return hidden, *others


def advance(
    mode: str, input: Tensor, state: State, weight_ih: Tensor, weight_hh: Tensor, bias_ih, bias_hh
) -> State:
    """One step of a cell, its operands checked: (N, I) and states (N, H), or without N."""
    if input.size(-1) != weight_ih.size(1):
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.size(-1)} expected {weight_ih.size(1)}"
        )
    for hidden in state:
        if input.shape[:-1] != hidden.shape[:-1]:
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden0 batch size "
                f"{hidden.size(0)}"
            )
        if hidden.size(-1) != weight_hh.size(1):
            raise RuntimeError(
                f"hidden0 has inconsistent hidden_size: got {hidden.size(-1)}, expected "
                f"{weight_hh.size(1)}"
            )
    from_input = ops.linear(input, weight_ih, bias_ih)
    return step(mode, from_input, state, (weight_hh, bias_hh))


def run_layers(
    mode: str,
    sequence: Tensor,
    states: State,
    weights: list[list],
    sizes: list[int] | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
    walks: tuple[Callable, Callable] | None = None,
) -> tuple[Tensor, State]:
    """All layers and directions over (L, N, I), or over packed data where sizes are given.

    weights: for each layer, for each direction, the weights by kind.
    dropout: what each layer but the last does to its outputs.
    walks: what stands for `walk` and `walk_packed`, for weights of another kind.
    """
    over, over_packed = walks or (walk, walk_packed)
    finals: list[State] = []
    for layer, directions in enumerate(weights):
        outputs = []
        for direction, own in enumerate(directions):
            start = tuple(state[len(finals)] for state in states)
            if sizes is None:
                output, final = over(mode, sequence, start, own, direction == 1)
            else:
                output, final = over_packed(mode, sequence, sizes, start, own, direction == 1)
            outputs.append(output)
            finals.append(final)
        sequence = outputs[0] if len(outputs) == 1 else ops.cat(outputs, -1)
        if dropout is not None and layer < len(weights) - 1:
            sequence = dropout(sequence)
    return sequence, tuple(ops.stack(entries) for entries in zip(*finals, strict=True))


def walk(mode: str, sequence: Tensor, state: State, weights: dict, backward: bool):
    """One direction of one layer over (L, N, I): outputs (L, N, H) and the last state."""
    if STATE.levels:
        return STATE.levels[-1].whole("recurrence", _walk,
                                      (mode, sequence, state, weights, backward))
    return _walk(mode, sequence, state, weights, backward)


def _walk(mode: str, sequence: Tensor, state: State, weights: dict, backward: bool):
    # The part of the gates that does not depend on the state: one product for all times.
    from_input = ops.linear(sequence, weights["weight_ih"], weights["bias_ih"])
    if weights["weight_hr"] is None and from_input.dtype in (float32, float64):
        run = getattr(ops, f"{mode.lower()}_walk")
        own = (weights["weight_hh"], weights["bias_hh"], backward)
        return in_blocks(lambda *given: run(*given, *own)[:2], from_input, state, backward)
    return by_steps(_steps(mode, weights), from_input, state, backward)


def _steps(mode: str, weights: dict) -> Callable[[Tensor, State], State]:
    hidden = (weights["weight_hh"], weights["bias_hh"], weights["weight_hr"])
    return lambda from_input, state: step(mode, from_input, state, hidden)


def in_blocks(run: Callable, from_input: Tensor, state: State, backward: bool):
    """One operator for BLOCK times: sequences of all lengths share the plans of their blocks.

    run: (gates from the input, hidden, memory or None) -> (outputs, memories) of all times.
    """
    blocks = from_input.split(BLOCK)
    outputs = []
    for block in reversed(blocks) if backward else blocks:
        output, cells = run(block, *(state if len(state) > 1 else (*state, None)))
        last = 0 if backward else -1
        state = tuple(held[last] for held in (output, cells)[: len(state)])
        outputs.append(output)
    if backward:
        outputs.reverse()
    # Callers may write to the outputs, which backward reads, and ask for the gradient of the last
    # state by them, of which it is no function.
    return outputs[0].clone() if len(outputs) == 1 else ops.cat(outputs), state


def by_steps(advance: Callable, from_input: Tensor, state: State, backward: bool):
    """The same by one step, (gates from the input, state) -> state, after another."""
    times = range(from_input.size(0))
    outputs = []
    for time in reversed(times) if backward else times:
        state = advance(from_input[time], state)
        outputs.append(state[0])
    if backward:
        outputs.reverse()
    return ops.stack(outputs), state


def walk_packed(
    mode: str, data: Tensor, sizes: list[int], state: State, weights: dict, backward: bool
):
    """`walk` over packed sequences: `data` (sum of sizes, I), `sizes[t]` of them at time t."""
    from_input = ops.linear(data, weights["weight_ih"], weights["bias_ih"])
    return by_packed_steps(_steps(mode, weights), from_input, sizes, state, backward)


def by_packed_steps(
    advance: Callable, from_input: Tensor, sizes: list[int], state: State, backward: bool
):
    """`by_steps` over packed sequences.

    The sequences are sorted by length, so those that run at a time are the first rows of the
    state; the others keep theirs: already final, or (backwards) still the initial one.
    """
    pieces = from_input.split(sizes)
    times = range(len(sizes))
    outputs = []
    for time in reversed(times) if backward else times:
        active = sizes[time]
        advanced = advance(pieces[time], tuple(each[:active] for each in state))
        outputs.append(advanced[0])
        if active < state[0].size(0):
            pairs = zip(advanced, state, strict=True)
            advanced = tuple(ops.cat([new, old[active:]]) for new, old in pairs)
        state = advanced
    if backward:
        outputs.reverse()
    return ops.cat(outputs), state
