"""Indices to a batch: one fetcher for maps, one for streams."""

from __future__ import annotations

from typing import Any

from .. import _engine
from ..dataset import Subset, TensorDataset
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map


class _BaseDatasetFetcher:
    """`fetch(index)` gives what the loader gives; with `auto_collation` the index is a list."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any,
                 drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch, or the sample, of an index."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any,
                 drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The next batch, or sample; raises StopIteration at the end of the stream."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = []
        for _ in possibly_batched_index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of a list of indices, or the sample of one."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.collate_fn is default_collate:
            batch = _rows_at_once(self.dataset, possibly_batched_index)
            if batch is not None:
                return batch
        # A dataset may say None to refuse an inherited method.
        whole = getattr(self.dataset, "__getitems__", None)
        if whole:
            data = whole(possibly_batched_index)
        else:
            data = [self.dataset[index] for index in possibly_batched_index]
        return self.collate_fn(data)


def _rows_at_once(dataset: Any, indices: Any) -> list[Any] | None:
    """The batch that stacking single rows would give, with one indexing a tensor.

    None unless it would be the same to the bit: nothing on the way has been replaced by the
    user, indices are plain ints, and tensors are plain, contiguous and outside of autograd.
    """
    cls = type(dataset)
    single, whole = getattr(cls, "__getitem__", None), getattr(cls, "__getitems__", None)
    if single is Subset.__getitem__ and whole is Subset.__getitems__:
        if type(indices) is not list or not all(type(index) is int for index in indices):
            return None
        return _rows_at_once(dataset.dataset, [dataset.indices[index] for index in indices])
    if single is not TensorDataset.__getitem__ or whole:
        return None
    if default_collate_fn_map.get(_engine.Tensor) is not collate_tensor_fn:
        return None
    if type(indices) is not list or not indices or set(map(type, indices)) != {int}:
        return None
    if not all(_is_plain(tensor) for tensor in dataset.tensors):
        return None
    return [_engine.rows(tensor, indices) for tensor in dataset.tensors]


def _is_plain(tensor: Any) -> bool:
    return (type(tensor) is _engine.Tensor and not tensor.requires_grad
            and tensor.is_contiguous() and not tensor.is_sparse)
