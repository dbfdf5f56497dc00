"""The worker processes of one iterator: starting them, hearing from them, ending them.

Each worker has two queues of its own. A worker that is killed while it writes can therefore
only spoil its own results; the parent has closed its copy of the writing end, so that a result
which was cut off reads as an end of file.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from multiprocessing.connection import wait
from typing import Any

from ....base.frames import warn
from ....multiprocessing._reductions import init_reductions
from .transport import remove_files
from .worker import MP_STATUS_CHECK_INTERVAL, WorkerPlan, run_worker


class WorkerPool:
    """Runs `plan` in `plan.num_workers` processes of a multiprocessing context."""

    def __init__(self, context: Any, plan: WorkerPlan) -> None:
        init_reductions()
        self._owner = os.getpid()
        self._prefix = plan.prefix
        self._closed = False
        self._done = context.Event()
        self._tasks: list[Any] = []
        self._results: list[Any] = []
        self.processes: list[Any] = []
        self.active: list[bool] = []
        try:
            for worker_id in range(plan.num_workers):
                self._start(context, plan, worker_id)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, plan: WorkerPlan, worker_id: int) -> None:
        tasks, results = context.Queue(), context.Queue()
        tasks.cancel_join_thread()  # ending this process does not wait for a dead worker
        process = context.Process(
            target=run_worker, args=(plan, worker_id, tasks, results, self._done), daemon=True
        )
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warn(
                "Got pickle error when attempting to start a worker Process. This might be "
                "because the worker Process arguments are not picklable: with the start methods "
                "'spawn' and 'forkserver' dataset, collate_fn and worker_init_fn must be. You can "
                "also try multiprocessing.set_start_method('fork').")
            raise
        results._writer.close()
        self._tasks.append(tasks)
        self._results.append(results)
        self.processes.append(process)
        self.active.append(True)

    def send(self, worker_id: int, task: Any) -> None:
        """Give a worker a task."""
        self._tasks[worker_id].put(task)

    def retire(self, worker_id: int) -> None:
        """Let a worker end after its tasks."""
        self.active[worker_id] = False
        self._tasks[worker_id].put(None)

    def receive(self, timeout: float | None) -> Any:
        """The next result of any worker; None if none comes within `timeout` seconds.

        Raises RuntimeError if a worker that should be there has ended.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            watched: dict[Any, int] = {}
            for worker_id, active in enumerate(self.active):
                if active:
                    watched[self._results[worker_id]._reader] = worker_id
                    watched[self.processes[worker_id].sentinel] = worker_id
            rest = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait(list(watched), rest)
            if not ready:
                return None
            # Results that a worker sent before it ended are still good.
            for source in sorted(ready, key=lambda source: isinstance(source, int)):
                if isinstance(source, int):
                    self._fail(watched[source])
                try:
                    return self._results[watched[source]].get()
                except (EOFError, OSError, pickle.UnpicklingError):
                    self._fail(watched[source])

    def _fail(self, worker_id: int) -> None:
        process = self.processes[worker_id]
        process.join(timeout=MP_STATUS_CHECK_INTERVAL)
        self.active[worker_id] = False
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly"
        ) from RuntimeError(_obituary(process.pid, process.exitcode))

    def close(self) -> None:
        """End all workers and remove what they left in shared memory. Never raises for them."""
        if self._closed or os.getpid() != self._owner:
            return
        self._closed = True
        for queue in (*self._tasks, *self._results):
            _unlock(queue)
        self._done.set()
        for worker_id, active in enumerate(self.active):
            if active:
                self.retire(worker_id)
        deadline = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for process in self.processes:
            process.join(timeout=max(0.0, deadline - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
                process.join(timeout=MP_STATUS_CHECK_INTERVAL)
            if process.is_alive():
                process.kill()
                process.join()
        for queue in (*self._tasks, *self._results):
            queue.cancel_join_thread()
            queue.close()
        remove_files(self._prefix)


def _unlock(queue: Any) -> None:
    """Give the lock of a queue back that an interrupt left taken.

    Ctrl-C may come when `put` has just taken it and is not yet bound to give it back; ending the
    queue would wait for it for ever. Who has it rightly has it for a moment only.
    """
    queue._notempty.acquire(timeout=1.0)
    queue._notempty.release()


def _obituary(pid: int, exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.strsignal(-exit_code) or str(-exit_code)
        text = f"DataLoader worker (pid {pid}) is killed by signal: {name}. "
        if -exit_code == signal.SIGBUS:
            text += ("It is possible that dataloader's workers are out of shared memory. Please "
                     "try to raise your shared memory limit.")
        return text
    return (f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {exit_code}. "
            "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give "
            "better error trace.")
