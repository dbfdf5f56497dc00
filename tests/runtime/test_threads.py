"""The pool: every chunk once, from any thread, through resizing, nesting and forks."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from yesca.runtime import threads, units
from yesca.runtime.native.pool import dispatch, rouse
from yesca.targets.native import (
    Unit, address_of, atomic_add_i64, i64, load_i32, load_i64, load_ptr, ptr, store_i32, void,
)  # fmt: skip

# From 3.12 on CPython warns of forks while threads live; that they work is what is tested.
pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
              pytest.mark.every_cpu]
unit = Unit("test_threads")


@unit.function
def count_visits(words: ptr, low: i64, high: i64) -> void:
    """Adds 1 to each visited int32 and to the number of chunks; checks the chunk's bounds."""
    visits, chunks, grain = load_ptr(words), load_ptr(words, 8), load_i64(words, 16)
    if low % grain == 0 and high - low <= grain:
        atomic_add_i64(chunks, 0, 1)
    for index in range(low, high):
        store_i32(visits, index * 4, load_i32(visits, index * 4) + 1)


@unit.function
def nested(words: ptr, low: i64, high: i64) -> void:
    """Each point of the outer range runs the inner job."""
    for _ in range(low, high):
        dispatch(address_of(add_span), words, 100, 10)


@unit.function
def add_span(words: ptr, low: i64, high: i64) -> void:
    atomic_add_i64(words, 0, high - low)


@pytest.fixture(autouse=True)
def keep_thread_count():
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


