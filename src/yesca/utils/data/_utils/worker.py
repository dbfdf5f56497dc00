"""What runs in a worker process: tasks in, batches out."""

from __future__ import annotations

import multiprocessing
import pickle
import reprlib
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from .errors import ExceptionWrapper
from .fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher
from .seeding import seed_worker
from .transport import Sender, remove_files, worker_prefix

#: Seconds between looks at whether the other side is still there, where nothing else tells.
MP_STATUS_CHECK_INTERVAL = 5.0


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any,
                       drop_last: bool) -> _BaseDatasetFetcher:
        """The fetcher for a kind of dataset."""
        cls = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's number, the number of workers, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader, what it is; None in every other process.

    Iterable datasets and `worker_init_fn` use it to give each worker a share of its own.
    """
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """In place of a batch: the worker's copy of the dataset has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """In place of a task: a new epoch begins."""

    epoch: int


@dataclass(frozen=True)
class WorkerPlan:
    """All that a worker needs, the same for each but for its number."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    num_workers: int
    prefix: str | None  # of files in shared memory

    def fetcher(self) -> _BaseDatasetFetcher:
        """A fetcher at the beginning of the dataset."""
        return _DatasetKind.create_fetcher(self.dataset_kind, self.dataset, self.auto_collation,
                                           self.collate_fn, self.drop_last)


def run_worker(plan: WorkerPlan, worker_id: int, tasks: Any, results: Any, done: Any) -> None:
    """The main function of a worker process.

    Tasks are (epoch, number, index); a result is (epoch, number, packed batch). None ends the
    worker; `done` makes it skip the tasks before that.
    """
    alone = False
    try:
        seed_worker(plan.base_seed, worker_id)
        _Worker(plan, worker_id, results).run(tasks, done)
    except KeyboardInterrupt:
        pass  # the main process has got it too, and reports it
    except _MainProcessGone:
        alone = True
        remove_files(worker_prefix(plan.prefix, worker_id))
    if alone or done.is_set():
        # Nobody reads any more; do not wait until they have.
        results.cancel_join_thread()


class _MainProcessGone(Exception):
    """The process that started this worker has died."""


class _Worker:
    def __init__(self, plan: WorkerPlan, worker_id: int, results: Any) -> None:
        global _worker_info
        self._plan = plan
        self._id = worker_id
        self._results = results
        self._sender = Sender(plan.prefix, worker_id)
        self._failure: ExceptionWrapper | None = None  # why there is no fetcher
        self._ended = False
        _worker_info = WorkerInfo(worker_id, plan.num_workers, plan.base_seed + worker_id,
                                  plan.dataset)
        try:
            if plan.init_fn is not None:
                plan.init_fn(worker_id)
        except Exception:
            self._failure = self._caught()
        else:
            self._resume()

    def run(self, tasks: Any, done: Any) -> None:
        """Work until told to end; _MainProcessGone if nobody is left to tell."""
        parent = multiprocessing.parent_process()
        while True:
            task = _next_task(tasks, parent)
            if task is None:
                return
            if isinstance(task, _ResumeIteration):
                self._resume()
            elif not done.is_set() and not self._ended:
                epoch, number, index = task
                self._results.put((epoch, number, self._packed(self._fetched(index))))

    def _resume(self) -> None:
        self._ended = False
        try:
            self._fetcher = self._plan.fetcher()
            self._failure = None
        except Exception:
            self._failure = self._caught()

    def _fetched(self, index: Any) -> Any:
        if self._failure is not None:
            return self._failure
        try:
            return self._fetcher.fetch(index)
        except StopIteration:
            if self._plan.dataset_kind != _DatasetKind.Iterable:
                return self._caught(index)
            self._ended = True
            return _IterableDatasetStopIteration(self._id)
        except Exception:
            return self._caught(index)

    def _packed(self, data: Any) -> bytes:
        try:
            return self._sender.pack(data)
        except Exception:
            if isinstance(data, ExceptionWrapper):
                return self._sender.pack(data.portable())
            return self._packed(self._caught())

    def _caught(self, index: Any = None) -> ExceptionWrapper:
        note = "" if index is None or self._plan.dataset_kind == _DatasetKind.Iterable else (
            f"The worker was loading index {reprlib.repr(index)} of the dataset.")
        return ExceptionWrapper(where=f"in DataLoader worker process {self._id}", note=note)


def _next_task(tasks: Any, parent: Any) -> Any:
    if parent is not None:
        ready = wait([tasks._reader, parent.sentinel])
        if tasks._reader not in ready:
            raise _MainProcessGone
    try:
        return tasks.get()
    except (EOFError, OSError, pickle.UnpicklingError):
        raise _MainProcessGone from None  # cut off in the middle
