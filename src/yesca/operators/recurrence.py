"""Recurrent layers: one direction of one layer over all times, as one operator.

At each time one product (the state by the weights of the state) and one launch for everything
else. Backward walks the other way with the activations that were kept; the gradient of the weights
is one product over all times. The cells are written once, for expressions of the loop language and
for tensors of the tape, which gradients of gradients go through.

Sources: Elman 1990; LSTM, Hochreiter and Schmidhuber 1997, Gers et al. 2000; GRU, Cho et al. 2014.
"""

# Names: gru_walk gru_slopes lstm_walk lstm_slopes rnn_relu_walk rnn_relu_slopes rnn_tanh_walk
# Names: rnn_tanh_slopes

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES
from ..core.spec import spec
from ..loops.ir import Expr, const
from ..loops.scalar import tanh, where
from .kinds import rows
from .products import turned
from .transcendental import sigmoid_of


class Elements:
    """The functions of cells on one element of each tensor."""

    sigmoid, tanh = staticmethod(sigmoid_of), staticmethod(tanh)

    @staticmethod
    def positive(x: Expr, y: Expr) -> Expr:
        """y where x is positive or NaN, else 0."""
        return where(x <= 0.0, 0.0, y)


class Tensors:
    """The functions of cells on tensors."""

    def __init__(self, ops: Any) -> None:
        self.sigmoid, self.tanh = ops.sigmoid, ops.tanh
        self.positive = lambda x, y: ops.select_where(ops.le(x, 0.0), 0.0, y)


@dataclass(frozen=True)
class Cell:
    """What happens at one time; the first state is the output.

    direct: the states whose gradients reach those before them beside the gates
    forward: (m, gates, states before) -> (states, what is kept); the gates are sums of those from
        the input and those from the state, or, of a cell that takes them apart, first these, then
        those
    apart: whether gates from the input and from the state have gradients of their own
    backward: (m, gradients of the states, what was kept, states before, states after) ->
        (gradients of the gates from the state, of those from the input, of `direct` states)
    """

    name: str
    gates: int
    kept: int
    states: int
    direct: tuple[int, ...]
    forward: Callable[..., Any]
    backward: Callable[..., Any]
    apart: bool = False

    def joined(self, x: Sequence[Any], u: Sequence[Any]) -> tuple[Any, ...]:
        """The gates as `forward` takes them."""
        return (*x, *u) if self.apart else tuple(a + b for a, b in zip(x, u, strict=True))


def _tanh(m: Any, gates: Any, states: Any) -> Any:
    return (m.tanh(gates[0]),), ()


def _tanh_back(m: Any, grads: Any, kept: Any, before: Any, after: Any) -> Any:
    slope = (grads[0] * (1.0 - after[0] * after[0]),)
    return slope, slope, ()


def _relu(m: Any, gates: Any, states: Any) -> Any:
    return (m.positive(gates[0], gates[0]),), ()


def _relu_back(m: Any, grads: Any, kept: Any, before: Any, after: Any) -> Any:
    slope = (m.positive(after[0], grads[0]),)
    return slope, slope, ()


def _lstm(m: Any, gates: Any, states: Any) -> Any:
    enter, keep = m.sigmoid(gates[0]), m.sigmoid(gates[1])
    value, leave = m.tanh(gates[2]), m.sigmoid(gates[3])
    cell = keep * states[1] + enter * value
    return (leave * m.tanh(cell), cell), (enter, keep, value, leave)


def _lstm_back(m: Any, grads: Any, kept: Any, before: Any, after: Any) -> Any:
    enter, keep, value, leave = kept
    out = m.tanh(after[1])
    cell = grads[1] + grads[0] * leave * (1.0 - out * out)
    slopes = (cell * value * (enter * (1.0 - enter)),
              cell * before[1] * (keep * (1.0 - keep)),
              cell * enter * (1.0 - value * value),
              grads[0] * out * (leave * (1.0 - leave)))
    return slopes, slopes, (cell * keep,)


def _gru(m: Any, gates: Any, states: Any) -> Any:
    x, u = gates[:3], gates[3:]
    reset, update = m.sigmoid(x[0] + u[0]), m.sigmoid(x[1] + u[1])
    new = m.tanh(x[2] + reset * u[2])
    return (new + update * (states[0] - new),), (reset, update, new, u[2])


