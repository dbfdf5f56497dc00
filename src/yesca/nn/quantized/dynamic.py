"""`torch.nn.quantized.dynamic`: the old name of `torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from ...ao.nn.quantized.dynamic.modules.linear import Linear
from ...ao.nn.quantized.dynamic.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell
from ...base import absent

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]

__getattr__ = absent.names_of(__name__)
