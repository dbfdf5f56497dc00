"""A linear layer with int8 weights that quantises its input as it comes."""

from __future__ import annotations

from typing import Any

from ...... import functional as ops
from ......_tensor import Tensor
from ......base import absent
from ......core.dtypes import float16, float32
from ......nn.modules import linear as floats
from ......nn.modules.module import Module
from ...modules.linear import QINT8, LinearPackedParams, empty_weight
from ...modules.utils import settled_weight, weight_observer

__all__ = ["Linear"]

#: The version of the state from which activations use half of the integers that bytes have.
SINCE_REDUCED = 4
_product = ops._quantized_linear


class Linear(Module):
    """`y = x @ weight.T + bias`, the weight held as int8, x quantised by the range of its elements.

    Made by `torch.ao.quantization.quantize_dynamic`, or by `from_float`. For inference: nothing
    flows back through it.

    Shapes: input (..., in_features) of float32 with at least 2 dimensions, output
    (..., out_features).

    Args:
        bias_: whether there is a bias.
        dtype: `qint8`, or `float16`: then weights are rounded to that and nothing is quantised.

    >>> import yesca as torch
    >>> layer = torch.ao.nn.quantized.dynamic.Linear(20, 30)
    >>> layer.weight().dtype
    torch.qint8
    >>> layer(torch.zeros(128, 20)).shape
    torch.Size([128, 30])
    """

    _version = 4
    _FLOAT_MODULE = floats.Linear
    _packed_params: LinearPackedParams

    def __init__(self, in_features: int, out_features: int, bias_: bool = True,
                 dtype: Any = QINT8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        weight = empty_weight(out_features, in_features, dtype)
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(
            weight, ops.zeros(out_features, dtype=float32) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0
        self.version: int | None = self._version

    def forward(self, x: Tensor) -> Tensor:
        # Entries of dictionaries are found sooner than attributes of a class with `__getattr__`.
        own = self.__dict__
        packed = own["_modules"]["_packed_params"]._packed_params
        operands = packed._operands
        if operands is not None and own["version"] == SINCE_REDUCED:
            weight, bias, inputs, outputs, top = operands  # a call with `*operands` costs more
            return _product(x, weight, bias, inputs, outputs, top)  # type: ignore[no-any-return]
        reduced = self.version is not None and self.version >= SINCE_REDUCED
        return packed.product(x, reduced)  # type: ignore[no-any-return, operator]

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        dtype = self._packed_params.dtype
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={dtype}"
        return f"{text}, qscheme={self.weight().qscheme()}" if dtype is QINT8 else text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def weight(self) -> Tensor:
        """The weight (out_features, in_features): quantized, or float32 rounded to float16."""
        return self._packed_params._weight_bias()[0]

    def bias(self) -> Tensor | None:
        """The bias (out_features), in float32."""
        return self._packed_params._weight_bias()[1]

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Take a quantized weight (out_features, in_features) and a bias, or None."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """The layer that takes the place of a float layer with a `qconfig`.

        Raises AssertionError for another module or one without it, RuntimeError for a weight
        observer of another dtype than `qint8` and `float16`.
        """
        from .....quantization.qconfig import default_dynamic_qconfig

        known = (floats.Linear, floats.NonDynamicallyQuantizableLinear)
        if type(mod) not in known:
            raise AssertionError("nn.quantized.dynamic.Linear.from_float only works for one of"
                                 f"{[one.__name__ for one in known]}, got {type(mod)}; where it "
                                 "is parametrized, nn.utils.parametrize.remove_parametrizations "
                                 "settles its weight")
        make_observer = weight_observer(mod, default_dynamic_qconfig)
        dtype = make_observer().dtype
        if dtype not in (QINT8, float16):
            raise RuntimeError("The only supported dtypes for dynamic quantized linear are qint8 "
                               f"and float16 got: {dtype}")
        made = cls(mod.in_features, mod.out_features, dtype=dtype)
        made.set_weight_bias(settled_weight(mod.weight, make_observer), mod.bias)
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = ops.tensor(self.scale)
        destination[prefix + "zero_point"] = ops.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, *found: Any) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        whole = prefix + "_packed_params._packed_params" in state_dict
        self.version = local_metadata.get("version", self._version if whole else None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *found)


__getattr__ = absent.names_of(__name__)