def _gru_back(m: Any, grads: Any, kept: Any, before: Any, after: Any) -> Any:
    reset, update, new, inner = kept
    fresh = grads[0] * (1.0 - update) * (1.0 - new * new)
    slopes = (fresh * inner * (reset * (1.0 - reset)),
              grads[0] * (before[0] - new) * (update * (1.0 - update)))
    return (*slopes, fresh * reset), (*slopes, fresh), (grads[0] * update,)


CELLS = {cell.name: cell for cell in (
    Cell("rnn_tanh", 1, 0, 1, (), _tanh, _tanh_back),
    Cell("rnn_relu", 1, 0, 1, (), _relu, _relu_back),
    Cell("lstm", 4, 4, 2, (1,), _lstm, _lstm_back),
    Cell("gru", 3, 4, 1, (0,), _gru, _gru_back, apart=True))}


def _parts(ref: Any, count: int) -> list[Any]:
    """(N, count * H) as `count` of (N, H)."""
    if not count:
        return []
    size, width = ref.spec.shape
    part, (row, column) = width // count, ref.spec.strides
    return [ref.seen(((size, part), (row, column), k * part * column)) for k in range(count)]


def _at(ref: Any, time: int) -> Any:
    """(T, N, X) at one time."""
    _, size, width = ref.spec.shape
    step, row, column = ref.spec.strides
    return ref.seen(((size, width), (row, column), time * step))


def _between(ref: Any, start: int, stop: int) -> Any:
    """(T, N, X) from one time to another as (T * N, X); it is row-major."""
    _, size, width = ref.spec.shape
    return ref.seen((((stop - start) * size, width), (width, 1), start * size * width))


def _dense(p: Any, ref: Any) -> Any:
    """The operand, row-major."""
    if ref.spec.contiguous:
        return ref
    made = p.temporary(tuple(ref.spec.shape), ref.spec.dtype)
    p.flat(lambda v: v, [ref], [made])
    return made


