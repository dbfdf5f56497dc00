"""The iterator of a loader with workers: which task goes to whom, and what is given next."""

from __future__ import annotations

import itertools
import multiprocessing
import weakref
from typing import Any

from .base_iterator import _BaseDataLoaderIter
from .errors import ExceptionWrapper
from .pool import WorkerPool
from .transport import discard, new_prefix, unpack
from .worker import _DatasetKind, _IterableDatasetStopIteration, _ResumeIteration, WorkerPlan


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps `prefetch_factor` tasks a worker on their way; gives results in the order of tasks.

    A task's number is `_send_idx` when it is sent; `_rcvd_idx` is the number to be given next.
    `_task_info[number]` is (worker,) while it is on its way and (worker, data) if it came early.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        if self._num_workers <= 0:
            raise AssertionError("num_workers must be greater than 0 for "
                                 "MultiProcessingDataLoaderIter")
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for "
                                 "MultiProcessingDataLoaderIter")
        plan = WorkerPlan(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
            self._drop_last, self._base_seed, loader.worker_init_fn, self._num_workers,
            new_prefix(),
        )
        self._epoch = 0
        self._pool = WorkerPool(loader.multiprocessing_context or multiprocessing, plan)
        # Runs when this object goes, and ahead of multiprocessing's own exit handler.
        self._close = weakref.finalize(self, self._pool.close)
        # PyTorch asks a second time here; samplers that draw at once then give their next order.
        self._sampler_iter = iter(self._index_sampler)
        self._begin()

    @property
    def _workers(self) -> list[Any]:
        return self._pool.processes

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._epoch += 1
        for worker_id in range(self._num_workers):
            self._pool.send(worker_id, _ResumeIteration(self._epoch))
        self._begin()

    def _begin(self) -> None:
        self._send_idx = 0
        self._rcvd_idx = 0
        self._task_info: dict[int, tuple[Any, ...]] = {}
        self._workers_status = [True] * self._num_workers
        self._workers_num_tasks = [0] * self._num_workers
        self._worker_cycle = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    # --- sending ---

    def _try_put_index(self) -> None:
        """Send one more task, if there is one and somebody to do it."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker_id = self._free_worker()
        if worker_id is None:
            return
        self._pool.send(worker_id, (self._epoch, self._send_idx, index))
        self._task_info[self._send_idx] = (worker_id,)
        self._workers_num_tasks[worker_id] += 1
        self._send_idx += 1

    def _free_worker(self) -> int | None:
        limit = self._prefetch_factor * self._num_workers
        for _ in range(self._num_workers):
            worker_id = next(self._worker_cycle)
            if not self._workers_status[worker_id]:
                continue
            if self._in_order:
                return worker_id
            # Out of order, a slow worker gets no more than its share.
            if self._workers_num_tasks[worker_id] < limit // sum(self._workers_status):
                return worker_id
        return None

    # --- receiving ---

    def _next_data(self) -> Any:
        while True:
            self._skip_lost_tasks()
            if len(self._task_info[self._rcvd_idx]) == 2:
                worker_id, data = self._task_info.pop(self._rcvd_idx)
                self._rcvd_idx += 1
                return self._process_data(data, worker_id)
            number, data = self._receive()
            if isinstance(data, _IterableDatasetStopIteration):
                self._end_worker(data.worker_id)
                self._try_put_index()
            elif number != self._rcvd_idx and self._in_order:
                self._task_info[number] += (data,)
            else:
                worker_id = self._task_info.pop(number)[0]
                if number == self._rcvd_idx:
                    self._rcvd_idx += 1
                return self._process_data(data, worker_id)

    def _skip_lost_tasks(self) -> None:
        """Go on to a task that can still be answered; StopIteration if there is none.

        Tasks of a worker whose dataset has ended, and those given out of order, are passed over.
        """
        while self._rcvd_idx < self._send_idx:
            info = self._task_info.get(self._rcvd_idx)
            if info is not None:
                if len(info) == 2 or self._workers_status[info[0]]:
                    return
                del self._task_info[self._rcvd_idx]
            self._rcvd_idx += 1
        if not self._persistent_workers:
            self._close()
        raise StopIteration

    def _receive(self) -> tuple[int, Any]:
        """(number, data) of the next result of this epoch."""
        while True:
            answer = self._pool.receive(self._timeout if self._timeout > 0 else None)
            if answer is None:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            epoch, number, packed = answer
            if epoch == self._epoch:
                return number, unpack(packed)
            discard(packed)  # asked for before an epoch that was not finished

    def _end_worker(self, worker_id: int) -> None:
        self._workers_status[worker_id] = False
        if not self._persistent_workers:
            self._pool.retire(worker_id)

    def _process_data(self, data: Any, worker_id: int) -> Any:
        self._workers_num_tasks[worker_id] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _shutdown_workers(self) -> None:
        self._close()


__all__ = ["_DatasetKind", "_MultiProcessingDataLoaderIter"]
