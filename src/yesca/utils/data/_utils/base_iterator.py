"""What the iterators of a loader have in common."""

from __future__ import annotations

from typing import Any

from ....base.frames import warn
from .. import _engine
from .._engine import observing
from .worker import _DatasetKind


class _BaseDataLoaderIter:
    """One pass over a loader's dataset.

    Making one asks the sampler for its iterator and then draws `base_seed`, in this order: what
    a program draws afterwards depends on it.
    """

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        if loader.pin_memory and loader.pin_memory_device:
            warn("pin_memory_device is deprecated, the current accelerator will be used as the "
                 f"device,ignore pin_memory_device='{loader.pin_memory_device}'.")
        if loader.pin_memory:
            warn("'pin_memory' argument is set as true but no accelerator is found, then "
                 "device pinned memory won't be used.")
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = _engine.draw_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        fetch = self._next_data if observing.current is None else observing.observed(
            f"enumerate(DataLoader)#{type(self).__name__}.__next__", self._next_data)
        data = fetch()
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if expected is not None and self._num_yielded > expected:
            self._warn_of_length(expected)
        return data

    def _warn_of_length(self, expected: int) -> None:
        if self._dataset_kind != _DatasetKind.Iterable:
            return
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {expected}(when "
            f"accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
                "examples."
            )
        warn(message)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads in this process."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())
