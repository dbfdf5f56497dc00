"""The layers of `torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from ......_lazy import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__, {"linear": "Linear", "rnn": "GRU GRUCell LSTM LSTMCell RNNCell"}, ("linear", "rnn"))
