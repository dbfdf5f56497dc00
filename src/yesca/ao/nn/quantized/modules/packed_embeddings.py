"""The weight of an embedding as bytes, and rows of it."""

from __future__ import annotations

from typing import Any

from ..... import functional as ops
from ....._quantized import Quantizer, QuantizedTensor, plain, refusal, wrap
from ....._tensor import Tensor
from .....autograd.modes import no_grad
from .....core import layouts
from .....core.dtypes import NAMED, SCALAR_NAMES, float32, int32, int64
from .script_objects import ScriptObject

QUINT8, QUINT4X2 = NAMED["quint8"], NAMED["quint4x2"]
VERSION = 1


class PackedEmbedding(ScriptObject):
    """The weight (V, D) of an embedding, of `quint8`, with a scale and a shift for each row.

    A row is bytes * scale + shift, the shift being -zero point * scale.
    """

    on_disk = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"

    def __init__(self, weight: Tensor) -> None:
        if not isinstance(weight, QuantizedTensor):
            raise refusal("embedding_bag_prepack", "CPU", "The weight must be quantized: "
                          "torch.quantize_per_channel(weight, scales, zero_points, 0, "
                          "torch.quint8)")
        made = weight._quantizer
        if made.dtype is not QUINT8:
            raise RuntimeError("qembedding_bag_prepack supports torch.quint8, got "
                               f"{SCALAR_NAMES[made.dtype]}")
        if weight.dim() != 2 or made.axis != 0:
            raise RuntimeError("qembedding_bag_prepack takes weights (V, D) that are quantized by "
                               f"row (axis 0), got {list(weight.shape)} of axis {made.axis}")
        with no_grad():
            self.bytes = ops.clone(plain(weight))
            self.scale = made.scale.to(float32)
            self.shift = -(made.zero_point.to(float32) * self.scale)

    def unpack(self) -> Tensor:
        """The weight; its zero points are found from the shifts."""
        scheme = layouts.per_channel_affine_float_qparams
        zero_points = -(self.shift / self.scale)
        return wrap(self.bytes, Quantizer(QUINT8, scheme, self.scale, zero_points, 0))

    def rows(self, indices: Tensor) -> Tensor:
        """The rows (N, D) in float32 that indices (N) of int32 or int64 ask for."""
        if indices.dtype not in (int32, int64):
            raise RuntimeError("Expect 32 or 64 bit indices, but found "
                               f"{SCALAR_NAMES[indices.dtype]} instead.")
        try:
            found, scale, shift = (ops.index_select(held, 0, indices)
                                   for held in (self.bytes, self.scale, self.shift))
        except IndexError:
            raise self._out_of_bounds(indices) from None
        return ops._fused_scale(  # type: ignore[no-any-return]
            found, scale.unsqueeze(1), shift.unsqueeze(1))

    def _out_of_bounds(self, indices: Tensor) -> RuntimeError:
        count = self.bytes.size(0)
        place, value = next((k, v) for k, v in enumerate(indices.tolist()) if not 0 <= v < count)
        return RuntimeError(f"Index {place} is out of bounds: {value}, range 0 to {count}")

    def embedding(self, indices: Tensor) -> Tensor:
        """The rows of indices (*), of one or two dimensions, as (*, D)."""
        if indices.dim() not in (1, 2):
            raise RuntimeError("qembedding/qembedding_bag operator supports 1 or 2d indices, got "
                               f"{indices.dim()}")
        made = self.rows(ops.flatten(indices))
        return made if indices.dim() == 1 else made.view(*indices.shape, -1)

    def bags(self, indices: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None,
             include_last_offset: bool) -> Tensor:
        """Sums of rows (B, D): of indices (B, N), or of (N) with where each bag begins."""
        if indices.dim() == 2:
            if offsets is not None:
                raise RuntimeError(
                    "embedding_bag_byte operator: input is 2D, then offsets has to be None, as "
                    "input is treated is a mini-batch of fixed length sequences.")
            count, length = indices.shape
            offsets, include_last_offset = ops.arange(count) * length, False
        elif indices.dim() != 1:
            raise RuntimeError("qembedding/qembedding_bag operator supports 1 or 2d indices, got "
                               f"{indices.dim()}")
        elif offsets is None:
            raise RuntimeError("embedding_bag_byte expects offsets to be set for 1D indices.")
        if per_sample_weights is not None:
            if per_sample_weights.dtype is not float32:
                raise RuntimeError("expected scalar type Float but found "
                                   f"{SCALAR_NAMES[per_sample_weights.dtype]}")
            if per_sample_weights.numel() != indices.numel():
                raise RuntimeError(f"per_sample_weights has {per_sample_weights.numel()} elements "
                                   f"for {indices.numel()} indices")
            per_sample_weights = ops.flatten(per_sample_weights)
        rows = self.rows(ops.flatten(indices))
        offsets = offsets.to(int64)
        first = int(offsets[0]) if offsets.numel() else 0
        if first > 0:  # what lies before the first bag is in none
            rows, offsets = rows[first:], offsets - first
            per_sample_weights = None if per_sample_weights is None else per_sample_weights[first:]
        made = ops.embedding_bag(rows, ops.arange(rows.size(0)), offsets, False, 0, False,
                                 per_sample_weights, include_last_offset, None)
        return made[0]  # type: ignore[no-any-return]

    def parts(self) -> tuple[Any, ...]:
        """(version, tensors, numbers, [bits]), as a file holds them."""
        return VERSION, [self.unpack()], [], [8]

    def set_parts(self, parts: Any) -> None:
        """Become what `parts` tells."""
        _, (weight,), _, (bits,) = parts
        if bits != 8:
            raise NotImplementedError(f"the file holds an embedding with weights of {bits} bits; "
                                      "those of 8 bits, torch.quint8, are there")
        self.__init__(weight)  # type: ignore[misc]
