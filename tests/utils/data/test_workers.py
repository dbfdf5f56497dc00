"""`DataLoader` with worker processes."""

import glob
import multiprocessing
import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import yesca as torch
from yesca.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info
from yesca.utils.data._utils import transport

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are started by fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]


class Calls:
    """A dataset of the results of a function of the index."""

    def __init__(self, function, n=6):
        self.function, self.n = function, n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return self.function(index)


def load(function, n=6, **options):
    return DataLoader(Calls(function, n), **{"num_workers": 2, **options})


def values(loader):
    return [batch.tolist() for batch in loader]


def test_order_and_epochs():
    expected = [[0, 1], [2, 3], [4]]
    loader = DataLoader(range(5), batch_size=2, num_workers=2)
    assert values(loader) == values(loader) == expected
    loader = DataLoader(range(5), batch_size=2, num_workers=2, persistent_workers=True)
    pids = set()
    for _ in range(3):
        iterator = iter(loader)
        assert values(iterator) == expected
        pids.update(worker.pid for worker in iterator._workers)
    assert len(pids) == 2
    next(iter(loader))  # an epoch that is given up
    assert values(loader) == expected


def draws(index):
    info = get_worker_info()
    return info.seed, random.random(), float(np.random.rand()), torch.rand(1).item()


def test_seeds_are_pytorchs():
    torch.manual_seed(0)
    assert list(load(draws, n=3, batch_size=None)) == [
        [900450186894289455, 0.21315340548154382, 0.8371640508861415, 0.7821398973464966],
        [900450186894289456, 0.7733861492043289, 0.6702704958690073, 0.6938178539276123],
        [900450186894289455, 0.2764485855185723, 0.38757835109739946, 0.053598999977111816],
    ]
    assert get_worker_info() is None


LATE = """
import sys
import yesca as torch
from yesca.utils.data import DataLoader
class Draws:
    def __len__(self): return 2
    def __getitem__(self, index):
        assert "numpy.random" not in sys.modules
        import numpy as np
        return float(np.random.rand()), float(np.random.rand() < 2)
if __name__ == "__main__":
    for method in sys.argv[1:]:
        torch.manual_seed(0)
        loader = DataLoader(Draws(), batch_size=None, num_workers=2, multiprocessing_context=method)
        print([number for number, _ in loader])
"""


