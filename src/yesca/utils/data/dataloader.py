"""The data loader: batches of a dataset, in an order, from this process or from workers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ...base import absent
from ...base.frames import warn
from ...base.naming import lives_in
from ._utils.base_iterator import _BaseDataLoaderIter, _SingleProcessDataLoaderIter
from ._utils.collate import default_collate, default_convert
from ._utils.worker import _DatasetKind, get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
#: Attributes that the iterators and samplers are built on.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """The indices of a stream: there are none, without end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


@lives_in("torch.utils.data.dataloader")
class DataLoader(Generic[T_co]):
    """An iterable over the batches of a dataset; each `iter()` is an epoch.

    Args:
        dataset: a map (`__getitem__`, `__len__`) or an `IterableDataset`.
        batch_size: samples a batch; None gives single samples, without a batch dimension.
        shuffle: a new random order each epoch.
        sampler: an iterable of indices, in place of `shuffle`.
        batch_sampler: an iterable of lists of indices, in place of `batch_size`, `shuffle`,
            `sampler` and `drop_last`.
        num_workers: processes that load; 0 loads in this one.
        collate_fn: makes a batch of a list of samples (default: `default_collate`; with
            `batch_size=None`, `default_convert` of a sample).
        pin_memory: put batches in page-locked memory, where there is an accelerator.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker's batch; 0 waits for ever.
        worker_init_fn: called with the worker's number in each worker, after seeding.
        multiprocessing_context: start method, or context, of the workers.
        generator: source of `shuffle` and of the workers' seeds (default: the default one).
        prefetch_factor: batches on their way for each worker (default: 2).
        persistent_workers: keep the workers between epochs.
        in_order: with workers, give batches in the order of the sampler; False gives them as
            they come.

    Worker `i` starts with the seed `base_seed + i`, where `base_seed` is drawn from `generator`
    once an iterator. A worker's exception is raised again here, with its traceback as text.

    Raises:
        ValueError: arguments that exclude each other; the message names them.
        RuntimeError: while iterating, a worker has died or the timeout is over.

    Example::

        >>> import yesca as torch
        >>> from yesca.utils.data import DataLoader, TensorDataset
        >>> loader = DataLoader(TensorDataset(torch.arange(5)), batch_size=2)
        >>> [batch.tolist() for (batch,) in loader]
        [[0, 1], [2, 3], [4]]
    """

    _iterator: _BaseDataLoaderIter | None
    _initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_numbers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._choose_sampler(shuffle, sampler, batch_sampler, batch_size, drop_last)
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self._initialized = True
        self.check_worker_number_rationality()

    def _choose_sampler(self, shuffle: bool | None, sampler: Any, batch_sampler: Any,
                        batch_size: int | None, drop_last: bool) -> None:
        streams = isinstance(self.dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if streams else _DatasetKind.Map
        if streams:
            _check_stream_arguments(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, "
                                 "shuffle, sampler, and drop_last")
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually "
                             "exclusive with drop_last")
        data: Any = self.dataset
        if sampler is None:
            if streams:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(data, generator=self.generator)
            else:
                sampler = SequentialSampler(data)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    @property
    def multiprocessing_context(self) -> Any:
        """The context that workers are started in; None for the default one."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        self._multiprocessing_context = (
            None if context is None else _context(context, self.num_workers)
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after "
                             f"{type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from ._utils.multiprocess import _MultiProcessingDataLoaderIter

        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """Batches an epoch. For a stream it is estimated from the stream's own length."""
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than this process may use CPUs."""
        if not self.num_workers:
            return
        counted = hasattr(os, "sched_getaffinity")
        usable = len(os.sched_getaffinity(0)) if counted else os.cpu_count()
        if usable is not None and self.num_workers <= usable:
            return
        if usable is None:
            advice = ("DataLoader is not able to compute a suggested max number of worker in "
                      "current system.")
        else:
            without = "" if counted else " (`cpuset` is not taken into account)"
            advice = (f"Our suggested max number of worker in current system is {usable}{without}, "
                      "which is smaller than what this DataLoader is going to create.")
        warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {advice} "
            "Please be aware that excessive worker creation might get DataLoader running slow or "
            "even freeze, lower the worker number to avoid potential slowness/freeze if "
            "necessary.")


def _check_numbers(num_workers: int, timeout: float, prefetch_factor: int | None,
                   persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable "
                         "multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. let num_workers > "
            "0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream_arguments(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError("DataLoader with IterableDataset: expected unspecified "
                             f"{name} option, but got {name}={value}")


def _context(context: Any, num_workers: int) -> Any:
    import multiprocessing

    if num_workers == 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading "
                         f"(num_workers > 0), but got num_workers={num_workers}")
    if isinstance(context, str):
        valid = multiprocessing.get_all_start_methods()
        if context not in valid:
            raise ValueError("multiprocessing_context option should specify a valid start method "
                             f"in {valid!r}, but got multiprocessing_context={context!r}")
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError("multiprocessing_context option should be a valid context object or a "
                        "string specifying the start method, but got "
                        f"multiprocessing_context={context}")
    return context


def __getattr__(name: str) -> Any:
    if name == "_MultiProcessingDataLoaderIter":  # not needed, and not loaded, without workers
        from ._utils.multiprocess import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter
    raise absent.error(__name__, name)
