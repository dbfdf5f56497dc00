"""Recurrent layers and cells with int8 weights that quantise inputs and states as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...... import functional as ops
from ......_quantized import quantize_per_tensor
from ......_tensor import Tensor
from ......base import absent
from ......base.frames import warn
from ......core.dtypes import float16
from ......nn import functional as F
from ......nn.modules import rnn as floats
from ......nn.modules._recurrence import GATES, State, run_layers
from ......nn.modules.container import ModuleList
from ......nn.modules.module import Module
from ......nn.utils.rnn import PackedSequence
from ...modules import packed_cells
from ...modules.linear import QINT8
from ...modules.packed_cells import PackedCell
from ...modules.packing import PackedLinear
from ...modules.utils import settled_weight, weight_observer

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "PackedParameter", "RNNBase", "RNNCell",
           "RNNCellBase", "apply_permutation", "pack_weight_bias"]

#: The version of the state from which activations use half of the integers that bytes have.
SINCE_REDUCED = 2


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """`tensor.index_select(dim, permutation)`, which takes its place."""
    warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` "
         "instead", FutureWarning)
    return tensor.index_select(dim, permutation)  # type: ignore[no-any-return]


def pack_weight_bias(qweight: Tensor, bias: Tensor | None, dtype: Any) -> PackedLinear:
    """A weight (gates, I) and a bias (gates), packed: quantized, or float32 kept as float16."""
    if (dtype is QINT8) is not qweight.is_quantized:
        raise RuntimeError(f"weights of {dtype} are packed from a quantized tensor for qint8, from "
                           f"one of float32 for float16; got {qweight.dtype}")
    return PackedLinear(qweight, bias)


def _observer_for(mod: Any) -> tuple[Any, Any]:
    """What makes the weights' observer, and its dtype; RuntimeError for one there is not."""
    from .....quantization.qconfig import default_dynamic_qconfig

    make_observer = weight_observer(mod, default_dynamic_qconfig)
    dtype = make_observer().dtype
    if dtype not in (QINT8, float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
    if not mod.bias:
        raise AssertionError("mod.bias must be True")
    return make_observer, dtype


def _drawn(rows: int, columns: int, dtype: Any, scale: float) -> Tensor:
    """A weight of a layer that has got none yet."""
    weight: Tensor = ops.randn(rows, columns)
    return quantize_per_tensor(  # type: ignore[no-any-return]
        weight, scale, 0, QINT8) if dtype is QINT8 else weight


class PackedParameter(Module):
    """The packed weights of one direction of one layer, as an entry `param` of a state."""

    param: PackedCell

    def __init__(self, param: PackedCell) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, *found: Any) -> None:
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *found)