def test_numpy_is_seeded_when_it_is_loaded(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(LATE)
    result = run_python(program, "fork", "spawn")
    assert result.stdout == "[0.8371640508861415, 0.6702704958690073]\n" * 2, result.stderr


class Shard(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter([0, 10] if info.id == 0 else range(100, 105))


def test_streams():
    loader = DataLoader(Shard(), batch_size=2, num_workers=2, persistent_workers=True)
    expected = [[0, 10], [100, 101], [102, 103], [104]]
    assert values(loader) == values(loader) == expected


def test_out_of_order():
    arrived = multiprocessing.Event()
    order = []
    for batch in load(lambda i: (i or arrived.wait(60), i)[1], in_order=False):
        order.append(int(batch))
        arrived.set()
    assert sorted(order) == list(range(6)) and order[0] != 0


@pytest.mark.parametrize("size", [10, 100_000])
def test_tensors_arrive_as_they_are(size):
    def sample(index):
        base = torch.arange(2.0 * size).reshape(2, size)
        return {"view": base[1], "turned": base.t(), "wide": base[:, :1].expand(2, 5),
                "leaf": torch.ones(2, requires_grad=True), "half": base[0].to(torch.bfloat16)}

    (batch,) = load(sample, n=1, batch_size=None, num_workers=1)
    assert batch["view"].tolist() == [float(size + i) for i in range(size)]
    assert batch["turned"].stride() == (1, size) and batch["turned"][3].tolist() == [3, size + 3]
    assert batch["wide"].tolist() == [[0.0] * 5, [float(size)] * 5]
    assert batch["leaf"].requires_grad and batch["half"].dtype is torch.bfloat16


def test_nothing_is_left_in_shared_memory():
    loader = load(lambda i: torch.full((100_000,), float(i)), n=20)
    iterator = iter(loader)
    assert next(iterator)[0, 0].item() == 0
    pids = [worker.pid for worker in iterator._workers]
    iterator._shutdown_workers()
    assert not glob.glob(f"{transport.SHARED_FOLDER}/yesca-{os.getpid()}-*")
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_full_shared_memory(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    (batch,) = load(lambda i: torch.ones(100_000), n=1, num_workers=1)
    assert batch.sum().item() == 100_000


def fail(index):
    if index == 3:
        raise ValueError("sample 3 is bad")
    return index


def missing(index):
    return {}["key"]


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first)


def odd(index):
    raise Odd(1, 2)


def test_errors_come_with_their_traceback():
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 1") as e:
        list(load(fail))
    assert "Original Traceback" in str(e.value) and "in fail" in str(e.value)
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        list(load(missing))
    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker process 0"):
        list(load(odd))
    with pytest.raises(ValueError, match="sample 3 is bad"):
        list(load(abs, worker_init_fn=lambda worker: fail(3)))
    with pytest.raises((AttributeError, TypeError), match="Caught .*pickle|pickle"):
        list(load(lambda i: threading.Lock(), collate_fn=list))


def test_death_is_reported():
    def die(index):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited") as e:
        list(load(die))
    assert "is killed by signal: Killed" in str(e.value.__cause__)
    with pytest.raises(RuntimeError, match="exited unexpectedly") as e:
        list(load(lambda i: os._exit(3)))
    assert "exit code 3" in str(e.value.__cause__)


def test_timeout(monkeypatch):
    from yesca.utils.data._utils import pool

    monkeypatch.setattr(pool, "MP_STATUS_CHECK_INTERVAL", 0.2)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.1 seconds"):
        list(load(lambda i: time.sleep(60), num_workers=1, timeout=0.1))


def test_iterators_do_not_pickle():
    import pickle

    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(DataLoader([1])))


PROGRAM = """
import yesca as torch
from yesca.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    data = TensorDataset(torch.arange(4.0), torch.arange(4))
    loader = DataLoader(data, batch_size=2, num_workers=1, multiprocessing_context="spawn")
    print([[part.tolist() for part in batch] for batch in loader])
"""


def test_spawn(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    result = run_python(program)
    assert result.stdout.strip() == "[[[0.0, 1.0], [0, 1]], [[2.0, 3.0], [2, 3]]]", result.stderr


INTERRUPTED = """
import multiprocessing, os, signal, time
from yesca.utils.data import DataLoader
both, waiting = multiprocessing.Barrier(2), multiprocessing.Event()
class Slow:
    def __len__(self): return 4
    def __getitem__(self, index):
        waiting.wait()
        if both.wait() == 0:  # both workers are at work
            os.killpg(0, signal.SIGINT)
        time.sleep(60)
if __name__ == "__main__":
    os.setpgrp()
    iterator = iter(DataLoader(Slow(), num_workers=2))
    workers = [worker.pid for worker in iterator._workers]
    try:
        waiting.set()
        list(iterator)
    except KeyboardInterrupt:
        print("interrupted", os.getpid(), *workers)
"""
TAKEN = """
from yesca.utils.data import DataLoader
if __name__ == "__main__":
    iterator = iter(DataLoader(range(4), num_workers=1))
    print(next(iterator).item())
    iterator._pool._tasks[0]._notempty.acquire()  # as an interrupt in `put` may leave it
"""


def test_keyboard_interrupt(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED)
    result = run_python("-W", "ignore", program)
    word, main, *workers = result.stdout.split()
    assert word == "interrupted" and "Traceback" not in result.stderr
    assert len(workers) == 2 and not any(os.path.exists(f"/proc/{pid}") for pid in workers)
    assert not glob.glob(f"{transport.SHARED_FOLDER}/yesca-{main}-*")


def test_a_lock_that_an_interrupt_left_taken(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(TAKEN)
    assert run_python(program).stdout == "0\n"


def test_tensor_dataset():
    data = TensorDataset(torch.arange(5), torch.arange(5) * 2)
    batches = list(DataLoader(data, batch_size=2, num_workers=1))
    assert [b[1].tolist() for b in batches] == [[0, 2], [4, 6], [8]]