def _check(cell: Cell, dtype: Any, operands: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Operands of one dtype whose sizes fit; RuntimeError otherwise."""
    for name, (ref, shape) in operands.items():
        if ref is None or ref.spec.dtype is not dtype or tuple(ref.spec.shape) != shape:
            found = "None" if ref is None else f"{list(ref.spec.shape)} of {ref.spec.dtype}"
            raise RuntimeError(f"{cell.name}: expected {name} to be {list(shape)} of {dtype}, as "
                               f"the first state asks for, but got {found}")


def _order(times: int, reverse: bool) -> list[int]:
    return list(reversed(range(times))) if reverse else list(range(times))


def _before(initial: Sequence[Any], held: Sequence[Any], order: list[int], k: int) -> list[Any]:
    """The states before the k-th step."""
    return [_at(h, order[k - 1]) if k else s for s, h in zip(initial, held, strict=False)]


# ---- forward ---------------------------------------------------------------------------------

def _walk(cell: Cell) -> Callable[..., None]:
    def program(p: Any, from_input: Any, hidden: Any, memory: Any, weight: Any, bias: Any,
                reverse: bool) -> None:
        across = cell.gates * hidden.spec.shape[-1]
        shape = (across, hidden.spec.shape[-1])
        _check(cell, hidden.spec.dtype, {
            "weight": (weight, shape),
            **({"bias": (bias, (across,))} if bias is not None else {})})
        # Read at every time: its columns side by side once, not at each.
        columns = _dense(p, turned(weight))
        walk(cell, p, from_input, [hidden, memory], bias, reverse,
             lambda state, gates: p.product(state, columns, gates), keeps=True)
    return program


def walk(cell: Cell, p: Any, from_input: Any, initial: list[Any], bias: Any, reverse: bool,
         product: Callable[[Any, Any], None], keeps: bool) -> None:
    """All times of one direction of a layer, appended to the program `p`.

    Args:
        from_input: what the input gives to the gates (T, N, gates * H).
        initial: the states (N, H) before the first time; the second is the memory, or None.
        bias: what is added to the gates from the state (gates * H), or None.
        product: (state, gates) -> None; appends what fills in the gates from the state.
        keeps: whether the last result is what backward reads.
    """
    times, size, _ = from_input.spec.shape
    width, dtype = initial[0].spec.shape[-1], initial[0].spec.dtype
    if dtype.category != FLOATING:
        raise NotImplementedError(f"\"{cell.name}\" not implemented for '{SCALAR_NAMES[dtype]}'")
    across, count = cell.gates * width, cell.gates
    names = ["hidden", "memory"][:cell.states]
    _check(cell, dtype, {
        "gates from the input": (from_input, (times, size, across)),
        **{name: (state, (size, width)) for name, state in zip(names, initial, strict=False)}})
    lengths = (times, times if cell.states > 1 else 0)
    held = [p.result(spec(dtype, (length, size, width), None, p.device))
            for length in lengths][:cell.states]
    kept = p.result(spec(dtype, (times, size, cell.kept * width), None, p.device)) if keeps \
        else None
    gates = p.temporary((size, across), dtype)
    biases = [] if bias is None else _parts(bias.seen(
        ((size, across), (0, bias.spec.strides[0]), 0)), count)

    def body(*values: Expr) -> tuple[Expr, ...]:
        x, u, rest = values[:count], values[count:2 * count], values[2 * count:]
        if biases:
            u = tuple(a + b for a, b in zip(u, rest[:count], strict=True))
            rest = rest[count:]
        states, saved = cell.forward(Elements, cell.joined(x, u), rest)
        return (*states, *saved) if keeps else states

    order = _order(times, reverse)
    for k, time in enumerate(order):
        before = _before(initial, held, order, k)
        product(before[0], gates)
        p.flat(body, [*_parts(_at(from_input, time), count), *_parts(gates, count), *biases,
                      *before],
               [*(_at(h, time) for h in held),
                *(_parts(_at(kept, time), cell.kept) if keeps else ())])


# ---- backward --------------------------------------------------------------------------------

def _slopes(cell: Cell) -> Callable[..., None]:
    def program(p: Any, grad: Any, grad_memory: Any, output: Any, cells: Any, kept: Any,
                hidden: Any, memory: Any, weight: Any, reverse: bool) -> None:
        times, size, width = output.spec.shape
        dtype, across = output.spec.dtype, cell.gates * width

        def result(*shape: int) -> Any:
            return p.result(spec(dtype, shape, None, p.device))

        of_state = result(times, size, across)
        of_input = result(times if cell.apart else 0, size, across)
        firsts = [result(size, width), result(size if cell.states > 1 else 0, width)]
        of_weight = result(across, width)
        wide = _dense(p, weight)
        order, held = _order(times, reverse), [output, cells][:cell.states]
        given = [grad, grad_memory][:cell.states]
        flows = [_at(g, order[-1]) if g is not None else _zeros(p, (size, width), dtype)
                 for g in given]
        room = [p.temporary((size, width), dtype) for _ in given]
        for k in range(times - 1, -1, -1):
            into = room if k else firsts
            arriving = [_at(g, order[k - 1]) if k and g is not None else None for g in given]
            slopes = _at(of_state, order[k])
            goals = _parts(slopes, cell.gates)
            if cell.apart:
                goals += _parts(_at(of_input, order[k]), cell.gates)
            added = [arriving[j] for j in cell.direct if arriving[j] is not None]
            p.flat(_slopes_body(cell, added), [
                *flows, *_parts(_at(kept, order[k]), cell.kept),
                *_before([hidden, memory], held, order, k), *(_at(h, order[k]) for h in held),
                *added], [*goals, *(into[j] for j in cell.direct)])
            p.product(slopes, wide, into[0], initial=into[0] if 0 in cell.direct else arriving[0])
            flows = room
        _of_weight(p, of_state, _dense(p, output), hidden, of_weight, order)
    return program


def _slopes_body(cell: Cell, added: Sequence[Any]) -> Callable[..., tuple[Expr, ...]]:
    """One time; `added` are gradients that arrive at the states before."""
    def body(*values: Expr) -> tuple[Expr, ...]:
        cuts = (cell.states, cell.kept, cell.states, cell.states, len(added))
        pieces, rest = [], values
        for count in cuts:
            pieces.append(rest[:count])
            rest = rest[count:]
        *given, more = pieces
        by_state, by_input, direct = cell.backward(Elements, *given)
        if more:
            direct = tuple(d + m for d, m in zip(direct, more, strict=True))
        return (*by_state, *(by_input if cell.apart else ()), *direct)

    return body


def _zeros(p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    made = p.temporary(shape, dtype)
    p.flat(lambda: const(0, dtype), [], [made])
    return made


def _of_weight(p: Any, slopes: Any, output: Any, hidden: Any, goal: Any, order: list[int]
               ) -> None:
    """The sum over all times of slopes.T @ (the output before)."""
    more = len(order) - 1
    p.product(turned(_at(slopes, order[0])), hidden, goal)
    if more:
        late, early = (0, 1) if order[0] else (1, 0)  # which of two neighbours comes first
        p.product(turned(_between(slopes, late, late + more)),
                  _between(output, early, early + more), goal, initial=goal)


def _back(cell: Cell) -> Callable[..., Any]:
    def formula(ops: Any, grads: Any, from_input: Any, hidden: Any, memory: Any, weight: Any,
                bias: Any, result0: Any, result1: Any, result2: Any, reverse: bool) -> Any:
        grad = ops.zeros_like(result0) if grads[0] is None else grads[0]
        given = (grad, grads[1], from_input, hidden, memory, weight, bias)
        if ops.has_derivative(*(t for t in given if t is not None)):
            made = _differentiable(ops, cell, (grad, grads[1]), from_input, hidden, memory, weight,
                                   bias, reverse)
        else:
            made = getattr(ops, f"{cell.name}_slopes")(
                grad, grads[1], result0, result1, result2, hidden, memory, weight, reverse)
        of_state, of_input, first, memory_first, of_weight = made
        return (of_input if cell.apart else of_state, first,
                memory_first if cell.states > 1 else None, of_weight,
                None if bias is None else ops.sum(of_state, (0, 1)))

    return formula


def _differentiable(ops: Any, cell: Cell, grads: Sequence[Any], from_input: Any, hidden: Any,
                    memory: Any, weight: Any, bias: Any, reverse: bool) -> Any:
    """The same by operators of the tape, for gradients of gradients; activations anew."""
    m, order = Tensors(ops), _order(from_input.shape[0], reverse)
    states = (hidden, memory)[:cell.states]
    trail = []
    for time in order:
        x = ops.chunk(ops.select(from_input, 0, time), cell.gates, -1)
        u = ops.chunk(ops.linear(states[0], weight, bias), cell.gates, -1)
        after, kept = cell.forward(m, cell.joined(x, u), states)
        trail.append((kept, states, after))
        states = after
    flows: list[Any] = [0.0] * cell.states
    by_state, by_input, of_weight = {}, {}, 0.0
    for time, (kept, before, after) in reversed(list(zip(order, trail, strict=True))):
        flows = [f if g is None else f + ops.select(g, 0, time)
                 for f, g in zip(flows, grads, strict=False)]
        state_parts, input_parts, direct = cell.backward(m, flows, kept, before, after)
        by_state[time] = slopes = ops.cat(list(state_parts), -1)
        by_input[time] = ops.cat(list(input_parts), -1)
        of_weight = of_weight + ops.matrix_product(slopes, before[0], True, False, 1)
        flows = [ops.matrix_product(slopes, weight, False, False, 1),
                 *([0.0] * (cell.states - 1))]
        for j, value in zip(cell.direct, direct, strict=True):
            flows[j] = flows[j] + value
    stacked = [ops.stack([made[time] for time in sorted(order)]) for made in (by_state, by_input)]
    return (*stacked, flows[0], flows[-1], of_weight)


for _cell in CELLS.values():
    rows(f"{_cell.name}_slopes(Tensor grad, Tensor? grad_memory, Tensor output, Tensor cells, "
         "Tensor kept, Tensor hidden, Tensor? memory, Tensor weight, bool reverse) -> "
         "(Tensor, Tensor, Tensor, Tensor, Tensor)", _slopes(_cell), kind="contraction",
         method=False)
    rows(f"{_cell.name}_walk(Tensor from_input, Tensor hidden, Tensor? memory, Tensor weight, "
         "Tensor? bias, bool reverse) -> (Tensor, Tensor, Tensor)", _walk(_cell),
         kind="contraction", method=False, node_name="MkldnnRnnLayerBackward0", carriers=2,
         backward={("from_input", "hidden", "memory", "weight", "bias"): _back(_cell)})
