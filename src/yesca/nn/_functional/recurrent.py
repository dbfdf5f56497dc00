"""Recurrent layers and cells as functions of their weights: `torch.lstm`, `torch.gru_cell` ..."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..._tensor import Tensor
from ...base.naming import public_module
from ..modules._recurrence import advance, run_layers
from .dropout import dropout as drop

_REST = ("has_biases", "num_layers", "dropout", "train", "bidirectional")
_PLAIN = ("input", "hx", "params", *_REST, "batch_first")
_PACKED = ("data", "batch_sizes", "hx", "params", *_REST)


def _layers(mode: str) -> Callable[..., Any]:
    pair = mode == "LSTM"
    name = mode.lower()

    def function(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        names = _PACKED if _is_packed(args, kwargs, pair) else _PLAIN
        given = dict(zip(names, args, strict=False)) | kwargs
        missing = [n for n in names if n not in given]
        if missing or len(given) > len(names) or len(args) > len(names):
            raise TypeError(f"{name}() received an invalid combination of arguments; expected "
                            f"({', '.join(_PLAIN)}) or ({', '.join(_PACKED)})")
        return _run(mode, given, tuple(given["hx"]) if pair else (given["hx"],))

    function.__name__ = function.__qualname__ = name
    function.__module__ = public_module("torch")
    module = "RNN" if name.startswith("rnn") else mode
    function.__doc__ = (
        f"""The layers of `torch.nn.{module}`, with weights from outside.

    {name}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    {name}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)

    params: for each layer and direction weight_ih, weight_hh, and bias_ih, bias_hh if there are
        biases{", and weight_hr where the two states are of different sizes" if pair else ""}.
    hx: {"the pair of states" if pair else "the state"}, (layers * directions, N, H).

    Gives the outputs and the last state{"s" if pair else ""}. Raises RuntimeError where the number
    of weights or states does not fit.
    """)
    return function


def _is_packed(args: tuple[Any, ...], kwargs: dict[str, Any], pair: bool) -> bool:
    if len(args) < 2:
        return "batch_sizes" in kwargs
    return isinstance(args[1], Tensor) and (
        pair or "params" not in kwargs and len(args) > 2 and isinstance(args[2], Tensor))


def _run(mode: str, given: dict[str, Any], states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    pair = mode == "LSTM"
    if pair and len(states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    kinds = ["weight_ih", "weight_hh"]
    kinds += ["bias_ih", "bias_hh"] if given["has_biases"] else []
    if pair and states[0].size(2) != states[1].size(2):
        kinds.append("weight_hr")
    weights = _by_layer(list(given["params"]), kinds, given)
    if len(states[0]) < len(weights) * len(weights[0]):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    sequence, sizes = given.get("input"), None
    if sequence is None:
        sequence, sizes = given["data"], given["batch_sizes"].tolist()
    elif given["batch_first"]:
        sequence = sequence.transpose(0, 1)
    between = partial(drop, p=given["dropout"], training=True)
    outputs, last = run_layers(mode, sequence, states, weights, sizes,
                               between if given["train"] and given["dropout"] else None)
    return (outputs.transpose(0, 1) if given.get("batch_first") else outputs), *last


def _by_layer(params: list[Tensor], kinds: list[str], given: dict[str, Any]
              ) -> list[list[dict[str, Any]]]:
    """For each layer and direction its weights by kind."""
    directions = 2 if given["bidirectional"] else 1
    if len(params) != given["num_layers"] * directions * len(kinds):
        raise RuntimeError("got an incorrect number of RNN parameters")
    absent = dict.fromkeys(("bias_ih", "bias_hh", "weight_hr"))
    each = [absent | dict(zip(kinds, params[k:k + len(kinds)], strict=True))
            for k in range(0, len(params), len(kinds))]
    return [each[k:k + directions] for k in range(0, len(each), directions)]


def _cell(mode: str) -> Callable[..., Any]:
    pair = mode == "LSTM"
    name = f"{mode.lower()}_cell"

    def function(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                 b_hh: Tensor | None = None) -> Any:
        states = tuple(hx) if pair else (hx,)
        if pair and len(states) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        made = advance(mode, input, states, w_ih, w_hh, b_ih, b_hh)
        return made if pair else made[0]

    function.__name__ = function.__qualname__ = name
    function.__module__ = public_module("torch")
    module = "RNN" if name.startswith("rnn") else mode
    states = "a pair of (N, H)" if pair else "(N, H)"
    function.__doc__ = (
        f"""One step of `torch.nn.{module}Cell`: (N, I) and {states} to {states}.

    Raises RuntimeError where sizes do not fit.
    """)
    return function


lstm, gru, rnn_tanh, rnn_relu = map(_layers, ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"))
lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell = map(
    _cell, ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"))
