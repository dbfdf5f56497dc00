"""Which quantized layer takes the place of a float layer."""

from __future__ import annotations

from typing import Any

from ...base import absent
from ...nn.modules import linear, rnn, sparse
from ..nn.quantized.dynamic.modules import rnn as recurrent
from ..nn.quantized.dynamic.modules.linear import Linear
from ..nn.quantized.modules.embedding_ops import Embedding, EmbeddingBag

__all__ = ["DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "get_default_dynamic_quant_module_mappings"]


DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[type, Any] = {
    linear.Linear: Linear,
    linear.NonDynamicallyQuantizableLinear: Linear,
    rnn.LSTM: recurrent.LSTM,
    rnn.GRU: recurrent.GRU,
    rnn.LSTMCell: recurrent.LSTMCell,
    rnn.RNNCell: recurrent.RNNCell,
    rnn.GRUCell: recurrent.GRUCell,
    sparse.EmbeddingBag: EmbeddingBag,
    sparse.Embedding: Embedding,
}


def get_default_dynamic_quant_module_mappings() -> dict[type, Any]:
    """A copy of the layers that `quantize_dynamic` puts in the place of others.

    >>> import yesca as torch
    >>> found = torch.ao.quantization.get_default_dynamic_quant_module_mappings()
    >>> found[torch.nn.Linear] is torch.ao.nn.quantized.dynamic.Linear
    True
    """
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


__getattr__ = absent.names_of(__name__)
