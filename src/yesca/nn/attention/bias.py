"""Masks of attention that say what they are, and are written out only where they have to be."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base import absent
from ...base.frames import warn
from ...core.dtypes import bool_
from .. import functional as F

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins, or ends, where there are more keys."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask (queries, keys) for `scaled_dot_product_attention`, as `attn_mask`.

    `UPPER_LEFT`: query i sees keys up to i, as with `is_causal=True`. `LOWER_RIGHT`: the last
    query sees all keys, the one before all but one, and so on.

    >>> import yesca as torch
    >>> torch.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        assert isinstance(variant, CausalVariant), (
            f"variant must be a CausalVariant, got {type(variant).__name__}"
        )
        super().__init__()
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!"
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask itself: True where a query sees a key."""
        shift = 0
        if self.variant == CausalVariant.LOWER_RIGHT:
            shift = self.seq_len_kv - self.seq_len_q
        device = "cpu" if device is None else device
        ones = ops.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=bool_)
        return ops.tril(ones, diagonal=shift)

    @staticmethod
    def _dispatch(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: CausalBias,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        # The diagonal from the upper left is known to the operator, which needs no mask for it.
        known = attn_mask.variant == CausalVariant.UPPER_LEFT
        known = known or attn_mask.seq_len_q == attn_mask.seq_len_kv
        mask = None if known else attn_mask._materialize(query.device)
        return F.scaled_dot_product_attention(
            query, key, value, mask, dropout_p, known, scale=scale, enable_gqa=enable_gqa
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """The mask of so many queries and keys in which query i sees keys 0 to i."""
    assert len(size) == 2, "causal_upper_left only supports 2D tensors"
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask of so many queries and keys in which the last query sees all keys.

    Warns where there are more queries than keys: the first then see none.
    """
    assert len(size) == 2, "causal_lower_right only supports 2D tensors"
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)


__getattr__ = absent.names_of(__name__)
