"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
from functools import partial

from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor
from ...dispatch.autocast import lowered
from ...dispatch.state import STATE, set_autocast
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from ._recurrence import GATES, advance, run_layers
from ._rnn_inputs import Inputs
from .module import Module

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class RNNBase(Inputs, Module):
    """Layers of recurrences, in one or both directions, over a sequence.

    Args:
        mode: `"RNN_TANH"`, `"RNN_RELU"`, `"LSTM"` or `"GRU"`.
        num_layers: each layer reads the outputs of the one before.
        batch_first: whether (N, L, I) is the layout, not (L, N, I).
        dropout: rate between layers, in training.
        bidirectional: a second recurrence from the end; outputs side by side.
        proj_size: LSTM only; the size to which the outputs are projected, 0 for none.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments()
        self.dropout = float(dropout)
        self._all_weights: list[list[str]] = []
        self._make_weights({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check_arguments(self) -> None:
        check_dropout(self.dropout, self.num_layers)
        kinds = (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int))
        for name, kind in kinds:
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def _make_weights(self, options: dict) -> None:
        gates = GATES[self.mode] * self.hidden_size
        output = self.proj_size or self.hidden_size
        for layer in range(self.num_layers):
            size = self.input_size if layer == 0 else output * self._directions
            shapes = {"weight_ih": (gates, size), "weight_hh": (gates, output)}
            if self.bias:
                shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for direction in range(self._directions):
                names = {kind: weight_name(kind, layer, direction) for kind in shapes}
                for kind, name in names.items():
                    setattr(self, name, Parameter(ops.empty(shapes[kind], **options)))
                self._all_weights.append(list(names.values()))

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, one list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not lie side by side here."""

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _run(self, input, states: tuple[Tensor, ...] | None, weights: dict | None = None):
        """(outputs, final states) from (L, N, I), unbatched or batch-first, or packed sequences.

        weights: what stands for the parameters, by their names.
        """
        if isinstance(input, PackedSequence):
            return self._run_packed(input, states)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        if weights is None:
            self._check_dtype(input)
        batched = input.dim() == 3
        sequence = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            sequence = input.transpose(0, 1)
        self._check_input(sequence)
        states = self._initial_states(sequence, sequence.size(1), states, batched)
        sequence, last = self._run_layers(sequence, states, None, weights)
        if not batched:
            return sequence.squeeze(1), tuple(state.squeeze(1) for state in last)
        return (sequence.transpose(0, 1) if self.batch_first else sequence), last

    def _run_packed(self, packed: PackedSequence, states: tuple[Tensor, ...] | None):
        self._check_dtype(packed.data)
        self._check_input(packed.data)
        sizes = packed.batch_sizes.tolist()
        given = states is not None and packed.sorted_indices is not None
        if given:
            states = tuple(state.index_select(1, packed.sorted_indices) for state in states)
        states = self._initial_states(packed.data, sizes[0], states, True)
        data, last = self._run_layers(packed.data, states, sizes)
        if packed.unsorted_indices is not None:
            last = tuple(state.index_select(1, packed.unsorted_indices) for state in last)
        return packed._replace(data=data), last

    def _run_layers(
        self,
        sequence: Tensor,
        states: tuple[Tensor, ...],
        sizes: list[int] | None,
        weights: dict | None = None,
    ):
        """All layers and directions over (L, N, I), or over packed data where sizes are given."""
        held = self._weights() if weights is None else weights
        own = [
            [
                {kind: held.get(weight_name(kind, layer, direction)) for kind in _KINDS}
                for direction in range(self._directions)
            ]
            for layer in range(self.num_layers)
        ]
        dropout = partial(F.dropout, p=self.dropout, training=self.training)
        return run_layers(
            self.mode, sequence, states, own, sizes, dropout if self.dropout else None
        )

    def _weights(self) -> dict[str, Tensor]:
        """All weights by their names; a parametrized one is no parameter of this module."""
        return {name: getattr(self, name) for names in self._all_weights for name in names}

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        defaults |= {"dropout": 0, "bidirectional": False}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


def weight_name(kind: str, layer: int, direction: int) -> str:
    """What a layer calls a weight of one direction of one of its layers."""
    return f"{kind}_l{layer}" + ("_reverse" if direction else "")


def check_dropout(rate: float, layers: int) -> None:
    """Raises ValueError where `rate` is no chance, warns where it does nothing."""
    number = isinstance(rate, numbers.Number) and not isinstance(rate, bool)
    if not number or not 0 <= rate <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if rate > 0 and layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero "
            f"dropout expects num_layers greater than 1, but got dropout={rate} and "
            f"num_layers={layers}",
        )


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or relu with `nonlinearity="relu"`.

    `forward(input, h0)` returns the outputs (L, N, H * directions) and the last state
    (layers * directions, N, H).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (last,) = self._run(input, None if hx is None else (hx,))
        return output, last


class GRU(RNNBase):
    """The gated recurrent unit; results as those of `RNN`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (last,) = self._run(input, None if hx is None else (hx,))
        return output, last


class LSTM(RNNBase):
    """Long short-term memory: the state is a pair (h, c).

    `forward(input, (h0, c0))` returns the outputs (L, N, H * directions) and the last (h, c),
    each (layers * directions, N, H).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None):
        lower = STATE.autocast
        if lower is None or self.proj_size or isinstance(input, PackedSequence):
            return self._run(input, hx)
        # All layers are one operator of PyTorch's, of those that take the lower precision.
        input = lowered([input])[0]
        hx = None if hx is None else tuple(lowered(hx))
        held = self._weights()
        weights = dict(zip(held, lowered(held.values()), strict=True))
        set_autocast(None)
        try:
            return self._run(input, hx, weights)
        finally:
            set_autocast(lower)


class RNNCellBase(Module):
    """One step of a recurrence: the weights."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        options = {"device": device, "dtype": dtype}
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(ops.empty((gates, input_size), **options))
        self.weight_hh = Parameter(ops.empty((gates, hidden_size), **options))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(ops.empty(gates, **options)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _advance(self, mode: str, input: Tensor, states: tuple[Tensor, ...] | None):
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if states is None:
            shape = (*input.shape[:-1], self.hidden_size)
            states = (input.new_zeros(shape),) * (2 if mode == "LSTM" else 1)
        for state in states:
            if state.dim() not in (1, 2):
                raise ValueError(
                    f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead"
                )
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return advance(mode, input, tuple(states), *weights)


class RNNCell(RNNCellBase):
    """One step of `RNN`: (N, I) and (N, H) to (N, H)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        states = None if hx is None else (hx,)
        return self._advance(f"RNN_{self.nonlinearity.upper()}", input, states)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: (N, I) and a pair of (N, H) to a pair of (N, H)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        return self._advance("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of `GRU`: (N, I) and (N, H) to (N, H)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._advance("GRU", input, None if hx is None else (hx,))[0]