class Job:
    """A range with a visit counter for each point."""

    def __init__(self, total, grain):
        self.total, self.grain = total, grain
        self.visits = (ctypes.c_int32 * max(total, 1))()
        self.chunks = ctypes.c_int64()
        self.words = (ctypes.c_int64 * 3)(
            ctypes.addressof(self.visits), ctypes.addressof(self.chunks), grain
        )

    def run(self, launch=None):
        (launch or threads.launch)(
            units.address(count_visits), ctypes.addressof(self.words), self.total, self.grain
        )

    def check(self, times=1):
        chunks = -(-self.total // self.grain)
        assert self.chunks.value == chunks * times
        assert bytes(self.visits)[: self.total * 4] == times.to_bytes(4, "little") * self.total


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("total, grain", [(0, 1), (1, 1), (7, 10), (1000, 7), (200_001, 1)])
def test_every_chunk_once(count, total, grain):
    threads.set_num_threads(count)
    job = Job(total, grain)
    for times in (1, 2):
        job.run()
        job.check(times)
    job.run(threads.portable_launch)
    job.check(3)


def test_threads_are_started_and_ended_on_demand():
    for count in (4, 2, 3, 1, 2):
        threads.set_num_threads(count)
        Job(1000, 10).run()
        if count > 1:
            assert threads.workers() == count - 1
    assert threads.get_num_threads() == 2


def test_many_jobs_from_many_python_threads():
    threads.set_num_threads(3)
    failures = []

    def work(seed):
        try:
            for index in range(60):
                job = Job(500 + seed * 37 + index, 1 + (index * 7 + seed) % 50)
                job.run()
                job.check()
        except AssertionError as error:
            failures.append(error)

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in running:
        thread.start()
    for count in (2, 4, 1, 3):
        threads.set_num_threads(count)
        time.sleep(0.005)
    for thread in running:
        thread.join()
    assert not failures


def test_roused_workers_disturb_no_job():
    """They are woken for work that is to come, while another thread has some done."""
    threads.set_num_threads(2)
    wake, over = units.callable_of(rouse), threading.Event()

    def disturb():
        while not over.is_set():
            wake()

    other = threading.Thread(target=disturb)
    other.start()
    try:
        for total in [7, 1000, 64] * 300:
            job = Job(total, 3)
            job.run()
            job.check()
    finally:
        over.set()
        other.join()


def test_nested_jobs_run_inline():
    threads.set_num_threads(3)
    total = ctypes.c_int64()
    threads.launch(units.address(nested), ctypes.addressof(total), 50, 5)
    assert total.value == 5000


def test_fork_gets_a_pool_of_its_own():
    threads.set_num_threads(2)
    Job(1000, 10).run()
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            Job(20_000, 100).run()

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    for _ in range(3):
                        job = Job(10_000, 10)
                        job.run()
                        job.check()
                    status = 0 if threads.workers() == 1 else 2
                finally:
                    os._exit(status)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    job = Job(1000, 10)
    job.run()
    job.check()


def test_errors():
    for wrong, message in ((0, "positive integer"), (-1, "positive integer"), (2.0, "float"),
                           (True, "bool"), ("2", "str")):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            threads.set_num_threads(wrong)
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        threads.set_num_threads(1 << 31)
    with pytest.raises(TypeError):
        threads.set_num_threads(count=2)
    threads.set_num_threads((1 << 31) - 1)  # believed; not so many threads are started
    assert threads.get_num_threads() == (1 << 31) - 1
    threads.set_num_threads(2)
    with pytest.raises(TypeError, match="expected 4 arguments, got 2|missing 2 required"):
        threads.launch(1, 2)
    with pytest.raises(TypeError):
        threads.launch(1, 2, 3, "four")


PROCESS = """
import ctypes, sys, threading, time
from yesca.runtime.native import waiting
if "condition" in sys.argv:
    waiting.FUTEX = False
from yesca.runtime import threads, units
from yesca.runtime.native.pool import spin
from yesca.targets.native import Unit, atomic_add_i64, i64, ptr, void

unit = Unit("test_process")

@unit.function
def add_span(words: ptr, low: i64, high: i64) -> void:
    spin(200)
    atomic_add_i64(words, 0, high - low)

threads.set_num_threads(3)
total = ctypes.c_int64()
for index in range(300):
    threads.launch(units.address(add_span), ctypes.addressof(total), 100, 5)
    if index % 50 == 0:
        time.sleep(0.003)
assert total.value == 300 * 100 and threads.workers() == 2
if "busy" in sys.argv:
    def forever():
        while True:
            threads.launch(units.address(add_span), ctypes.addressof(total), 10000, 5)
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)
print("done", type(threads.launch).__name__)
"""


@pytest.mark.parametrize("mode", ["sleeping", "busy", "condition", "portable"])
def test_whole_processes_end_quietly(mode, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROCESS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
                   "YESCA_PORTABLE": "1" if mode == "portable" else "0"}
    command = [sys.executable, str(script), mode]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    kind = "function" if mode == "portable" else "builtin_function_or_method"
    assert (result.returncode, result.stdout.split(), result.stderr) == (0, ["done", kind], "")


@pytest.mark.parametrize("words, wanted", [
    ({"OMP_NUM_THREADS": "1"}, 1), ({"MKL_NUM_THREADS": "1"}, 1), ({"OMP_NUM_THREADS": " 1 "}, 1),
    ({"OMP_NUM_THREADS": "1,2"}, 1), ({"YESCA_NUM_THREADS": "1", "OMP_NUM_THREADS": "2"}, 1),
    ({"OMP_NUM_THREADS": "4096"}, None), ({"OMP_NUM_THREADS": "0"}, None),
    ({"OMP_NUM_THREADS": "-2"}, None), ({"OMP_NUM_THREADS": "many"}, None),
    ({"OMP_NUM_THREADS": "1.5"}, None), ({"OMP_NUM_THREADS": ""}, None), ({}, None)], ids=str)
def test_numbers_from_the_environment(run_python, words, wanted):
    """What says nothing, or more than there are CPUs, stands for the CPUs, as in PyTorch."""
    cleared = dict.fromkeys(("YESCA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    done = run_python("-c", "import yesca; print(yesca.get_num_threads())", **{**cleared, **words})
    assert done.stdout == f"{wanted or threads.usable_cpus()}\n", done.stderr


INTEROP = """
import yesca as torch
first = torch.get_num_interop_threads()
for wrong in (0, -1, 2.0, True, "2", None):
    try:
        torch.set_num_interop_threads(wrong)
    except RuntimeError as error:
        print(error)
torch.set_num_interop_threads(3)
print(first >= 1, torch.get_num_interop_threads())
try:
    torch.set_num_interop_threads(3)
except RuntimeError as error:
    print(error)
"""


def test_threads_between_operators(run_python):
    lines = run_python("-c", INTEROP).stdout.splitlines()
    name = "set_num_interop_threads expects"
    assert lines == [
        f"{name} a positive integer, got 0", f"{name} a positive integer, got -1",
        *(f"{name} an int, but got {kind}" for kind in ("float", "bool", "str", "NoneType")),
        "True 3", "Error: cannot set number of interop threads after parallel work has started or "
        "set_num_interop_threads called"]
