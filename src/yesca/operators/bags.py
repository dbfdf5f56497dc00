"""Bags of embeddings: rows of a table summed, averaged or maximised by group."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int64
from .kinds import composite

_MODES = ("sum", "mean", "max")


def _embedding_bag(ops: Any, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool,
                   mode: int, sparse: bool, per_sample_weights: Any, include_last_offset: bool,
                   padding_idx: Any) -> tuple[Any, Any, Any, Any]:
    bags = offsets.shape[0] - int(include_last_offset)
    starts = ops.to_dtype(ops.narrow(offsets, 0, 0, bags), int64)
    count, width = indices.shape[0], weight.shape[1]
    bag = ops.sub(ops.searchsorted(starts, ops.arange(count, device=indices.device), right=True),
                  1)
    blocked = -1 if padding_idx is None else padding_idx % max(weight.shape[0], 1)
    rows = ops.embedding(weight, indices, blocked, scale_grad_by_freq)  # (N, D)
    used = ops.ones((count,), dtype=int64, device=indices.device)
    if blocked >= 0:
        used = ops.to_dtype(ops.ne(indices, blocked), int64)
        rows = ops.select_where(ops.unsqueeze(ops.ne(used, 0), 1), rows, 0.0)
    sizes = ops.index_add(ops.zeros((bags,), dtype=int64, device=indices.device), 0, bag, used)
    if per_sample_weights is not None:
        rows = ops.mul(rows, ops.unsqueeze(per_sample_weights, 1))
    zeros = ops.zeros((bags, width), dtype=weight.dtype, device=weight.device)
    if _MODES[mode] != "max":
        made = ops.index_add(zeros, 0, bag, rows)
        if _MODES[mode] == "mean":
            made = ops.div(made, ops.unsqueeze(ops.clamp(sizes, 1), 1))
        return made, bag, sizes, ops.zeros((0,), dtype=int64, device=indices.device)
    if blocked >= 0:
        rows = ops.select_where(ops.unsqueeze(ops.ne(used, 0), 1), rows, float("-inf"))
    made = ops.index_reduce(zeros, 0, bag, rows, "amax", include_self=False)
    made = ops.select_where(ops.unsqueeze(ops.eq(sizes, 0), 1), 0.0, made)
    return made, bag, sizes, ops.zeros((bags, width), dtype=int64, device=indices.device)


composite("embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
          "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
          "Tensor? per_sample_weights=None, bool include_last_offset=False, "
          "int? padding_idx=None) -> (Tensor, Tensor, Tensor, Tensor)", _embedding_bag,
          method=False, doc="Sums (mode 0), means (1) or maxima (2) of rows by bag.")
