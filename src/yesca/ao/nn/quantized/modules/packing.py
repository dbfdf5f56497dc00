"""Weights of a linear layer as its kernel reads them, and the product with them."""

from __future__ import annotations

from typing import Any

from ..... import functional as ops
from ....._quantized import QuantizedTensor, plain
from ....._tensor import Tensor
from .....autograd.modes import no_grad
from .....core.dtypes import NAMED, SCALAR_NAMES, float16, float32, float64, int8, int32
from .....dispatch.state import STATE, set_autocast
from .....targets.products_int8 import DEPTH, LANES
from .script_objects import ScriptObject

HALF_MOST = 65504.0
QINT8 = NAMED["qint8"]
FULL, REDUCED = 255, 127  # the largest integer of an activation


class PackedLinear(ScriptObject):
    """Weight (out, in) and bias (out) or None of a linear layer, packed.

    The weight is a tensor of `qint8`, quantized by tensor or by row; or one of float32, which is
    rounded to float16.
    """

    on_disk = "__torch__.torch.classes.quantized.LinearPackedParamsBase"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        if weight.dim() != 2:
            raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be "
                               f"2-dimensional, got {weight.dim()}")
        if bias is not None and tuple(bias.shape) != tuple(weight.shape[:1]):
            raise RuntimeError(f"bias should have {weight.shape[0]} elements: "
                               f"{list(bias.shape)}")
        self.bias = bias
        with no_grad():
            if isinstance(weight, QuantizedTensor):
                if bias is not None and bias.dtype is not float32:
                    raise RuntimeError("expected scalar type Float but found "
                                       f"{SCALAR_NAMES[bias.dtype]}; the bias is kept in float32")
                self._pack(weight)
            elif weight.dtype is float32:
                self.bias = None if bias is None else bias.to(float32)
                self.weight = ops.clamp(weight.detach(), -HALF_MOST, HALF_MOST).to(float16).to(
                    float32)
                self._operands = None
            else:
                raise RuntimeError("expected scalar type Float but found "
                                   f"{SCALAR_NAMES[weight.dtype]}")

    def _pack(self, weight: QuantizedTensor) -> None:
        """Set the operands of `_quantized_linear`; None where zero points are not all 0."""
        made = weight._quantizer
        if made.dtype is not QINT8:
            raise RuntimeError(f"expected scalar type QInt8 but found {SCALAR_NAMES[made.dtype]}")
        if made.axis > 0:
            raise RuntimeError("[quantized] weights are quantized by tensor or by row (axis 0), "
                               f"not along axis {made.axis}")
        self.weight = weight.detach()
        rows, inputs = weight.shape
        scale, zero = (ops.expand(ops.flatten(ops.as_tensor(value)), (rows,))
                       for value in (made.scale, made.zero_point))
        if bool((zero != 0).any()):
            self._operands = None
            return
        above, beyond = -rows % LANES, -inputs % DEPTH
        integers = ops.constant_pad_nd(plain(weight), (0, beyond, 0, above))
        panels = ops.reshape(integers, ((rows + above) // LANES, LANES, (inputs + beyond) // DEPTH,
                                        DEPTH))
        sums = ops.sum(integers, 1, dtype=int32)
        scales = ops.constant_pad_nd(scale.to(float32), (0, above))
        extras = [ops.reshape(value.view(int8), (-1, 1, LANES, DEPTH)) for value in (sums, scales)]
        self._operands: Any = (
            ops.cat([ops.permute(panels, (0, 2, 1, 3)), *extras], 1), self.bias, inputs, rows,
            REDUCED)

    def product(self, x: Tensor, reduce_range: bool = True) -> Tensor:
        """x @ weight.T + bias, x (*, in) of float32 quantised by the range of all its elements."""
        top = REDUCED if reduce_range else FULL
        if self._operands is not None:
            *operands, _ = self._operands
            return ops._quantized_linear(x, *operands, top)  # type: ignore[no-any-return]
        lower = STATE.autocast
        set_autocast(None)  # to autocast, a layer is one operator that is in none of its lists
        try:
            return self._with_zero_points(x, top) if isinstance(self.weight, QuantizedTensor) \
                else ops.linear(x, self.weight, self.bias)
        finally:
            set_autocast(lower)

    def _with_zero_points(self, x: Tensor, top: int) -> Tensor:
        """The product where weights have zero points: integers in float64, which holds the sums."""
        made = self.weight._quantizer
        scale, zero = ops._affine_range(x.detach(), 0, top)
        bytes_ = ops._quantize_affine(x.detach(), scale, zero, 0, FULL, True)
        factors, zeros = made.along(2)
        left = bytes_.to(float64) - zero
        right = plain(self.weight).to(float64) - zeros
        factors = ops.reshape(ops.as_tensor(factors).to(float32), (-1,))
        found = ops.matmul(left, right.t()).to(float32) * (scale.to(float32) * factors)
        return found if self.bias is None else found + self.bias  # type: ignore[no-any-return]

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """(weight, bias)."""
        return self.weight, self.bias

    def parts(self) -> tuple[Any, ...]:
        """What a file holds of it."""
        return self.unpack()

    def set_parts(self, parts: Any) -> None:
        """Become what `parts` tells."""
        self.__init__(*parts)  # type: ignore[misc]
