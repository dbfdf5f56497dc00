"""`spawn(fn, args, nprocs)`: one function in several processes, errors told by the parent."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..base.frames import warn
from ..base.naming import lives_in

__all__ = [
    "ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "spawn", "start_processes",
]


@lives_in("torch.multiprocessing.spawn")
class ProcessException(Exception):
    """A process of `spawn` has failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


@lives_in("torch.multiprocessing.spawn")
class ProcessRaisedException(ProcessException):
    """The function has raised an exception; its traceback is in the message."""


@lives_in("torch.multiprocessing.spawn")
class ProcessExitedException(ProcessException):
    """A process has ended with an exit code other than 0, or by a signal."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), fields


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    """The main function of a worker: `fn(index, *args)`, its error sent to the parent."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


@lives_in("torch.multiprocessing.spawn")
class ProcessContext:
    """The processes that `start_processes` has started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors
        self._waiting = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int | None]:
        """The process ids, in order."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one process or more have ended; True once all have, without an error.

        At the first failure the others are ended (after `grace_period` seconds in which they may
        end by themselves), and ProcessRaisedException or ProcessExitedException is raised.
        """
        if not self._waiting:
            return True
        ready = multiprocessing.connection.wait(list(self._waiting), timeout)
        failed = None
        for sentinel in ready:
            index = self._waiting.pop(sentinel)  # type: ignore[arg-type]
            self.processes[index].join()
            if self.processes[index].exitcode != 0 and failed is None:
                failed = index
        if failed is None:
            return not self._waiting
        self._end_others(grace_period)
        raise self._error(failed)

    def _end_others(self, grace_period: float | None) -> None:
        if grace_period is not None:
            end = time.monotonic() + grace_period
            for process in self.processes:
                process.join(max(0.0, end - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()

    def _text(self, index: int) -> str | None:
        """The traceback that a worker has sent before it ended, if it has."""
        try:
            return str(self._errors[index].recv()) if self._errors[index].poll() else None
        except EOFError:
            return None

    def _error(self, index: int) -> ProcessException:
        process = self.processes[index]
        pid, code = process.pid, process.exitcode
        text = self._text(index)
        if text is not None:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, pid)
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<unknown signal {-code}>"
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, pid, code, name
            )
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, pid, code
        )


SpawnContext = ProcessContext  # its former name


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` for i in 0 ... nprocs - 1, each in a process of its own.

    With `join` it waits for all of them and returns None, else it returns the ProcessContext.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, sender), daemon=daemon)
        process.start()
        sender.close()
        processes.append(process)
        errors.append(receiver)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with fresh interpreters; `start_method` is there for its warning."""
    if start_method != "spawn":
        warn(
            "This method only supports start_method=spawn (got: "
            f"{start_method}).\nTo use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