class RNNBase(Module):
    """Layers of recurrences with packed weights; `LSTM` and `GRU` are its kinds.

    Arguments are those of `torch.nn.LSTM`, and `dtype`: `qint8`, or `float16`, which rounds
    weights and quantises nothing. Sequences have a batch: (L, N, I), or (N, L, I).
    """

    _FLOAT_MODULE = floats.RNNBase
    _version = 2

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1,
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, dtype: Any = QINT8) -> None:
        super().__init__()
        if mode not in ("LSTM", "GRU"):
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size, self.hidden_size = input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.dtype = dropout, bidirectional, dtype
        floats.check_dropout(dropout, num_layers)
        self.dropout = float(dropout)
        self.version: int | None = self._version
        self.training = False
        gates = GATES[mode] * hidden_size
        self._set_cells({
            name: _drawn(gates, self._inputs(name), dtype, 0.1) if name.startswith("weight")
            else ops.randn(gates) for names in self._names() for name in names})

    def _inputs(self, name: str) -> int:
        if name.startswith("weight_ih_l0"):
            return self.input_size
        return self.hidden_size * (self._directions if "_ih_" in name else 1)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _names(self) -> Iterator[list[str]]:
        """The names of weights and biases, for each layer and direction."""
        for layer in range(self.num_layers):
            for direction in range(self._directions):
                yield [floats.weight_name(kind, layer, direction)
                       for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def _set_cells(self, held: dict[str, Tensor]) -> None:
        cells = []
        for ih, hh, bias_ih, bias_hh in self._names():
            packed = [pack_weight_bias(held[weight], held[bias], self.dtype)
                      for weight, bias in ((ih, bias_ih), (hh, bias_hh))]
            reduced = self.version is not None and self.version >= SINCE_REDUCED
            cells.append(PackedParameter(PackedCell(packed[0], packed[1], reduced)))
        self._all_weight_values = ModuleList(cells)

    def set_weight_bias(self, weight_bias_dict: dict[str, Tensor]) -> None:
        """Take weights and biases by the names that they have in `torch.nn.LSTM`."""
        self._set_cells(weight_bias_dict)

    def _held(self, kind: str) -> dict[str, Tensor]:
        cells = [entry.param for entry in self._all_weight_values]
        found = {}
        for cell, names in zip(cells, self._names(), strict=True):
            for packed, weight, bias in zip((cell.ih, cell.hh), names[:2], names[2:], strict=True):
                found[weight if kind == "weight" else bias] = getattr(packed, kind)
        return found

    def get_weight(self) -> dict[str, Tensor]:
        """The weights by their names: quantized, or of float32 rounded to float16."""
        return self._held("weight")

    def get_bias(self) -> dict[str, Tensor]:
        """The biases by their names, in float32."""
        return self._held("bias")

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> RNNBase:
        """The layer that takes the place of a float LSTM or GRU with a `qconfig`.

        Raises AssertionError for another module, one without a `qconfig` or without biases,
        RuntimeError for a weight observer of another dtype than `qint8` and `float16`.
        """
        if type(mod) not in (floats.LSTM, floats.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM "
                                 "and nn.GRU")
        make_observer, dtype = _observer_for(mod)
        kind = LSTM if mod.mode == "LSTM" else GRU
        made = kind(mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first,
                    mod.dropout, mod.bidirectional, dtype)
        made._set_cells({
            name: settled_weight(getattr(mod, name), make_observer) if name.startswith("weight")
            else getattr(mod, name) for names in made._names() for name in names})
        return made

    def _run(self, input: Any, states: State | None) -> tuple[Any, State]:
        """(outputs, last states) from a batch of sequences, or from packed ones."""
        packed = isinstance(input, PackedSequence)
        sequence = input.data if packed else input
        batch = int(input.batch_sizes[0]) if packed else \
            sequence.size(0 if self.batch_first else 1)
        if states is not None and packed and input.sorted_indices is not None:
            states = tuple(state.index_select(1, input.sorted_indices) for state in states)
        self._check(sequence, batch, states, 2 if packed else 3)
        if states is None:
            shape = (self.num_layers * self._directions, batch, self.hidden_size)
            states = (sequence.new_zeros(shape),) * (2 if self.mode == "LSTM" else 1)
        if packed:
            data, last = self._run_layers(sequence, states, input.batch_sizes.tolist())
            if input.unsorted_indices is not None:
                last = tuple(state.index_select(1, input.unsorted_indices) for state in last)
            return input._replace(data=data), last
        if self.batch_first:
            sequence = sequence.transpose(0, 1)
        if sequence.size(0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, last = self._run_layers(sequence, states, None)
        return output.transpose(0, 1) if self.batch_first else output, last

    def _run_layers(self, sequence: Tensor, states: State, sizes: list[int] | None
                    ) -> tuple[Tensor, State]:
        cells = [entry.param for entry in self._all_weight_values]
        across = self._directions
        layers = [cells[first:first + across] for first in range(0, len(cells), across)]
        dropped = self.dropout and self.training
        return run_layers(
            self.mode, sequence, tuple(states), layers, sizes,
            (lambda x: F.dropout(x, self.dropout, True)) if dropped else None,
            (packed_cells.walk, packed_cells.walk_packed))

    def _check(self, sequence: Tensor, batch: int, states: State | None, rank: int) -> None:
        if sequence.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {sequence.dim()}")
        if sequence.size(-1) != self.input_size:
            raise RuntimeError("input.size(-1) must be equal to input_size. Expected "
                               f"{self.input_size}, got {sequence.size(-1)}")
        shape = (self.num_layers * self._directions, batch, self.hidden_size)
        names = ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else ("hidden",)
        for name, state in zip(names, () if states is None else states, strict=False):
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("num_layers", 1), ("bias", True), ("batch_first", False),
                              ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, *found: Any) -> None:
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *found)


