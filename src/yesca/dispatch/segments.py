"""Folds of parts of different lengths along a dimension: segment_reduce."""

from __future__ import annotations

from typing import Any

from ..base.naming import public_module
from ..core.dtypes import FLOATING, INTEGRAL, SCALAR_NAMES, int64
from ..core.views import wrap_dim
from .call import OPERATORS as ops

#: Name of a fold -> its own name, and what a segment without elements gives.
_FOLDS = {"sum": ("sum", 0.0), "mean": ("mean", 0.0), "prod": ("prod", 1.0),
          "max": ("amax", float("-inf")), "amax": ("amax", float("-inf")),
          "min": ("amin", float("inf")), "amin": ("amin", float("inf"))}


def _check(data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int) -> None:
    if reduce not in _FOLDS:
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got "
                           f"{reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    name, table = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    if table is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if data.dtype.category != FLOATING:
        raise NotImplementedError(f'"_segment_reduce_cpu" not implemented for '
                                  f"'{SCALAR_NAMES[data.dtype]}'")
    if axis != table.dim() - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} "
                           f"but got {axis}.")
    if table.dtype.category != INTEGRAL:
        raise NotImplementedError(f'"_segment_reduce_{name}_cpu_kernel1" not implemented for '
                                  f"'{SCALAR_NAMES[table.dtype]}'")
    if tuple(table.shape[:axis]) != tuple(data.shape[:axis]):
        raise RuntimeError(f"segment_reduce(): Expected {name} and data to be of the same sizes "
                           f"before axis, but got {list(table.shape)} and {list(data.shape)}.")


def _check_lengths(lengths: Any, size: int) -> None:
    if lengths.numel() and bool(ops.any(ops.lt(lengths, 0))):
        raise RuntimeError("lengths contains negative value!")
    if bool(ops.any(ops.ne(ops.sum(lengths, -1), size))):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to "
                           "data.size(lengths.dim()-1) when !unsafe.")


def _bounds(lengths: Any, offsets: Any) -> Any:
    """Where segments begin and end: (..., n + 1)."""
    if offsets is not None:
        return ops.to_dtype(offsets, int64)
    ends = ops.cumsum(ops.to_dtype(lengths, int64), -1)
    first = ops.zeros((*lengths.shape[:-1], 1), dtype=int64, device=lengths.device)
    return ops.cat([first, ends], -1)


def _places(bounds: Any, size: int, rows: int) -> Any:
    """The row of the folds that each element goes to: (rows * size).

    A row has one place before its segments and one beyond them, for what is in none.
    """
    count = bounds.shape[-1] + 1
    along = ops.arange(size, device=bounds.device)
    along = ops.contiguous(ops.expand(along, (rows, size)))
    found = ops.searchsorted(ops.contiguous(ops.reshape(bounds, (rows, -1))), along, right=True)
    starts = ops.mul(ops.unsqueeze(ops.arange(rows, device=bounds.device), 1), count)
    return ops.reshape(ops.add(found, starts), (-1,))


def segment_reduce(data: Any, reduce: str, *, lengths: Any = None, indices: Any = None,
                   offsets: Any = None, axis: int = 0, unsafe: bool = False, initial: Any = None
                   ) -> Any:
    """A fold of each segment of a dimension.

    Args:
        data: a floating tensor.
        reduce: `"sum"`, `"mean"`, `"prod"`, `"max"` or `"min"`.
        lengths: (*data.shape[:axis], n), how long the n segments are, one after the other.
        offsets: (*data.shape[:axis], n + 1), where they begin and end, instead.
        unsafe: do not check that lengths sum to the size of the dimension.
        initial: what folds start with, and what segments without elements give.

    Raises RuntimeError for lengths that do not fit, NotImplementedError for other dtypes.

    >>> import yesca as torch
    >>> torch.segment_reduce(torch.arange(5.0), "max", lengths=torch.tensor([2, 3]))
    tensor([1., 4.])
    """
    axis = wrap_dim(axis, data.dim())
    _check(data, reduce, lengths, indices, offsets, axis)
    if offsets is None and not unsafe:
        _check_lengths(lengths, data.shape[axis])
    fold, empty = _FOLDS[reduce]
    bounds = _bounds(lengths, offsets)
    outer, inner = tuple(data.shape[:axis]), tuple(data.shape[axis + 1:])
    rows, size, count = bounds.numel() // bounds.shape[-1], data.shape[axis], bounds.shape[-1] + 1
    extreme = fold in ("amax", "amin")
    start = empty if initial is None or extreme else initial
    target = ops.full((rows * count, *inner), start, dtype=data.dtype, device=data.device)
    source = ops.reshape(data, (rows * size, *inner))
    places = _places(bounds, size, rows)
    if fold in ("sum", "mean"):
        made = ops.index_add(target, 0, places, source)
    else:
        made = ops.index_reduce(target, 0, places, source, fold)
    if extreme and initial is not None:  # an element that equals it has the whole gradient
        made = ops.where(ops.lt(made, initial) if fold == "amax" else ops.gt(made, initial),
                         initial, made)
    made = ops.narrow(ops.reshape(made, (*outer, count, *inner)), axis, 1, count - 2)
    if fold != "mean":
        return ops.contiguous(made)
    many = ops.reshape(ops.diff(bounds), (*outer, count - 2, *(1,) * len(inner)))
    if initial is not None:
        many = ops.clamp(many, min=1)  # 0 / 0 is what an empty segment gives otherwise
    return ops.div(made, many)


segment_reduce.__module__ = public_module("torch")
FUNCTIONS = {"segment_reduce": segment_reduce}
