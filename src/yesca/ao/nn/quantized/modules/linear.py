"""`LinearPackedParams`: the module that holds a quantized linear layer's weights."""

from __future__ import annotations

from typing import Any

from ..... import functional as ops
from ....._quantized import Quantizer, wrap
from ....._tensor import Tensor
from .....base import absent
from .....core import layouts
from .....core.dtypes import NAMED, float16, float32, int8
from .....nn.modules.module import Module
from .packing import PackedLinear

__all__ = ["LinearPackedParams"]

QINT8 = NAMED["qint8"]


def empty_weight(rows: int, columns: int, dtype: Any) -> Tensor:
    """The weight of a layer that has got none yet: zeros, quantized with a scale of 1.

    Raises RuntimeError for another dtype than `qint8` and `float16`.
    """
    if dtype is QINT8:
        quantizer = Quantizer(QINT8, layouts.per_tensor_affine, 1.0, 0)
        return wrap(ops.zeros((rows, columns), dtype=int8), quantizer)
    if dtype is float16:
        return ops.zeros((rows, columns), dtype=float32)  # type: ignore[no-any-return]
    raise RuntimeError("Unsupported dtype specified for quantized Linear!")


class LinearPackedParams(Module):
    """Weight and bias of a quantized linear layer; `dtype` is `qint8` or `float16`.

    Its state has the entries `dtype` and `_packed_params`, a tuple (weight, bias).
    """

    _version = 3
    _packed_params: PackedLinear

    def __init__(self, dtype: Any = QINT8) -> None:
        super().__init__()
        self.dtype = dtype
        self.set_weight_bias(empty_weight(1, 1, dtype), None)

    def set_weight_bias(self, weight: Tensor, bias: Tensor | None) -> None:
        """Pack a weight (out, in) and a bias (out) or None.

        Raises NotImplementedError for a float weight where `dtype` is `qint8`.
        """
        if self.dtype is QINT8 and not weight.is_quantized:
            raise NotImplementedError(
                "Could not run 'quantized::linear_prepack' with arguments from the 'CPU' backend. "
                "The weight must be quantized: torch.quantize_per_tensor(weight, scale, 0, "
                "torch.qint8)")
        self._packed_params = PackedLinear(weight, bias)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self._packed_params.unpack()

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, *found: Any) -> None:
        # What the state holds tells its version, also where a program has copied its entries.
        self.dtype = state_dict.pop(prefix + "dtype", QINT8)
        parts = state_dict.pop(prefix + "_packed_params", None)
        if parts is None:  # before version 3
            parts = state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias")
        self.set_weight_bias(*parts)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *found)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


__getattr__ = absent.names_of(__name__)
