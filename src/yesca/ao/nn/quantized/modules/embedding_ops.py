"""Embeddings whose weights are bytes, with a scale and a zero point for each row."""

from __future__ import annotations

from typing import Any

from ..... import functional as ops
from ....._quantized import Quantizer, wrap
from ....._tensor import Tensor
from .....base import absent
from .....core import layouts
from .....core.dtypes import float32, uint8
from .....nn.modules import sparse as floats
from .....nn.modules.module import Module
from .packed_embeddings import QUINT4X2, QUINT8, PackedEmbedding
from .utils import settled_weight, weight_observer

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]

_FLOAT_ZERO_POINTS = layouts.per_channel_affine_float_qparams


def _check_dtype(dtype: Any) -> None:
    if dtype is QUINT4X2:
        raise NotImplementedError("PyTorch quantizes embeddings to torch.quint4x2, yesca does not "
                                  "have that yet; torch.quint8 is there")
    if dtype is not QUINT8:
        raise NotImplementedError("Unsupported dtype on quantized embedding! Supports quint8 and "
                                  f"quint4x2. Got dtype: {dtype}")


def _empty_weight(rows: int, columns: int) -> Tensor:
    """The weight of a layer that has got none yet: zeros, quantized with scales of 1."""
    made = Quantizer(QUINT8, _FLOAT_ZERO_POINTS, ops.ones(rows, dtype=float32),
                     ops.zeros(rows, dtype=float32), 0)
    return wrap(ops.zeros((rows, columns), dtype=uint8), made)


class EmbeddingPackedParams(Module):
    """The weight of a quantized embedding; `dtype` is `quint8`.

    Its state has the entries `dtype` and `_packed_weight`, a quantized tensor.
    """

    _version = 1
    _packed_weight: PackedEmbedding

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = QUINT8) -> None:
        super().__init__()
        _check_dtype(dtype)
        self.dtype = dtype
        self.set_weight(_empty_weight(num_embeddings, embedding_dim))

    def set_weight(self, weight: Tensor) -> None:
        """Pack a weight (V, D) of `quint8`, quantized by row.

        Raises NotImplementedError for one that is not quantized, RuntimeError for other forms.
        """
        self._packed_weight = PackedEmbedding(weight)

    def _weight(self) -> Tensor:
        return self._packed_weight.unpack()

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, *found: Any) -> None:
        dtype = state_dict.pop(prefix + "dtype")
        _check_dtype(dtype)
        self.dtype = dtype
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *found)

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(Module):
    """Rows of a table of bytes; made by `torch.ao.quantization.quantize_dynamic`.

    Shapes: indices (N) or (N, L) of int32 or int64, results (N, D) or (N, L, D) of float32.

    Args:
        padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: of no effect in inference.
        _weight: a weight (V, D) of `quint8`, quantized by row; by default zeros.
        dtype: `quint8`.

    Raises RuntimeError for indices of another dtype or rank, or out of bounds.

    >>> import yesca as torch
    >>> layer = torch.ao.nn.quantized.Embedding(num_embeddings=10, embedding_dim=12)
    >>> layer(torch.tensor([9, 6, 5, 7])).shape
    torch.Size([4, 12])
    """

    _version = 1
    _FLOAT_MODULE: type = floats.Embedding
    _packed_params: EmbeddingPackedParams

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, sparse: bool = False,
                 _weight: Tensor | None = None, dtype: Any = QUINT8) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            expected = [num_embeddings, embedding_dim]
            if list(_weight.shape) != expected:
                raise AssertionError("Shape of weight does not match num_embeddings and "
                                     f"embedding_dim: expected {expected}, got "
                                     f"{list(_weight.shape)}")
            self._packed_params.set_weight(_weight)

    def forward(self, indices: Tensor) -> Tensor:
        return self._packed_params._packed_weight.embedding(indices)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def extra_repr(self) -> str:
        return (f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
                f"dtype={self._packed_params.dtype}, qscheme={self.weight().qscheme()}")

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def set_weight(self, w: Tensor) -> None:
        """Take a weight (V, D) of `quint8`, quantized by row."""
        self._packed_params.set_weight(w)

    def weight(self) -> Tensor:
        """The weight (V, D), of `quint8`."""
        return self._packed_params._weight()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Embedding:
        """The layer that takes the place of a float layer with a `qconfig`.

        Raises AssertionError for another module, one without a `qconfig`, or one whose weight's
        observer finds no float zero points for each row; NotImplementedError for `quint4x2`.
        """
        from ....quantization.qconfig import float_qparams_weight_only_qconfig

        kind = cls._FLOAT_MODULE
        if type(mod) is not kind:
            raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {kind.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError(f"{kind.__name__} input float module must have qconfig defined")
        make_observer = weight_observer(mod, float_qparams_weight_only_qconfig)
        observer = make_observer()
        if getattr(observer, "qscheme", None) is not _FLOAT_ZERO_POINTS:
            raise AssertionError(f"{kind.__name__} quantization is only supported with "
                                 "float_qparams_weight_only_qconfig.")
        if observer.dtype not in (QUINT8, QUINT4X2):
            raise AssertionError(f"The only supported dtype for nnq.{cls.__name__} is torch.quint8 "
                                 f"and torch.quint4x2, got {observer.dtype}")
        made = cls._like(mod, observer.dtype)
        made.set_weight(settled_weight(mod.weight, make_observer))
        return made

    @classmethod
    def _like(cls, mod: Any, dtype: Any) -> Embedding:
        return cls(mod.num_embeddings, mod.embedding_dim, dtype=dtype)


class EmbeddingBag(Embedding):
    """Sums of bags of rows of a table of bytes; made by `quantize_dynamic`.

    Shapes: indices (B, N), or (N) with offsets (B) or, with `include_last_offset`, (B + 1);
    results (B, D) of float32. Bags are summed whatever `mode` says, as PyTorch's are.

    Args:
        mode, include_last_offset: as those of `torch.nn.EmbeddingBag`.
        max_norm, norm_type, scale_grad_by_freq, sparse: of no effect in inference.
        _weight, dtype: as those of `Embedding`.

    Raises RuntimeError for indices of another dtype or rank, or out of bounds, and for offsets
    that lack or that are too many.

    >>> import yesca as torch
    >>> layer = torch.ao.nn.quantized.EmbeddingBag(num_embeddings=10, embedding_dim=12)
    >>> layer(torch.tensor([9, 6, 5, 7]), torch.tensor([0, 3])).shape
    torch.Size([2, 12])
    """

    _FLOAT_MODULE = floats.EmbeddingBag

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "sum",
                 sparse: bool = False, _weight: Tensor | None = None,
                 include_last_offset: bool = False, dtype: Any = QUINT8) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode = mode
        self.pruned_weights = False
        self.include_last_offset = include_last_offset

    def forward(self, indices: Tensor, offsets: Tensor | None = None,  # type: ignore[override]
                per_sample_weights: Tensor | None = None,
                compressed_indices_mapping: Tensor | None = None) -> Tensor:
        return self._packed_params._packed_weight.bags(
            indices, offsets, per_sample_weights, self.include_last_offset)

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    @classmethod
    def _like(cls, mod: Any, dtype: Any) -> EmbeddingBag:
        return cls(mod.num_embeddings, mod.embedding_dim, mode=mod.mode,
                   include_last_offset=mod.include_last_offset, dtype=dtype)


__getattr__ = absent.names_of(__name__)