class LSTM(RNNBase):
    """`torch.nn.LSTM` with int8 weights, for inference; made by `quantize_dynamic`.

    Shapes: input (L, N, I), or (N, L, I) with `batch_first`, or packed sequences, of float32; the
    states (h, c) are each (layers * directions, N, H). Results as those of `torch.nn.LSTM`.

    Raises RuntimeError for other ranks, sizes and dtypes.

    >>> import yesca as torch
    >>> layer = torch.ao.nn.quantized.dynamic.LSTM(10, 20, 2)
    >>> output, (h, c) = layer(torch.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    _FLOAT_MODULE = floats.LSTM

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        return self._run(input, hx)


class GRU(RNNBase):
    """`torch.nn.GRU` with int8 weights, for inference; made by `quantize_dynamic`.

    Shapes and errors are those of `LSTM`, the state is one tensor.

    >>> import yesca as torch
    >>> layer = torch.ao.nn.quantized.dynamic.GRU(10, 20, bidirectional=True)
    >>> output, h = layer(torch.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    _FLOAT_MODULE = floats.GRU

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        output, (last,) = self._run(input, None if hx is None else (hx,))
        return output, last


class RNNCellBase(Module):
    """One step of a recurrence with packed weights; `LSTMCell`, `GRUCell` and `RNNCell`."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    _packed_weight_ih: PackedLinear
    _packed_weight_hh: PackedLinear

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, num_chunks: int = 4,
                 dtype: Any = QINT8) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.bias, self.weight_dtype = bias, dtype
        gates = num_chunks * hidden_size
        for name in ("bias_ih", "bias_hh"):
            if bias:
                setattr(self, name, ops.randn(gates))
            else:
                self.register_parameter(name, None)
        self._pack(_drawn(gates, input_size, dtype, 1.0), _drawn(gates, hidden_size, dtype, 1.0),
                   self.bias_ih, self.bias_hh)

    def _pack(self, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Any, bias_hh: Any) -> None:
        self._packed_weight_ih = pack_weight_bias(weight_ih, bias_ih, self.weight_dtype)
        self._packed_weight_hh = pack_weight_bias(weight_hh, bias_hh, self.weight_dtype)

    def set_weight_bias(self, weight_bias_dict: dict[str, dict[str, Tensor]]) -> None:
        """Take {"weight": {"weight_ih", "weight_hh"}, "bias": {"bias_ih", "bias_hh"}}."""
        weight, bias = weight_bias_dict["weight"], weight_bias_dict["bias"]
        self._pack(weight["weight_ih"], weight["weight_hh"], bias["bias_ih"], bias["bias_hh"])

    def get_weight(self) -> dict[str, Tensor]:
        """The weights by their names: quantized, or of float32 rounded to float16."""
        return {"weight_ih": self._packed_weight_ih.weight,
                "weight_hh": self._packed_weight_hh.weight}

    def get_bias(self) -> dict[str, Tensor | None]:
        """The biases by their names, in float32."""
        return {"bias_ih": self._packed_weight_ih.bias, "bias_hh": self._packed_weight_hh.bias}

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> RNNCellBase:
        """The cell that takes the place of a float cell with a `qconfig`.

        Raises AssertionError for another module, one without a `qconfig` or without biases,
        RuntimeError for a weight observer of another dtype than `qint8` and `float16`.
        """
        kinds: dict[type, Any] = {
            floats.LSTMCell: LSTMCell, floats.GRUCell: GRUCell, floats.RNNCell: RNNCell}
        if type(mod) not in kinds:
            raise AssertionError("nn.quantized.dynamic.RNNCellBase.from_float only works for "
                                 "nn.LSTMCell, nn.GRUCell and nn.RNNCell")
        make_observer, dtype = _observer_for(mod)
        options = {"nonlinearity": mod.nonlinearity} if type(mod) is floats.RNNCell else {}
        made: RNNCellBase = kinds[type(mod)](
            mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype, **options)
        made._pack(*(settled_weight(weight, make_observer)
                     for weight in (mod.weight_ih, mod.weight_hh)), mod.bias_ih, mod.bias_hh)
        return made

    def _advance(self, mode: str, input: Tensor, states: State | None) -> State:
        count = 2 if mode == "LSTM" else 1
        if input.size(1) != self.input_size:
            raise RuntimeError("input has inconsistent input_size: got "
                               f"{input.size(1)}, expected {self.input_size}")
        if states is None:
            states = (input.new_zeros((input.size(0), self.hidden_size)),) * count
        for label, state in zip(("[0]", "[1]") if count > 1 else ("",), states, strict=False):
            if input.size(0) != state.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{label} "
                                   f"batch size {state.size(0)}")
            if state.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{label} has inconsistent hidden_size: got "
                                   f"{state.size(1)}, expected {self.hidden_size}")
        cell = PackedCell(self._packed_weight_ih, self._packed_weight_hh)
        return cell.advance(mode, cell.of_input(input), tuple(states))

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, *found: Any) -> None:
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            setattr(self, name, state_dict.pop(prefix + name))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *found)


class RNNCell(RNNCellBase):
    """`torch.nn.RNNCell` with int8 weights: (N, I) and (N, H) of float32 to (N, H).

    >>> import yesca as torch
    >>> torch.ao.nn.quantized.dynamic.RNNCell(10, 20)(torch.zeros(3, 10)).shape
    torch.Size([3, 20])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True,
                 nonlinearity: str = "tanh", dtype: Any = QINT8) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._advance(mode, input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """`torch.nn.LSTMCell` with int8 weights: (N, I) and a pair of (N, H) to such a pair.

    >>> import yesca as torch
    >>> h, c = torch.ao.nn.quantized.dynamic.LSTMCell(10, 20)(torch.zeros(3, 10))
    >>> c.shape
    torch.Size([3, 20])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, num_chunks=4, **kwargs)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> State:
        return self._advance("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """`torch.nn.GRUCell` with int8 weights: (N, I) and (N, H) of float32 to (N, H).

    >>> import yesca as torch
    >>> torch.ao.nn.quantized.dynamic.GRUCell(10, 20)(torch.zeros(3, 10)).shape
    torch.Size([3, 20])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = QINT8
                 ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._advance("GRU", input, None if hx is None else (hx,))[0]


__getattr__ = absent.names_of(__name__)
