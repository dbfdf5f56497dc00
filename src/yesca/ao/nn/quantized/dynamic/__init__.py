"""`torch.ao.nn.quantized.dynamic`: layers that quantise their input as it comes."""

from __future__ import annotations

from ....._lazy import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__, {"modules": "GRU GRUCell LSTM LSTMCell Linear RNNCell"})
