"""Loaders that are abandoned, fail or are killed leave nothing behind, and say what happened."""

import gc
import glob
import multiprocessing
import multiprocessing.resource_tracker
import os
import resource
import signal
import threading
import time
import traceback
from pathlib import Path

import pytest

import yesca as torch
from yesca.utils.data import DataLoader, IterableDataset, get_worker_info
from yesca.utils.data._utils import pool, transport

pytestmark = [
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts in Linux's /proc"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]
LARGE = 100_000  # elements: a tensor that goes by shared memory


def held():
    """What this process holds: descriptors, children, threads, files in shared memory."""
    multiprocessing.active_children()  # takes leave of those that have ended
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
        "threads": threading.active_count(),
        "files": len(glob.glob(f"{transport.SHARED_FOLDER}/yesca-{os.getpid()}-*")),
    }


def more_than(before):
    """What is held beyond that; what others left before may have gone meanwhile."""
    return {kind: count for kind, count in held().items() if count > before[kind]}


@pytest.fixture(autouse=True)
def nothing_is_left():
    multiprocessing.resource_tracker.ensure_running()
    gc.collect()
    before = held()
    yield
    gc.collect()
    end = time.monotonic() + 10
    while more_than(before) and time.monotonic() < end:
        time.sleep(0.05)
        gc.collect()  # the first one does nothing while another thread collects
    assert not more_than(before)


class Rows:
    """Large rows; `then` is called with each index first."""

    def __init__(self, n=12, then=None):
        self.n, self.then = n, then

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if self.then is not None:
            self.then(index)
        return torch.full((LARGE,), float(index))


def load(then=None, n=12, **options):
    return DataLoader(Rows(n, then), **{"num_workers": 2, **options})


def refused(loader, error):
    """The error with which an epoch ends, as it is printed."""
    try:
        list(loader)
    except error as raised:
        return "".join(traceback.format_exception(raised))
    raise AssertionError("no error")


def fail_at_3(index):
    if index == 3:
        raise ValueError("sample 3 is bad")


def test_an_error_tells_traceback_and_index():
    text = refused(load(fail_at_3, batch_size=2), ValueError)
    assert "Caught ValueError in DataLoader worker process 1." in text
    assert "in fail_at_3" in text and "sample 3 is bad" in text
    assert "The worker was loading index [2, 3] of the dataset." in text


def test_an_epoch_goes_on_after_an_error():
    iterator = iter(load(fail_at_3, n=5))
    seen = []
    while True:
        try:
            seen.append(int(next(iterator)[0, 0]))
        except ValueError:
            seen.append("bad")
        except StopIteration:
            break
    assert seen == [0, 1, 2, "bad", 4]


