"""Which quantized layer takes the place of a float layer."""

from __future__ import annotations

from typing import Any

from ...base import absent
from ...nn.modules import linear, rnn, sparse
from ..nn.quantized.dynamic.modules.linear import Linear

__all__ = ["DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "get_default_dynamic_quant_module_mappings"]


class Missing:
    """What stands for a quantized layer that there is not: whoever asks for it is told so."""

    def __init__(self, name: str) -> None:
        self.name = name

    def from_float(self, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError(
            f"PyTorch has torch.ao.nn.quantized.{self.name}, yesca does not have it yet: pass "
            "qconfig_spec={torch.nn.Linear} to quantize_dynamic, which leaves "
            f"{type(mod).__name__} as it is")


DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[type, Any] = {
    linear.Linear: Linear,
    linear.NonDynamicallyQuantizableLinear: Linear,
    **{cls: Missing(f"dynamic.{cls.__name__}") for cls in (
        rnn.LSTM, rnn.GRU, rnn.LSTMCell, rnn.RNNCell, rnn.GRUCell)},
    **{cls: Missing(cls.__name__) for cls in (sparse.EmbeddingBag, sparse.Embedding)},
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