def test_errors_that_cannot_be_pickled():
    class Local(Exception):
        pass

    def raise_local(index):
        raise Local("only known here")

    text = refused(load(raise_local), RuntimeError)
    assert "Local, which cannot be sent between processes" in text and "only known here" in text

    class Silent(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    def raise_silent(index):
        raise Silent

    assert "Silent" in refused(load(raise_silent), RuntimeError)


def test_batches_that_cannot_be_pickled():
    def with_a_lock(samples):
        return {"rows": torch.stack(samples), "lock": threading.Lock()}

    assert "cannot pickle '_thread.lock' object" in refused(
        load(collate_fn=with_a_lock), TypeError)
    grown = torch.ones(LARGE, requires_grad=True)
    text = refused(load(collate_fn=lambda samples: [samples[0] * 2, grown * 2]), RuntimeError)
    assert "non-leaf tensor which requires_grad" in text


def test_samples_that_stop():
    def stop(index):
        raise StopIteration

    assert list(load(stop, num_workers=0)) == []
    iterator = iter(load(stop))
    with pytest.raises(StopIteration, match="Caught StopIteration in DataLoader worker"):
        next(iterator)


def test_killed_worker():
    iterator = iter(load())
    next(iterator)
    os.kill(iterator._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexp") as e:
        list(iterator)
    assert "is killed by signal: Killed" in str(e.value.__cause__)


def test_killed_while_it_writes():
    def die_late(index):
        if index == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    assert "exited unexpectedly" in refused(load(die_late, n=50), RuntimeError)
    assert "exited unexpectedly" in refused(load(die_late, n=50, in_order=False), RuntimeError)


def test_timeout(monkeypatch):
    monkeypatch.setattr(pool, "MP_STATUS_CHECK_INTERVAL", 0.2)
    slow = load(lambda index: time.sleep(60 * (index == 2)), timeout=0.5)
    assert "DataLoader timed out after 0.5 seconds" in refused(slow, RuntimeError)


def test_failing_worker_init_function():
    def begin(worker):
        if worker == 1:
            raise OSError(2, "no such disk")

    text = refused(load(worker_init_fn=begin), (OSError, RuntimeError))
    assert "in DataLoader worker process 1" in text and "no such disk" in text
    assert "exited unexpectedly" in refused(
        load(worker_init_fn=lambda worker: os._exit(1)), RuntimeError)


def test_failing_stream():
    class Stream(IterableDataset):
        def __iter__(self):
            raise LookupError("no stream")

    text = refused(DataLoader(Stream(), num_workers=2), LookupError)
    assert "no stream" in text and "in DataLoader worker process 0" in text


def test_half_an_epoch():
    for batch in load():
        assert batch.shape == (1, LARGE)
        break
    iterator = iter(load(persistent_workers=True))
    next(iterator)
    del iterator
    cycle = [iter(load())]
    cycle.append(cycle)
    next(cycle[0])
    del cycle
    iter(load())  # not one batch


def test_a_failing_sampler():
    def order():
        yield from range(6)
        raise KeyError("no seventh")

    with pytest.raises(KeyError, match="no seventh"):
        list(DataLoader(Rows(), sampler=order(), num_workers=2))

    def none():
        raise KeyError("no first")
        yield

    with pytest.raises(KeyError, match="no first"):
        iter(DataLoader(Rows(), sampler=none(), num_workers=2))


class Unpicklable(Rows):
    def __reduce__(self):
        raise TypeError("this dataset stays here")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_unpicklable_dataset(method):
    loader = DataLoader(Unpicklable(), num_workers=2, multiprocessing_context=method)
    with pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker"), \
            pytest.raises(TypeError, match="this dataset stays here"):
        iter(loader)
    if method == "forkserver":
        multiprocessing.forkserver._forkserver._stop()  # Python keeps it for later processes


def test_loaders_in_workers():
    def inner(index):
        return sum(int(b[0, 0]) for b in load(n=3, num_workers=0))

    class Nested(Rows):
        def __getitem__(self, index):
            return inner(index)

    assert [int(b) for b in DataLoader(Nested(2), num_workers=1)] == [3, 3]
    text = refused(load(lambda index: iter(load())), AssertionError)
    assert "daemonic processes are not allowed to have children" in text


def test_a_fork_while_a_loader_runs():
    iterator = iter(load())
    first = next(iterator)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = bool((first == 0).all())
            iterator._shutdown_workers()  # not its workers
            del iterator
            gc.collect()
            code = 0 if same else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [int(batch[0, 0]) for batch in iterator] == list(range(1, 12))


def test_without_shared_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(transport, "SHARED_FOLDER", str(tmp_path / "missing"))
    assert [int(batch[0, 0]) for batch in load()] == list(range(12))


def test_full_shared_memory():
    def little(worker):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    assert [float(b.sum()) for b in load(worker_init_fn=little)] == [
        float(LARGE * k) for k in range(12)]


def test_tensors_of_one_storage():
    def sample(samples):
        base, whole = torch.arange(6.0), samples[0]
        return {"a": base[:4], "b": base[2:], "whole": whole, "turned": whole.view(-1, 2).t(),
                "row": torch.arange(100.0)[5], "storage": whole.untyped_storage(),
                "leaf": torch.ones(3, requires_grad=True), "wide": base[:1].expand(4, 9),
                "none": torch.zeros(0), "flat": torch.zeros(3, 0, 2), "number": torch.tensor(4)}

    (batch,) = load(n=1, collate_fn=sample, num_workers=1)
    batch["a"][3] = 50
    assert batch["b"].tolist() == [2, 50, 4, 5] and batch["row"].item() == 5
    assert batch["row"].untyped_storage().nbytes() == 4  # and not all that it was a part of
    batch["whole"][1] = 7
    assert batch["turned"][1, 0] == 7 and batch["turned"].stride() == (1, 2)
    assert batch["storage"].data_ptr() == batch["whole"].untyped_storage().data_ptr()
    assert batch["leaf"].requires_grad and batch["leaf"].is_leaf and batch["wide"].shape == (4, 9)
    assert batch["none"].shape == (0,) and batch["flat"].shape == (3, 0, 2)
    assert batch["number"].item() == 4


def test_a_huge_tensor():
    def huge(samples):
        return torch.arange(12_000_000)

    (batch,) = load(n=1, collate_fn=huge, num_workers=1)
    assert batch.shape == (12_000_000,) and batch[-1] == 11_999_999


def test_workers_end_when_the_main_process_is_killed(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    words = run_python("-W", "ignore", program).stdout.split()
    assert len(words) == 3
    main, *workers = map(int, words)
    end = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in workers) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)
    assert not glob.glob(f"{transport.SHARED_FOLDER}/yesca-{main}-*")


START = """
import os, signal, sys, time
import yesca as torch
from yesca.utils.data import DataLoader
class Rows:
    def __len__(self): return 100
    def __getitem__(self, index): return torch.full((100_000,), float(index))
loader = DataLoader(Rows(), num_workers=2, persistent_workers=len(sys.argv) > 1)
iterator = iter(loader)
next(iterator)
time.sleep(0.3)
print(os.getpid(), *(worker.pid for worker in iterator._workers), flush=True)
"""
KILLED = START + "os.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError('end')", "os._exit(0)"])
def test_interpreter_exit(tmp_path, run_python, end):
    program = tmp_path / "program.py"
    program.write_text(START + end + "\n")
    result = run_python("-W", "ignore", program, *(["kept"] if not end else []))
    main, *workers = map(int, result.stdout.split())
    limit = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in workers) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)
    assert not glob.glob(f"{transport.SHARED_FOLDER}/yesca-{main}-*")
    said = [line for line in result.stderr.splitlines() if line]
    assert said == [] if "raise" not in end else said[-1] == "ValueError: end"


@pytest.mark.slow
def test_two_hundred_loaders():
    def memory():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    for number in range(200):
        iterator = iter(load(num_workers=1))
        next(iterator)
        if number == 20:
            early, kept = memory(), {**held(), "files": 0}  # of which some are on their way
    now, late = {**held(), "files": 0}, memory()
    del iterator
    assert now == kept and late - early < 16 << 20
    assert get_worker_info() is None
